"""Zotero's local API on loopback, as its versions 7, 9 and 10 speak it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.net.stand_in import Answer, Asked, as_json

FIELDS = {
    "journalArticle": "publicationTitle journalAbbreviation volume issue pages DOI ISSN",
    "preprint": "repository archiveID DOI",
    "bookSection": "bookTitle volume edition place publisher pages ISBN",
    "book": "volume edition place publisher ISBN",
    "report": "reportNumber institution pages",
    "webpage": "websiteTitle",
    "document": "publisher",
}
"""What items of each type may have, apart from `COMMON`."""
COMMON = "key version itemType title creators abstractNote date language url accessDate extra tags collections"


def plain(status: int, text: str, **headers: str) -> Answer:
    return Answer(status, text.encode(), "text/plain", {name.replace("_", "-"): v for name, v in headers.items()})


class ZoteroStandIn:
    """A library of items and collections by their keys; `dialog` has the user's answers: "allow", "always", "deny"."""

    def __init__(self, version: str = "10.0.1", *, dialog: Iterable[str] = (), enabled: bool = True) -> None:
        self.version, self.dialog, self.enabled = version, [*dialog], enabled
        self.items: dict[str, dict[str, Any]] = {}
        self.collections: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, bool] = {}
        self.server_id, self.clock, self.asked_for_key = f"server-{id(self)}", 0, 0
        self.seen = Counter[str]()

    def has(self, collection: str, *items: str) -> list[dict[str, Any]]:
        """Items of a collection, or those of these keys put into it."""
        for key in items:
            self.items[key]["collections"].append(collection)
        return [one for one in self.items.values() if collection in one.get("collections", ())]

    def item(self, key: str, **data: Any) -> None:
        self._put(self.items, {"itemType": "journalArticle", "collections": [], **data, "key": key})

    def collection(self, key: str, name: str, parent: str | bool = False) -> None:
        self._put(self.collections, {"key": key, "name": name, "parentCollection": parent})

    def _put(self, into: dict[str, dict[str, Any]], data: Mapping[str, Any]) -> dict[str, Any]:
        self.clock += 1
        key = data.get("key") or f"NEW{self.clock:05d}"
        into[key] = {**into.get(key, {}), **data, "key": key, "version": self.clock}
        return into[key]

    def __call__(self, asked: Asked) -> Answer:
        answer = self._answer(asked)
        own = {"X-Zotero-Version": self.version, "Zotero-API-Version": "3"}
        own |= {"Zotero-Server-ID": self.server_id} if self._is_from(10) else {}
        return Answer(answer.status, answer.body, answer.content_type, {**own, **answer.headers}, answer.conduct)

    def _is_from(self, major: int) -> bool:
        return int(self.version.split(".")[0]) >= major

    def _answer(self, asked: Asked) -> Answer:
        self.seen[asked.path.removeprefix("/api/users/0/")] += 1
        if asked.headers["user-agent"].startswith("Mozilla/") or "origin" in asked.headers:
            return Answer(conduct="reset") if self._is_from(9) else plain(403, "Request not allowed")
        if asked.headers["host"].rpartition(":")[0] not in ("localhost", "127.0.0.1", "[::1]"):
            return plain(400, "Invalid Host header")
        if not self.enabled:
            return plain(403, "Local API is not enabled")
        if asked.headers.get("zotero-api-version", "3") != "3":
            return plain(501, "API version not implemented: 2")
        if asked.method == "GET":
            return self._read(asked)
        if not self._is_from(10):
            return plain(400, "Endpoint does not support method")
        return self._authorize(asked) if asked.path == "/api/local/authorize" else self._write(asked)

    def _read(self, asked: Asked) -> Answer:
        path = asked.path.removeprefix("/api/users/0/").split("/")
        if path[-1] == "fulltext":
            text = self.texts.get(path[1]) if self._is_from(8) else None
            return as_json(text) if text else plain(404, "Not found" if self._is_from(8) else "No endpoint found")
        if path == ["collections"]:
            found = [*self.collections.values()]
        else:
            found = [one for one in self.items.values() if not (path[-1] == "top" and one.get("parentItem"))]
            if path[0] == "collections":
                inside = {one["key"] for one in self.has(path[1])}
                found = [one for one in found if inside & {one["key"], one.get("parentItem")}]
        found = [one for one in found if f"-{one.get('itemType')}" != asked.query.get("itemType")]
        start, limit = int(asked.query.get("start", 0)), int(asked.query.get("limit", len(found)))
        rows = [{"key": one["key"], "version": one["version"], "data": one} for one in found[start : start + limit]]
        return as_json(rows, headers={"Total-Results": str(len(found)), "Last-Modified-Version": str(self.clock)})

    def _authorize(self, asked: Asked) -> Answer:
        assert json.loads(asked.body)["appName"]
        self.asked_for_key += 1
        if self.asked_for_key > 5:
            return plain(429, "Too many authorization requests", Retry_After="42")
        if (said := self.dialog.pop(0)) == "deny":
            return as_json({"denied": True}, 403)
        key = f"{self.asked_for_key:032d}"
        self.keys[key] = said == "always"
        return as_json({"key": key, "remember": self.keys[key]})

    def _write(self, asked: Asked) -> Answer:
        if asked.headers.get("zotero-server-id") != self.server_id:
            return plain(412 if "zotero-server-id" in asked.headers else 428, "Zotero-Server-ID not provided")
        key = asked.headers.get("zotero-api-key")
        if key not in self.keys:
            return plain(401, "Invalid or expired API key")
        if not self.keys[key]:
            del self.keys[key]
        rows: list[dict[str, Any]] = json.loads(asked.body)
        if len(rows) > 50:
            return plain(413, "Cannot add more than 50 items at a time")
        into = self.items if asked.path.endswith("/items") else self.collections
        told: dict[str, dict[str, Any]] = {"successful": {}, "success": {}, "unchanged": {}, "failed": {}}
        for place, row in enumerate(rows):
            kind, there = row.get("itemType", ""), into.get(row.get("key", ""))
            if there and row.get("version") != there["version"]:
                told["failed"][str(place)] = {"key": there["key"], "code": 412, "message": "item version mismatch"}
            elif kind and (other := row.keys() - {*COMMON.split(), *FIELDS[kind].split()}):
                told["failed"][str(place)] = {"key": "", "code": 400, "message": f"'{other}' is not a valid field"}
            else:
                told["success"][str(place)] = self._put(into, row)["key"]
        return as_json(told)
