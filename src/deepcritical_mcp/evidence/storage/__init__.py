"""Where sessions are kept: in memory, in a folder, or on a Chroma server."""
