"""A loopback HTTP server that plays a provider, faults included."""

import asyncio
import contextlib
import datetime
import json
import socket
import ssl
import struct
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire; header names in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def form(self) -> Mapping[str, str]:
        return {name: values[0] for name, values in parse_qs(self.body.decode(), keep_blank_values=True).items()}


@dataclass(frozen=True)
class Answer:
    """What the stand-in does: send the answer, or only half of it, or break the connection, or never answer."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    conduct: Literal["whole", "half", "reset", "silent"] = "whole"


def as_json(payload: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(payload).encode(), headers=headers or {})


@dataclass
class StandIn:
    """A provider on loopback. `answer` is asked for each request; `asked` holds them all."""

    url: str
    answer: Callable[[Asked], Answer]
    asked: list[Asked] = field(default_factory=list[Asked])
    most_at_once: int = 0
    at_once: int = 0

    def will(self, *answers: Answer) -> None:
        """Give these answers one after another, then the last one again and again."""
        rest = list(answers)
        self.answer = lambda _: rest.pop(0) if len(rest) > 1 else rest[0]


@asynccontextmanager
async def stand_in(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[StandIn]:
    """A running stand-in, by default with an empty answer."""
    over = asyncio.Event()
    at_work: set[asyncio.Task[None]] = set()
    provider = StandIn("", lambda _: Answer())
    if answers:
        provider.will(*answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            at_work.add(task)
        try:
            asked = await _read(reader)
            provider.asked.append(asked)
            provider.at_once += 1
            provider.most_at_once = max(provider.most_at_once, provider.at_once)
            await _write(writer, provider.answer(asked), over)
            provider.at_once -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield provider
    finally:
        over.set()
        server.close()
        if at_work:
            await asyncio.wait(at_work, timeout=5)
        for task in at_work:
            task.cancel()  # of a client that neither asked nor left
        await asyncio.gather(*at_work, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    return Asked(method, parts.path, query, headers, body)


async def _write(writer: asyncio.StreamWriter, answer: Answer, over: asyncio.Event) -> None:
    if answer.conduct == "reset":
        sock: socket.socket = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return
    if answer.conduct == "silent":
        await over.wait()
        return
    lines = [
        f"HTTP/1.1 {answer.status} Status",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
    ]
    body = answer.body[: len(answer.body) // 2] if answer.conduct == "half" else answer.body
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()


class Quiet(BaseHTTPRequestHandler):
    """A handler of requests that logs none."""

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def in_a_thread(kind: type[Quiet]) -> Generator[str]:
    """The address of a server that answers processes of their own."""
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def certificate(folder: Path, subject: x509.GeneralName) -> tuple[Path, Path]:
    """A certificate for a name or an address that its own key signed, and that key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name, day = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")]), datetime.timedelta(days=1)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([subject]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "test.crt", folder / "test.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form, open_ = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, open_))
    return public, private
