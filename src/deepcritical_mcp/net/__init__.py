"""HTTP client, retries, pacing, circuit breaker, cache; knows no source.

`client` is the one place that retries and turns failures into errors; `pacing` spaces requests (`fair_queue`: callers
in turn), `circuit_breaker` skips what keeps failing, `cache` keeps answers on disk. `guard` fetches addresses that
others chose, with `public_addresses` and `page_content`; `json_fields` reads JSON answers.
"""
