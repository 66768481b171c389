"""iCite."""
