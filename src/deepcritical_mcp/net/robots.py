"""robots.txt as RFC 9309 defines it: which paths a site allows programs to read."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

MAX_ROBOTS = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""
_MAX_RULES = 5_000


@dataclass(frozen=True)
class RobotsRules:
    """The rules of one site for one program: (pattern, whether it allows)."""

    rules: tuple[tuple[str, bool], ...] = ()

    def allows(self, path: str) -> bool:
        """Whether `path` (with its query) may be read: the longest rule that matches decides, of equals the allowing
        one; without one, everything may."""
        path = _plain(path)
        matching = [(len(pattern), allowed) for pattern, allowed in self.rules if _matches(pattern, path)]
        return max(matching)[1] if matching else True


ALLOW_ALL = RobotsRules()


def parse_robots(text: str, agent: str) -> RobotsRules:
    """The rules for the program `agent` (its product token), else those for "*"."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    names: list[str] = []
    in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            names = [value.lower()] if in_rules else [*names, value.lower()]
            in_rules = False
            groups.setdefault(names[-1], [])
        elif key in ("allow", "disallow"):
            in_rules = True
            for name in names if value else ():
                if len(groups[name]) < _MAX_RULES:
                    groups[name].append((_plain(value), key == "allow"))
    return RobotsRules(tuple(groups.get(agent.lower(), groups.get("*", []))))


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern with "*" (anything) and a final "$" (end of the path) matches the beginning of `path`."""
    first, *pieces = pattern.removesuffix("$").split("*")
    ends = pattern.endswith("$")
    last = pieces.pop() if ends and pieces else ""
    if not path.startswith(first) or (ends and "*" not in pattern and path != first):
        return False
    at = len(first)
    for piece in pieces:
        if (found := path.find(piece, at)) < 0:
            return False
        at = found + len(piece)
    return not ends or (len(path) - len(last) >= at and path.endswith(last))


def _plain(path: str) -> str:
    """A path with the characters that mean the same encoded and plain in one form."""
    return quote(unquote(path, errors="replace"), safe="/*$?&=%:;,@+!'()~#[]", errors="replace")
