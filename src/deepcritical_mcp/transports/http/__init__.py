"""Streamable HTTP and SSE.

`application` is the ASGI application, which ends in order; `uvicorn_server` runs it. `auth` says who calls,
`caller_context` carries it, `call_limits` bounds it; `security` refuses foreign pages; `monitoring` is for operators.
"""
