"""Whether a page shows a text, or something else in its place: a request to pay, to log in, to run scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.models import DocumentStatus

_SHORT = 1_500
"""Characters: a text this short beside an abstract is what surrounds one, not an article."""
_BARE = 160
_BODY = frozenset("introduction background methods results discussion conclusion conclusions findings".split())
"""Sections that only a whole article has, even a short one."""
_SUBSCRIPTION = re.compile(
    r"purchase (?:this |access|(?:the )?(?:pdf|article))|buy (?:this |the )?(?:article|chapter|pdf|now)|rent this "
    r"article|subscribe (?:now|to (?:continue|read|this|get|view|unlock))|subscription (?:is )?required|get (?:full )?"
    r"access to this|(?:log|sign) ?in (?:to|for) (?:continue|read|view|access|full)|access through your "
    r"(?:institution|organi[sz]ation)|institutional (?:login|access)|preview of subscription content|access (?:to this "
    r"\w+ )?(?:is )?(?:restricted|denied)|(?:only|exclusively) available to (?:members|subscribers)|you do not have "
    r"(?:access|permission)|this is a preview|to read the full[ -]text",
    re.IGNORECASE,
)
_CHALLENGE = re.compile(
    r"verify(?:ing)? (?:that )?you are (?:a )?human|are you a robot|checking your browser|just a moment\b|"
    r"unusual traffic|captcha|access denied|request (?:was )?blocked|attention required",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"we (?:and our (?:\d+ )?partners )?use cookies|cookie (?:policy|consent|settings|preferences)|accept all"
)
_SCRIPTED = re.compile(
    r"(?:enable|requires?|turn on|activate|without) javascript|javascript (?:is|must be|has been|to be) "
    r"(?:disabled|enabled|required)|you need to enable",
    re.IGNORECASE,
)


BROWSERS_ONLY = "This page asks for a check that only a browser passes, and does not serve programs."
SCRIPTS_ONLY = "no text inside: this page needs JavaScript to show its text."


def shown(
    body: str, abstract: str, everything: str, *, titles: Sequence[str] = (), is_closed: bool, is_article: bool
) -> tuple[DocumentStatus, str]:
    """What a page shows, and a sentence that says why it is not the whole text ("" if it is).

    Args:
        body: its main text, without the abstract.
        everything: all that can be read on it.
        titles: of its sections with text.
        is_closed: whether it says itself that the text is not free to read.
        is_article: whether it is a journal article's page.
    """
    asks_to_pay = is_closed or bool(_SUBSCRIPTION.search(everything))
    has_sections = any(title.strip(" .:").lower() in _BODY for title in titles)
    if abstract and ((len(body) < _SHORT and not has_sections) or (asks_to_pay and len(body) < 4 * _SHORT)):
        asks = " and asks for a subscription or a login" if asks_to_pay else ""
        return "abstract_only", f"This page shows only an abstract{asks}."
    if len(body) < _SHORT and _CHALLENGE.search(everything[:3_000]) and len(everything) < 3_000:
        return "not_allowed", BROWSERS_ONLY
    if (len(body) < _SHORT and asks_to_pay and (is_article or len(body) < 2 * _BARE)) or (is_closed and is_article):
        return "not_allowed", "This page asks for a subscription or a login."
    if len(body) < 2 * _BARE and _SCRIPTED.search(everything):
        return "no_text", SCRIPTS_ONLY
    if len(body) < 4 * _BARE and _CONSENT.search(everything.lower()) and len(everything) < 3_000:
        return "no_text", "no text inside: this page shows only a request for consent."
    if len(body) < _BARE // 4:
        return "no_text", "no text inside: this page has no text of its own."
    return "full_text", ""
