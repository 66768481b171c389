"""Words that lead to a work at the beginning of a note: "See, e.g., Berg", "For a review, see Berg".

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re

from deepcritical_mcp.checking.draft.work_forms import begins_work, is_work, names_start

_SEE = r"(?:see|cf\.|cfr\.|compare|vgl\.|siehe|voir|véase|véanse|ver|si veda|vedi|zie|см\.)"
_EXAMPLE = (
    r"(?:e\.\s?g\.|for example|for instance|among others|inter alia|z\.\s?B\.|zum Beispiel|par exemple|por ejemplo|"
    r"per esempio|por exemplo|bijvoorbeeld|например)"
)
_BESIDE = r"(?:also|especially|esp\.|generally|auch|etwa|aussi|notamment|también|anche|ook|также)"
_SIGNAL = re.compile(
    # "For a review, see also"; only small letters, so that the title of an essay is none
    rf"(?:For|On|Zur|Zum|Zu|Für|Sur|Pour|Sobre|Para|Su|Per)\b[^.;:\d“”\"„«»]{{3,120}}?,? {_SEE}(?:,? {_BESIDE})?"
    rf"(?:,? {_EXAMPLE})?[,:]?\s{{1,3}}"
    rf"|(?:But )?(?i:{_SEE})(?:,? {_BESIDE})?,? {_EXAMPLE}[,:]?\s{{1,3}}"
    rf"|(?i:{_EXAMPLE}|notably|(?:most|more) recently|original work|см\.(?: также)?)[,:]?\s{{1,3}}"
    r"|The [a-z][a-z ]{2,60} (?:is|are|remains?):?\s{1,3}"
    rf"|(?i:{_SEE}),? {_BESIDE}:?\s{{1,3}}"
    # but "See Toh W, Berg A"
    rf"|参照:\s{{1,3}}|(?:(?i:{_SEE})|Accord|Contra|Nach|D[’']après|Ausführlich):?\s{{1,3}}"
    r"(?!\w{1,40} [A-Z]{1,3}[,;]|\w{1,40}, [A-Z]\.)"
)
_INITIALS = re.compile(r"[A-Z]{1,3}[,;.]|[A-Z]\.")


def end_of_signal(text: str) -> int:
    """Where the words end that lead to a work with which a text begins; 0 if there are none, or if they may be a
    name: "See K, Berg A."."""
    found = _SIGNAL.match(text)
    if not found or _INITIALS.match(text, found.end()):
        return 0
    work = text[found.end() :]
    return found.end() if begins_work(work) or is_work(work) or names_start(work) else 0
