"""Requests to external services: paced, retried, limited, cached. Knows no particular source."""
