"""How many papers a query would find in a PubMed of 38 million, guessed from some thousand records.

Good enough for what depends on whether a query finds few or many papers, and more or fewer than another: within a
factor of five for "sepsis" (190,000), "chronic pain" (70,000), "asthma" (190,000), "probiotics" with "necrotizing
enterocolitis" (1,100) and a dozen others.
"""

from __future__ import annotations

import re
from typing import Any

from ncbi.mesh import plain
from ncbi.pubmed import STOP, Answering, PubMed

PAPERS = 38_000_000
TOKEN = re.compile(r'[()]|"[^"]*"(?:\[[^\]]*\])?|\b(?:AND|OR|NOT)\b|(?:(?!\b(?:AND|OR|NOT)\b)[^\s()"])+')
# Shares of all papers; of a word that a heading has, and of another one.
SHARES = {
    "systematic": 0.012,
    "english": 0.86,
    "review": 0.1,
    "all": 1.0,
    "medline": 0.9,
    "humans": 0.55,
    "animals": 0.6,
}
KNOWN_WORD, OTHER_WORD, HEADING, PLACE, FILTER, YEARS = 1.2e-3, 5e-5, 8e-4, 2e-5, 0.02, 0.3
FILTER_TAGS = ("sb", "filter", "pt", "la", "ptyp", "publication type", "language")
HEADING_TAGS = ("mesh terms", "mh", "mesh", "majr", "pharmacological action", "pa", "supplementary concept", "nm")


class Estimates:
    def __init__(self, pubmed: PubMed) -> None:
        self._pubmed, self._mesh = pubmed, pubmed.mesh
        headings = (one for one in self._mesh.records.values() if one.kind == "D")
        self._words = {word for one in headings for name in one.names for word in plain(name).split()}

    def count(self, query: str) -> int:
        tokens = TOKEN.findall(query)[::-1]
        return int(self._group(tokens) * PAPERS)

    def _group(self, tokens: list[str]) -> float:
        """The share of a group, which is taken off the end of the reversed `tokens`; operators from left to right."""
        share, operator, words = 1.0, "", list[str]()
        while tokens and (token := tokens.pop()) != ")":
            if token in ("AND", "OR", "NOT"):
                share, operator, words = self._joined(share, operator, words), token, []
            elif token == "(":
                other = self._group(tokens)
                share = other if not operator else _both(share, other, operator)
                operator = operator or "AND"
                words = [""]
            else:
                words.append(token)
        return self._joined(share, operator, words)

    def _joined(self, share: float, operator: str, words: list[str]) -> float:
        text = " ".join(filter(None, words))
        return share if not text else _both(share, self._term(text), operator) if operator else self._term(text)

    def _term(self, term: str) -> float:
        match = re.fullmatch(r"(.*?)\s*\[([^\]]*)\]", term, re.DOTALL)
        text, tag = (match[1], match[2].lower()) if match else (term, "")
        text, (field, _, near) = text.strip().strip('"').lower(), tag.partition(":~")
        if field in FILTER_TAGS:
            return SHARES.get(text, FILTER)
        if field in ("dp", "pdat", "edat", "sh") or re.fullmatch(r"[\d/:]+", text):
            return YEARS
        if field.removesuffix(":noexp") in HEADING_TAGS:
            record = self._mesh.by_name.get(plain(text.partition("/")[0]))
            if text in SHARES or record is None:
                return SHARES.get(text, 0.0)
            below = 1 if field.endswith(":noexp") else min(sum(1 for _ in self._mesh.below(record)), 200)
            return min(map(self._word, plain(record.names[0]).split())) * 0.4 + HEADING + PLACE * below
        words = re.findall(r"\w+\*?", text)
        telling = [word for word in words if word not in STOP] or words
        least = min(map(self._word, telling), default=1.0)
        beside = 0.12 * 0.5 ** (len(telling) - 2) if len(telling) > 1 else 1.0
        if near:
            beside *= 1.2 + 0.1 * int(near)
        elif not tag and not term.startswith('"') and len(telling) > 1:
            beside *= 4
        return max(least * beside, HEADING if len(telling) > 1 and plain(text) in self._mesh.by_name else 0.0)

    def _word(self, word: str) -> float:
        start = word.rstrip("*")
        seen = self._pubmed.phrase(word, "tiab").bit_count() / len(self._pubmed.rows)
        base = KNOWN_WORD if {start, f"{start}s"} & self._words else OTHER_WORD
        return seen * 0.15 + base * (2 if word.endswith("*") else 1)


def _both(one: float, other: float, operator: str) -> float:
    """Two shares joined: words of one topic stand together more often than by chance."""
    more, less = max(one, other), min(one, other)
    if operator == "OR":
        return min(1.0, more + 0.6 * less * (1 - more))
    if operator == "NOT":
        return one * (1 - min(other, 0.9))
    return less * more if more > 0.8 else min(less * 0.7, one * other * (25 if more < 0.02 else 3))


class Estimating(Answering):
    """E-utilities whose counts are estimates; phrases of up to two words, and names in MeSH, are in its index."""

    estimates: Estimates

    def _esearch(self, params: dict[str, str]) -> str | dict[str, Any]:
        answer = super()._esearch(params)
        if params.get("db") == "mesh":
            return answer
        count = self.estimates.count(params.get("term", ""))
        if isinstance(answer, str):
            return re.sub(r"<Count>\d+", f"<Count>{count}", answer, count=1)
        result = answer["esearchresult"]
        result["count"] = str(count)
        missing = result.pop("warninglist", {}).get("quotedphrasesnotfound", [])
        names = self.pubmed.mesh.by_name
        if unknown := [one for one in missing if not count or (one.count(" ") > 1 and plain(one) not in names)]:
            result["warninglist"] = {"phrasesignored": [], "quotedphrasesnotfound": unknown, "outputmessages": []}
        return answer
