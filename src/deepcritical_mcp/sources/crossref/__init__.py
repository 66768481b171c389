"""Crossref: `service` asks it, `work` reads its records."""
