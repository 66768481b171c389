"""Crossref: `service` asks it and reads its records."""
