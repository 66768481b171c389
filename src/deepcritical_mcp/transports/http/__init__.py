"""Streamable HTTP and SSE."""
