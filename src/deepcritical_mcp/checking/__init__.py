"""Checks drafts: their references against records, their quotations and claims against texts."""
