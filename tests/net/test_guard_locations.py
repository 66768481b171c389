"""Addresses that are not well formed, and names behind a proxy, are refused and break nothing."""

from __future__ import annotations

from contextlib import suppress

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepcritical_mcp.errors import ForbiddenAddressError, ProviderError
from deepcritical_mcp.net.guard import Guard
from deepcritical_mcp.net.public_addresses import AddressPolicy
from tests.net.stand_in import Answer, stand_in
from tests.net.test_guard import HTML, Names, at, guard, loopback_only

PIECES = [
    "http:",
    "https:",
    "//",
    "/",
    "127.0.0.1",
    "xn--",
    "[",
    "]",
    "::1",
    ":",
    "@",
    "?",
    "#",
    "%",
    "..",
    "a" * 300,
    "0",
    "99999",
    "-80",
    "\u2603",
    ".com",
    " ",
    "\\",
    "\x7f",
    "\u2100",
    "x" * 70_000,
]
locations = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_characters="\r\n"), max_size=4), max_size=7
)


async def fetched_after(location: str) -> None:
    redirect = Answer(302, headers={"Location": location})
    async with stand_in(redirect, Answer(200, HTML, "text/html")) as server:
        policy = AddressPolicy(permits=loopback_only, ports=frozenset({int(server.url.rpartition(":")[2])}))
        with suppress(ProviderError):
            await guard(policy=policy).fetch(at(server, "127.0.0.1"))


@given(locations.map("".join).map(lambda text: text.encode(errors="ignore").decode()))
@example("http:127.0.0.1/ok")
@example("https:foo")
@example("http://xn--" + "a" * 70 + ".com/")
@example("http://xn--a.com/")
@example("http://[::1")
@example("http://\u2100.com:80:80/")
@example("/" + "a" * 60_000)
def test_wherever_a_redirect_leads_only_provider_errors_are_raised(location: str):
    anyio.run(fetched_after, location)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=7).map("".join))
@example("http://xn--a.example/")
@example("http://paper.example/" + "a" * 70_000)
@example("http://paper.example/\ud800")
@pytest.mark.parametrize("proxies", [{}, {"all": "127.0.0.1:9"}], ids=["direct", "proxy"])
def test_whatever_address_is_asked_for_only_provider_errors_are_raised(proxies: dict[str, str], rest: str):
    reader = guard(policy=AddressPolicy(permits=lambda _: False), proxies=proxies)
    for url in (rest, f"http://{rest}"):
        with pytest.raises(ProviderError):
            anyio.run(reader.fetch, url)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_names_are_checked_behind_a_proxy_too(variable: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    names = Names(inside_example=["8.8.8.8", "10.0.0.1"], paper_example=["8.8.8.8"], nowhere_example=[])
    async with stand_in(Answer(200, HTML, "text/html")) as proxy:
        monkeypatch.setenv(variable, proxy.url.removeprefix("http://") if variable.isupper() else proxy.url)
        reader = Guard(resolve=names, respects_robots=False)
        for forbidden in (reader.fetch, reader.check):
            with pytest.raises(ForbiddenAddressError):
                await forbidden("http://inside.example/ok")
        for known_or_not in ("paper.example", "nowhere.example", "unknown.example"):
            assert (await reader.fetch(f"http://{known_or_not}/")).content == HTML
    assert [asked.headers["host"] for asked in proxy.asked] == ["paper.example", "nowhere.example", "unknown.example"]


async def test_behind_a_proxy_each_redirect_is_checked():
    names = Names(inside_example=["10.0.0.1"], paper_example=["8.8.8.8"])
    async with stand_in(Answer(302, headers={"Location": "http://inside.example/"})) as proxy:
        with pytest.raises(ForbiddenAddressError):
            await Guard(resolve=names, proxies={"http": proxy.url}, respects_robots=False).fetch(
                "http://paper.example/"
            )
    assert len(proxy.asked) == 1
