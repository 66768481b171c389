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
_SIDES = """
    increas- rais- rise- rising rose elevat- enhanc- gain- up upregulat- accelerat- high- great- more most larg- long-\
        over above / decreas- reduc- declin- fall- fell attenuat- los- down- delay- slow- low- less fewer least small-\
        short- under below impair-
    inhibit- suppress- prevent- protect- / stimulat- activat- induc- promot- enhanc- caus- damag-
    promot- induc- support- confirm- accept- favor- / reduc- refut- reject- oppos-
    improv- better best benefi- superior safe succe- / worse- worst impair- deteriorat- declin- detriment- harm-\
        inferior toxic fail-
    earl- fast- rapid- before first pre- left / later late slow- after last second post- right
    strong- positive- likely able common often frequently always with presen- directly / weak- negative- invers-\
        unlikely unable rare- never without absen-
    all some any every both either similar same identical / none no neither different
    significant normal acute benign / nonsignificant abnormal chronic malignant
    maternal male- man men boys / paternal female- wom- girls
    internal proximal anterior dorsal upper maj- maxim- / external distal posterior ventral lower minor- minim-
    surviv- cases treat- risk sensitiv- agonist- dominant hyper- intake wide / mortality died controls placebo\
        untreated protection resistan- antagonist- recessive hypo- output specificity narrow
"""
_OPPOSITES = [[side.split() for side in line.split(" / ")] for line in _SIDES.strip().split("\n")]


def are_opposites(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one of some words, in small letters, is the opposite of one of the others."""
    return any(_are_opposite(one, other) or _are_opposite(other, one) for one in some for other in others)


def _are_opposite(one: str, other: str) -> bool:
    if len(one) >= _LONG and other.endswith(one) and other.removesuffix(one) in _PREFIXES:
        return True
    return any(_is_among(one, these) and _is_among(other, those) for these, those in _OPPOSITES)


def _is_among(word: str, side: Sequence[str]) -> bool:
    return any(word.startswith(known[:-1]) if known[-1] == "-" else word == known for known in side)
