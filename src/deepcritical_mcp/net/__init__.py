"""HTTP client, retries, pacing, circuit breaker, cache; knows no source."""
