"""Texts into vectors, with one model per process."""
