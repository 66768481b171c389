"""What a load balancer and Prometheus ask: is the process alive, can it work, and how is it doing."""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from deepcritical_mcp._version import __version__
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.transports.http.metrics import CONTENT_TYPE_LATEST, Metrics

logger = logging.getLogger(__name__)

CHECK_TIME = 3.0


class Health:
    """The endpoints `/health`, `/ready` and `/metrics`."""

    def __init__(self, app: AppContext, metrics: Metrics, closing: Callable[[], bool]) -> None:
        self._app = app
        self._metrics = metrics
        self._closing = closing

    async def health(self, _: Request) -> Response:
        """200 as long as the process answers."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def ready(self, _: Request) -> Response:
        """200 when the model is loaded and the store can be reached; 503 with the reason otherwise."""
        checks = {"model": "ok", "store": "ok"}
        if self._closing():
            return JSONResponse({"status": "closing"}, status_code=503, headers={"retry-after": "10"})
        for name in checks:
            checks[name] = await self._check(name)
        is_ready = all(state == "ok" for state in checks.values())
        headers = {} if is_ready else {"retry-after": "5"}
        body = {"status": "ok" if is_ready else "not ready", **checks}
        return JSONResponse(body, status_code=200 if is_ready else 503, headers=headers)

    async def metrics(self, _: Request) -> Response:
        """The metrics in Prometheus' text format."""
        return Response(self._metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    async def _check(self, name: str) -> str:
        try:
            with anyio.fail_after(CHECK_TIME):
                services = await self._app.services()
                if name == "model":
                    await services.embedder.embed_query("ready?")
                else:
                    await services.sessions.check()
        except TimeoutError:
            return "loading" if name == "model" else "no answer"
        except DeepCriticalError as error:
            return error.code
        return "ok"
