"""A Chroma server behind credentials and a path. `chroma run` knows no credentials, so a proxy in front of it does."""

import base64
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.errors import ConfigurationError, EvidenceStoreError
from tests.evidence.conftest import ChromaServer
from tests.evidence.stand_ins import Registries
from tests.evidence.test_sessions import PIECES
from tests.net.stand_in import Answer, Quiet, in_a_thread, stand_in

pytestmark = pytest.mark.usefixtures("no_server_of_ours")
TOKEN, PASSWORD = "ck-sesame-0123456789", "se%2Fsame"
BASIC = base64.b64encode(b"ada:se/same").decode()
LAB = {"chroma_tenant": "lab", "chroma_database": "papers"}


@contextmanager
def guarded(server: ChromaServer, header: str, value: str, *, path: str = "") -> Generator[str]:
    """The address of a proxy for those who send `header`: `value`; tenant "closed" is refused with 403."""

    class Proxy(Quiet):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get(header) != value:
                return self._send(401, f"<h1>401</h1>{self.headers}".encode())
            if "/tenants/closed" in self.path:
                return self._send(403, b'{"error":"AuthError","message":"Forbidden"}')
            if not self.path.startswith(f"{path}/api/v2/"):
                return self._send(404, b"<h1>Nothing here</h1>")
            plain = httpx.HTTPTransport(verify=False)  # no certificates are read for each request
            with httpx.Client(base_url=server.url, transport=plain, timeout=20) as client:
                kind = {"Content-Type": "application/json"}
                found = client.request(self.command, self.path.removeprefix(path), content=body, headers=kind)
            return self._send(found.status_code, found.content)

        do_GET = do_POST = do_PUT = do_DELETE = _pass

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with in_a_thread(Proxy) as address:
        yield f"{address}{path}"


@pytest.fixture(scope="module")
def lab(chroma_server: ChromaServer) -> ChromaServer:
    """The server, with the tenant and the database of `LAB`."""
    with httpx.Client(base_url=f"{chroma_server.url}/api/v2", trust_env=False) as client:
        client.post("/tenants", json={"name": "lab"}).raise_for_status()
        client.post("/tenants/lab/databases", json={"name": "papers"}).raise_for_status()
    return chroma_server


async def kept_and_found(registries: Registries, settings: Settings) -> str:
    """Evidence is kept and found by another process; returns the session's id."""
    store = await registries(settings).open()
    await store.add_evidence(PIECES[:3])
    again = await registries(settings).get(store.session_id)
    assert await again.count() == 3
    await registries(settings).sweep()
    return store.session_id


@pytest.mark.parametrize(
    ("path", "header", "value", "settings"),
    [
        ("", "X-Chroma-Token", TOKEN, {"chroma_token": TOKEN}),
        (
            "/a/chroma",
            "Authorization",
            f"Bearer {TOKEN}",
            {"chroma_token": TOKEN, "chroma_token_header": "Authorization"},
        ),
        ("/a/chroma", "Authorization", f"Basic {BASIC}", {}),
    ],
    ids=["token", "bearer token", "basic"],
)
async def test_sessions_are_kept_behind_credentials_and_a_path(
    lab: ChromaServer, registries: Registries, path: str, header: str, value: str, settings: dict[str, Any]
) -> None:
    with guarded(lab, header, value, path=path) as url:
        address = f"{url}/" if settings else url.replace("://", f"://ada:{PASSWORD}@")
        await kept_and_found(registries, Settings(chroma_url=address, **settings))


async def test_a_tenant_and_a_database_are_used_as_in_chroma_cloud(lab: ChromaServer, registries: Registries) -> None:
    with guarded(lab, "X-Chroma-Token", TOKEN) as url:
        session_id = await kept_and_found(registries, Settings(chroma_url=url, chroma_token=TOKEN, **LAB))
    at = f"{lab.url}/api/v2/tenants/lab/databases/papers/collections/{session_id}"
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(at)).status_code == 200


REFUSED = [
    ({"chroma_token": "wrong-" + TOKEN}, "401", "DEEPCRITICAL_CHROMA_TOKEN"),
    ({"chroma_token": TOKEN, "chroma_tenant": "closed"}, "403", "DEEPCRITICAL_CHROMA_TENANT"),
    ({"chroma_token": TOKEN, "chroma_database": "absent"}, "404", "DEEPCRITICAL_CHROMA_DATABASE"),
    ({"chroma_token": TOKEN, "path": "/elsewhere"}, "404", "DEEPCRITICAL_CHROMA_URL"),
]


@pytest.mark.parametrize(("wrong", "what", "setting"), REFUSED, ids=["401", "403", "database", "path"])
async def test_what_is_refused_says_which_setting_to_check(
    lab: ChromaServer, registries: Registries, wrong: dict[str, str], what: str, setting: str
) -> None:
    with guarded(lab, "X-Chroma-Token", TOKEN) as url:
        path = wrong.get("path", "")
        settings = Settings(chroma_url=url + path, **{name: one for name, one in wrong.items() if name != "path"})
        with pytest.raises(EvidenceStoreError) as caught:
            await registries(settings).open()
        assert what in caught.value.message
        assert setting in caught.value.message
        assert "sesame" not in caught.value.message
        assert not caught.value.retryable
        found = next(one for one in await doctor_checks.servers(settings) if one.part == "Chroma server")
        assert (found.state, found.finding, found.advice, found.area) == ("broken", caught.value.message, "", "store")


async def test_doctor_uses_the_same_credentials(lab: ChromaServer) -> None:
    async def checked(**settings: str) -> doctor_checks.Check:
        return next(one for one in await doctor_checks.servers(Settings(**settings)) if one.part == "Chroma server")

    with guarded(lab, "X-Chroma-Token", TOKEN) as url:
        assert (await checked(chroma_url=url, chroma_token=TOKEN, **LAB)).state == "ok"
        assert (await checked(chroma_url=url)).state == "broken"
    away = await checked(chroma_url="http://127.0.0.1:9")
    assert (away.state, away.advice) == (
        *("broken", "Start the server that DEEPCRITICAL_CHROMA_URL names, or unset it."),
    )


async def test_an_error_page_of_a_proxy_is_an_outage(registries: Registries) -> None:
    async with stand_in(Answer(503)) as proxy:
        with pytest.raises(EvidenceStoreError, match="HTTP 503") as caught:
            await registries(Settings(chroma_url=proxy.url)).open()
    assert caught.value.retryable


def test_an_address_that_is_not_one_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPCRITICAL_CHROMA_URL", "ftp://ada:sesame@chroma")
    with pytest.raises(ConfigurationError, match="DEEPCRITICAL_CHROMA_URL") as caught:
        load_settings()
    assert "sesame" not in caught.value.message
