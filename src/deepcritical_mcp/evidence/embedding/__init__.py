"""Text embeddings: one model per process."""
