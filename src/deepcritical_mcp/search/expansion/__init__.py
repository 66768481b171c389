"""Query expansion: more queries for a topic, to find what the first one misses."""
