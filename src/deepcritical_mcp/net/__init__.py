"""HTTP client, retries, pacing, circuit breaker, cache; knows no source.

`client` is the one place that retries and turns failures into errors; `circuit_breaker` skips what keeps failing,
`pacing` spaces requests and lets callers take turns, `cache` keeps answers on disk. `guard` fetches addresses that
others chose, with `public_addresses`; `fields` reads answers.
"""
