"""What the body of an HTTP response is: unpacked, and recognized by its beginning."""

from __future__ import annotations

import zlib

PDF = "application/pdf"
SNIFFED = 1_024
"""Bytes at the beginning that tell what a body is."""
_TEXT_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
_UNTYPED = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download", PDF})
_HTML_STARTS = (b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<meta", b"<title")
_WIDE = ("utf-16", "utf-32", "utf16", "utf32", "ucs-")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_NOT_IN_TEXT = bytes({*range(0x20), 0x7F} - {*b"\t\n\f\r\x1b"})
_MOST_ODD = 0.03


class Unpacking:
    """Undoes one content encoding, piece by piece; ValueError for any that was not asked for."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._decoder = zlib.decompressobj()
        self._is_begun = False

    def __call__(self, piece: bytes, limit: int) -> bytes:
        if self._encoding in ("", "identity"):
            return piece
        if self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise ValueError(self._encoding)
        if not self._is_begun and piece:
            self._is_begun = True
            # "deflate" comes with zlib's header, as it should, or without.
            is_bare = self._encoding == "deflate" and piece[0] & 0x0F != 8
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS if is_bare else zlib.MAX_WBITS | 32)
        return self._decoder.decompress(piece, limit)

    @property
    def is_complete(self) -> bool:
        return not self._is_begun or self._decoder.eof


def media_type(declared: str, charset: str, start: bytes) -> str:
    """The type by what the beginning shows, else as declared; "" for what is not read.

    Publishers send PDFs as octet streams, and pages that ask for a login as PDFs.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:SNIFFED]
    if text.startswith(b"%PDF-") or (declared in _UNTYPED and b"%PDF-" in start and not text.startswith(b"<")):
        return PDF
    if declared in _TEXT_TYPES:  # what has many control characters is not text, unless its characters are wide
        is_wide = start.startswith(_WIDE_MARKS) or charset.lower().startswith(_WIDE)
        odd = len(start) - len(start.translate(None, delete=_NOT_IN_TEXT))
        return declared if is_wide or odd <= _MOST_ODD * len(start) else ""
    is_html = text[:20].lower().startswith(_HTML_STARTS)
    return "text/html" if is_html and declared in _UNTYPED else declared if declared == PDF else ""
