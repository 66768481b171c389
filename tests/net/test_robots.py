"""robots.txt as RFC 9309 defines it."""

from __future__ import annotations

import pytest

from deepcritical_mcp.net.robots import parse_robots

RULES = """
User-agent: one
User-agent: deepcritical-mcp
Disallow: /a          # a comment
Allow: /a/b
Disallow: /*.pdf$
Disallow: /x*y*z
Disallow: /ä
Disallow:

User-agent: *
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/a", False),
        ("/a/b/c", True),
        ("/x1y2z3", False),
        ("/x1y2", True),
    ],
)
def test_the_longest_rule_decides(path: str, allowed: bool):
    assert parse_robots(RULES, "deepcritical-mcp").allows(path) is allowed


def test_others_have_rules_of_their_own():
    assert not parse_robots(RULES, "two").allows("/")
    assert parse_robots("", "two").allows("/")
    assert parse_robots("\x00<html>not: robots", "two").allows("/")


def test_many_wildcards_take_no_time():
    rules = parse_robots("User-agent: *\nDisallow: /" + "*a" * 2_000 + "$", "two")
    assert rules.allows("/" + "a" * 10_000 + "b")
