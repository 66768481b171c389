"""Requests to the outside: paced, retried, bounded; and what is cached of their answers. Knows no source."""
