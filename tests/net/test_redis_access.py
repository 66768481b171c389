"""A real Redis with a password, a user and TLS spaces requests, and `doctor` says what is wrong with its address."""

import ipaddress
import logging
from collections.abc import Generator
from pathlib import Path

import pytest
from cryptography import x509

from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.config import Settings
from deepcritical_mcp.net.pacing import shared_pacing
from tests.net import stand_in
from tests.transports.processes import redis

pytest.importorskip("redis")
pytestmark = pytest.mark.usefixtures("no_server_of_ours")
PASSWORD = "se/same 0123456789"
QUOTED = "se%2Fsame%200123456789"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1; the key is next to it."""
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return stand_in.certificate(tmp_path_factory.mktemp("tls"), address)[0]


@pytest.fixture
def plain(tmp_path: Path) -> Generator[str]:
    with redis(
        tmp_path, "--requirepass", PASSWORD, "--user", "ada", "on", f">{PASSWORD.split()[0]}", "~*", "+@all"
    ) as url:
        yield url


@pytest.fixture
def encrypted(tmp_path: Path, certificate: Path) -> Generator[str]:
    files = ("--tls-cert-file", str(certificate), "--tls-key-file", str(certificate.with_suffix(".key")))
    with redis(tmp_path, *files, "--requirepass", PASSWORD, scheme="rediss") as url:
        yield url


async def used(url: str, folder: Path, caplog: pytest.LogCaptureFixture) -> bool:
    """Whether that Redis spaces requests; otherwise something else does, and the log says so."""
    caplog.clear()
    await shared_pacing(Settings(cache_dir=folder, redis_url=url), 0.01, name="x", identity="y").confirm()
    return not [record for record in caplog.records if record.levelno == logging.WARNING]


async def checked(url: str) -> doctor_checks.Check:
    return next(one for one in await doctor_checks.servers(Settings(redis_url=url)) if one.part == "Redis")


def with_login(url: str, login: str) -> str:
    return url.replace("://", f"://{login}@")


async def test_a_password_and_a_user_are_sent(plain: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for login in (f":{QUOTED}", "ada:se%2Fsame"):
        assert await used(with_login(plain, login), tmp_path, caplog), caplog.text
        assert (await checked(with_login(plain, login))).state == "ok"


@pytest.mark.parametrize("login", ["", ":wrong-sesame", "bob:wrong-sesame"])
async def test_a_refused_login_is_named_without_the_password(
    plain: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, login: str
) -> None:
    url = with_login(plain, login) if login else plain
    assert not await used(url, tmp_path, caplog), "it must go on without that Redis"
    found = await checked(url)
    assert found.state == "broken"
    assert "DEEPCRITICAL_REDIS_URL" in found.advice
    for text in (found.finding, caplog.text):
        assert "AuthenticationError" in text
        assert "wrong-sesame" not in text


async def test_tls_with_a_certificate_of_ones_own(
    encrypted: str, tmp_path: Path, certificate: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"{with_login(encrypted, f':{QUOTED}')}?ssl_ca_certs={certificate}"
    assert await used(url, tmp_path, caplog), caplog.text
    assert (await checked(url)).state == "ok"


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    encrypted: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = with_login(encrypted, f":{QUOTED}")
    assert not await used(url, tmp_path, caplog)
    found = await checked(url)
    assert found.state == "broken"
    for text in (found.finding, caplog.text):
        assert "CERTIFICATE_VERIFY_FAILED" in text
        assert "se/same" not in text
        assert QUOTED not in text
