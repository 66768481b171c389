"""A writer of small PDF files, for tests."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_PICTURE = "q 500 0 0 700 50 50 cm BI /W 1 /H 1 /CS /G /BPC 8 /F /AHx ID 80> EI Q\n"


@dataclass(frozen=True)
class Words:
    """A line of text at a position, in points from the lower left corner of a page of 612 by 792."""

    text: str
    left: float
    bottom: float
    size: float = 10


def column(lines: Iterable[str], left: float = 72, top: float = 700, *, size: float = 10) -> list[Words]:
    """Lines below each other."""
    return [Words(text, left, top - 12 * number, size) for number, text in enumerate(lines)]


def pdf(*pages: Sequence[Words], images: bool = False, password: bool = False) -> bytes:
    """A PDF with these pages, with a picture on each, or one that cannot be opened without a password."""
    objects: list[bytes] = [
        b"",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    kids: list[int] = []
    for page in pages:
        content = "".join(
            f"BT /F1 {word.size} Tf {word.left} {word.bottom} Td ({_escaped(word.text)}) Tj ET\n" for word in page
        )
        stream = f"{_PICTURE if images else ''}{content}".encode("cp1252")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    trailer = b""
    if password:
        owner = hashlib.md5(b"owner").digest() * 2
        user = _PADDING.hex().encode()
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (owner.hex().encode(), user))
        id = b"<00112233445566778899AABBCCDDEEFF>"
        trailer = b" /Encrypt %d 0 R /ID [%s %s]" % (len(objects), id, id)
    return _file(objects, trailer)


def _file(objects: Sequence[bytes], trailer: bytes) -> bytes:
    made, places = bytearray(b"%PDF-1.4\n"), list[int]()
    for number, content in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return bytes(made) + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        trailer,
        start,
    )


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
