"""The evidence of a session: recognized, stored, and found again."""
