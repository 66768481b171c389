"""Logs: one line per event, on stderr, without secrets."""

import datetime
import logging
from collections.abc import Iterator

import pytest

from deepcritical_mcp.logs import configure_logging, hide

KEY = "s3cr3t/key+1"


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("httpx", "httpcore", "primp", "ddgs", "chromadb")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
    logging.captureWarnings(False)


def test_each_event_is_one_line_with_its_time_in_utc_that_no_words_can_end(capfd: pytest.CaptureFixture[str]):
    configure_logging("INFO")
    logging.getLogger("ours").info("asking again", extra={"provider": "brave", "text": "two\nlines"})
    logging.getLogger("theirs").warning("bad id: %s", "x\r\n2026 info ours all is well\x1b[2J\x9b1m\u202e\u2028")
    logging.getLogger("theirs").debug("not wanted")
    captured = capfd.readouterr()
    assert captured.out == ""
    ours, theirs = captured.err.splitlines()
    assert ours.partition(" ")[2] == r"info ours asking again provider='brave' text='two\nlines'"
    assert theirs.endswith(r"warning theirs bad id: x\n2026 info ours all is well\x1b[2J\x9b1m\x202e\x2028")
    time = datetime.datetime.fromisoformat(theirs.partition(" ")[0])
    assert time.tzinfo == datetime.UTC
    assert abs(datetime.datetime.now(datetime.UTC) - time) < datetime.timedelta(minutes=10)


def test_a_traceback_stays_on_its_line_and_shows_no_local_variables(capfd: pytest.CaptureFixture[str]):
    configure_logging("INFO")
    local = "value-of-a-local-variable"
    try:
        raise ValueError(len(local))
    except ValueError:
        logging.getLogger("theirs").exception("failed")
    (line,) = capfd.readouterr().err.splitlines()
    assert "ValueError: 25" in line
    assert local not in line.replace('local = "value-of-a-local-variable"', "")


def test_no_secret_is_written_whichever_library_logs_it(capfd: pytest.CaptureFixture[str]):
    configure_logging("DEBUG", [KEY])
    logging.getLogger("ours").warning("bad key %s", KEY, extra={"key": KEY})
    logging.getLogger("theirs").warning("asked %s", "https://x.example/?k=s3cr3t%2Fkey%2B1")
    try:
        raise ValueError(KEY)
    except ValueError:
        logging.getLogger("ours").exception("failed")
    written = capfd.readouterr().err
    assert "s3cr3t" not in written
    assert written.count("***") == 4


def test_http_libraries_are_quiet_and_their_addresses_show_no_key(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    configure_logging("DEBUG")
    logging.getLogger("httpx").info("GET https://x.example/?api_key=abc")
    assert capfd.readouterr().err == ""
    logging.getLogger("httpx").setLevel(logging.DEBUG)
    logging.getLogger().addHandler(caplog.handler)
    logging.getLogger("httpx").info("GET %s", "https://x.example/?api_key=abc&q=1")
    assert caplog.messages == ["GET https://x.example/?api_key=***&q=1"]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://x.example/?api_key=abc&q=1", "https://x.example/?api_key=***&q=1"),
        (
            "[(b'Location', b'https://x.example/?q=1&api_key=abc')]",
            "[(b'Location', b'https://x.example/?q=1&api_key=***')]",
        ),
        ("url=https%3A%2F%2Fx%2F%3Fapi_key%3Dabc&b", "url=https%3A%2F%2Fx%2F%3Fapi_key%3D***&b"),
        ("APIKEY=abc access_token=def", "APIKEY=*** access_token=***"),
        ("nothing here", "nothing here"),
    ],
)
def test_the_value_of_a_parameter_named_like_a_key_is_hidden(text: str, hidden: str):
    assert hide(text) == hidden
