"""The web, through the first search provider that answers."""
