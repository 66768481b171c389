"""The board in a real browser: inside the official AppBridge, or as a report of its own."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Frame, Locator, Page, Route, async_playwright, expect

from deepcritical_mcp.board import board_page

HOST = Path(__file__).parent / "host"
# Long enough for a busy machine: nothing waits so long unless it fails.
PATIENCE_MS = 30_000
HOST_ADDRESS = "http://host.test/"
BOARD_ADDRESS = "http://sandbox.test/board.html"
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What the specification of MCP Apps has a host send with a page that declares no domains.
HOST_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; connect-src 'none'"
)
ALL_CAPABILITIES: Mapping[str, Any] = {"openLinks": {}, "downloadFile": {}, "serverTools": {}}

Tool = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


async def no_tool(call: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError(f"unexpected call of {call['name']}")


@dataclass
class Board:
    """The page in its host.

    Attributes:
        calls: tool calls that reached the host.
        events: what else the host was asked or told, as (kind, detail).
        strangers: addresses that the page tried to load.
        complaints: errors in the browser's console.
    """

    page: Page
    app: Frame | Page
    handshake: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    events: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    strangers: list[str] = field(default_factory=list[str])
    complaints: list[str] = field(default_factory=list[str])

    news: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, kind: str, detail: Any) -> None:
        self.events.append((kind, detail))
        self.news.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for what the host is told to make `is_so` true."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while not is_so():
                self.news.clear()
                await self.news.wait()

    async def send(self, result: Mapping[str, Any]) -> None:
        await self.page.evaluate("result => window.sendResult(result)", result)

    async def settled(self) -> None:
        """Wait until the result is drawn and the frame has the page's height: a click while that moves is lost."""
        await self.app.wait_for_function(
            "() => (document.querySelector('#notices').textContent"
            " || !document.querySelector('#summary').textContent.startsWith('Waiting'))"
            " && document.documentElement.scrollHeight <= window.innerHeight"
        )

    async def titles(self) -> list[str]:
        """The cards' titles, in order."""
        return await self.app.locator("#list h3").all_inner_texts()

    async def text(self, selector: str) -> str:
        return await self.app.locator(selector).inner_text()

    async def focused(self) -> str:
        """What has the focus: its id, else its label or text."""
        return await self.app.evaluate(
            "() => { const e = document.activeElement;"
            " return e.id || e.getAttribute('aria-label') || e.innerText || e.textContent || e.value; }"
        )

    async def focus_on(self, selector: str) -> Locator:
        """What has the focus, once it is within `selector`.

        Not `:focus`: that also asks whether the browser's window is active.
        """
        await self.app.wait_for_function("selector => document.activeElement.matches(selector)", arg=selector)
        handle = self.app.locator(selector)
        return handle if await handle.count() == 1 else self.app.locator(f"[id='{await self.focused()}']")

    async def width(self) -> int:
        """How wide the page is, all that sticks out included."""
        return await self.app.evaluate("() => document.documentElement.scrollWidth")

    def told(self, kind: str) -> list[Any]:
        return [detail for one, detail in self.events if one == kind]


@pytest.fixture(scope="session")
def host_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The host's code with AppBridge in it, as one script."""
    builder = HOST / "node_modules" / ".bin" / "esbuild"
    if shutil.which("node") is None or not builder.exists():
        pytest.skip("the host's packages are not installed (npm install --no-package-lock in tests/board/host)")
    bundle = tmp_path_factory.mktemp("host") / "host.js"
    command = [
        str(builder),
        "host.js",
        "--bundle",
        "--format=iife",
        "--minify",
        "--log-level=warning",
        f"--outfile={bundle}",
    ]
    subprocess.run(command, cwd=HOST, check=True, timeout=120)
    return bundle.read_text("utf-8")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One headless Chromium with an empty profile."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("chromium is not installed (apt: chromium)")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture(loop_scope="session")
async def window(browser: Browser) -> AsyncIterator[BrowserContext]:
    """A window of its own, 1,000 pixels wide, in the light theme."""
    context = await browser.new_context(
        viewport={"width": 1000, "height": 800}, color_scheme="light", locale="en-GB", accept_downloads=True
    )
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    yield context
    await context.close()


OpenBoard = Callable[..., Awaitable[Board]]


@pytest.fixture
def open_board(window: BrowserContext, host_script: str) -> OpenBoard:
    """Show the page, or `html`, in the host: `await open_board(result, tool=..., context=..., html=...)`."""

    async def open_it(
        result: Mapping[str, Any] | None = None,
        *,
        tool: Tool = no_tool,
        context: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] = ALL_CAPABILITIES,
        refuses: bool = False,
        html: str = "",
    ) -> Board:
        page = await window.new_page()
        board = Board(page, page)

        async def serve(route: Route) -> None:
            if route.request.url == HOST_ADDRESS:
                style = "<style>body{margin:0}iframe{border:0;width:100%;height:150px;display:block}</style>"
                await route.fulfill(
                    body=f"<!doctype html>{style}<script>{host_script}</script>", content_type="text/html"
                )
            elif route.request.url == BOARD_ADDRESS:
                headers = {"Content-Security-Policy": HOST_POLICY}
                await route.fulfill(body=html or board_page(), content_type="text/html; charset=utf-8", headers=headers)
            else:
                board.strangers.append(route.request.url)
                await route.abort()

        async def on_tool(call: dict[str, Any]) -> dict[str, Any]:
            board.calls.append(call)
            return await tool(call)

        await page.route("**/*", serve)
        expose = cast("Callable[[str, object], Awaitable[object]]", page.expose_function)  # type: ignore[reportUnknownMemberType]
        await expose("onTool", on_tool)
        await expose("onEvent", board.note)
        listen_to(page, board)
        await page.goto(HOST_ADDRESS)
        # The script stands in the head: the body is there once the page has loaded.
        options = {
            "hostContext": dict(context or {}),
            "capabilities": dict(capabilities),
            "refuses": refuses,
            "sandbox": "allow-scripts",
        }
        board.handshake = await page.evaluate(
            "([address, options]) => window.openBoard(address, options)", [BOARD_ADDRESS, options]
        )
        board.app = page.frames[1]
        # Keys go to the frame that has the focus, and a frame of another process gets it with a delay.
        await page.locator("iframe").focus()
        await board.app.wait_for_function("() => document.hasFocus()")
        if result is not None:
            await board.send(result)
            await board.settled()
        return board

    return open_it


@pytest.fixture
def open_report(window: BrowserContext, tmp_path: Path) -> OpenBoard:
    """Open a report's text from a file: `await open_report(text)`."""

    async def open_it(text: str) -> Board:
        path = tmp_path / "report.html"
        path.write_text(text, "utf-8")
        page = await window.new_page()
        board = Board(page, page)

        async def serve(route: Route) -> None:
            if route.request.url == path.as_uri():
                await route.continue_()
            else:
                board.strangers.append(route.request.url)
                await route.abort()

        await page.route("**/*", serve)
        listen_to(page, board)
        await page.goto(path.as_uri())
        return board

    return open_it


def listen_to(page: Page, board: Board) -> None:
    page.on("console", lambda message: board.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: board.complaints.append(str(error)))
    page.on("dialog", lambda dialog: board.complaints.append(f"dialog: {dialog.message}"))
