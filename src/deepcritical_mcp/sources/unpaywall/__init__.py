"""Unpaywall."""
