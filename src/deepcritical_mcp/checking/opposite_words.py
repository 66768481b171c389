"""Words that turn a sentence round: negations, and opposites such as higher and lower. Our own choice."""

from __future__ import annotations

from collections.abc import Sequence

from deepcritical_mcp.text import NEGATIONS

DENYING = NEGATIONS | frozenset(
    """none non lack lacks lacked lacking fail fails failed unable absence absent isnt arent wasnt werent dont doesnt
    didnt hasnt havent hadnt cant couldnt wont wouldnt shouldnt nothing nobody nowhere hardly scarcely barely""".split()
)
"""Words, in small letters without apostrophes, that deny the rest of their sentence."""

_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "a")
_LONG = 4
"""Letters of a word to which a prefix makes the opposite: affected/unaffected."""
# "-" stands behind the stem of a verb: increas- is increase, increased, increasing.
_PAIRS = """
    increas-/decreas- increas-/reduc- increas-/lower- increas-/declin- rais-/lower- elevat-/reduc- elevat-/decreas-
    elevat-/lower- enhanc-/decreas- gain-/los- rise/fall rises/falls rose/fell rising/falling higher/lower high/low
    highest/lowest greater/smaller greater/less greater/lower greater/fewer larger/smaller large/small
    largest/smallest more/less more/fewer most/least longer/shorter long/short longest/shortest earlier/later
    early/late faster/slower fast/slow rapid/slow stronger/weaker strong/weak strongly/weakly better/worse best/worst
    improv-/worsen- improv-/impair- improv-/deteriorat- improv-/declin- positive/negative positively/negatively
    significant/nonsignificant above/below over/under before/after with/without presence/absence present/absent
    inhibit-/stimulat- inhibit-/activat- inhibit-/induc- inhibit-/promot- inhibit-/enhanc- suppress-/stimulat-
    suppress-/promot- suppress-/induc- suppress-/enhanc- suppress-/activat- enhanc-/attenuat- enhanc-/reduc-
    enhanc-/impair- promot-/prevent- promot-/reduc- caus-/prevent- induc-/prevent- induc-/reduc- protect-/damag-
    accelerat-/delay- accelerat-/slow- upregulat-/downregulat- up/down superior/inferior benefit-/harm-
    beneficial/detrimental likely/unlikely able/unable common/rare often/rarely frequently/rarely always/never
    all/none all/no some/no any/no every/no both/neither either/neither similar/different same/different
    identical/different normal/abnormal acute/chronic benign/malignant maternal/paternal male/female males/females
    man/woman men/women boys/girls internal/external proximal/distal anterior/posterior dorsal/ventral upper/lower
    left/right first/last first/second major/minor maximum/minimum maximal/minimal support-/refut- confirm-/refut-
    accept-/reject- safe/toxic survival/mortality survived/died cases/controls treatment/placebo treated/untreated
    risk/protection success/failure succeed-/fail- sensitive/resistant sensitivity/resistance sensitivity/specificity
    agonist/antagonist agonists/antagonists favor-/oppos- dominant/recessive hypertension/hypotension
    hyperglycemia/hypoglycemia intake/output preoperative/postoperative parallel/inverse directly/inversely
    positively/inversely majority/minority wide/narrow
"""


def _known() -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for pair in _PAIRS.split():
        one, other = pair.split("/")
        known.setdefault(one, set()).add(other)
        known.setdefault(other, set()).add(one)
    return known


_OPPOSITES = _known()
_STEMS = tuple(word.removesuffix("-") for word in _OPPOSITES if word.endswith("-"))


def are_opposites(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one of some words, in small letters, is the opposite of one of the others."""
    return any(_are_opposite(one, other) for one in some for other in others)


def _are_opposite(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) >= _LONG and long.endswith(short) and long.removesuffix(short) in _PREFIXES:
        return True
    return any(form in _OPPOSITES.get(known, ()) for known in _forms(one) for form in _forms(other))


def _forms(word: str) -> list[str]:
    return [word, *(f"{stem}-" for stem in _STEMS if word.startswith(stem))]
