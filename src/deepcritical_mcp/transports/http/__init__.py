"""Streamable HTTP and SSE.

`application` is the ASGI application, which ends in order; `uvicorn_server` runs it. `auth` says who calls,
`caller_context` carries it; `calls` limits, logs and counts tool calls; `security` refuses foreign pages.
"""
