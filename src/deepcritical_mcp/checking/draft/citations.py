"""Finds what a draft cites and where: by number, key, names and year, or an identifier; and what has no entry."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import DRAFT_WORDS, YEAR, ListEntry, Mark
from deepcritical_mcp.search.references.plain_text import WORD, folded, stated_ids
from deepcritical_mcp.text import clean_line

_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺‚˒’–—−‐‑;", "0123456789-+,,,-----,")
_PART = r"[0-9]{1,4}(?:\s{0,2}(?:\]\s{0,2})?[-–—−‐‑]{1,2}\s{0,2}\[?[0-9]{1,4})?"
_LIST = rf"{_PART}(?:\s{{0,2}}[,;]\s{{0,2}}{_PART}){{0,40}}"
_OF_NUMBERS = frozenset("0123456789 ,;-–—−‐‑()[]{}^$")
"""What a mark of numbers has."""
_TIGHT = r"[0-9]{1,4}(?:[,;–-][0-9]{1,4}){0,40}"
_FORMS = re.compile(
    rf"\[\s{{0,2}}(?:refs?\.? ?|see |cf\. )?(?P<brackets>{_LIST})(?:, ?pp?\. ?[0-9–-]{{1,12}})?\s{{0,2}}\](?!\()"
    r"|(?P<raised>[⁰¹²³⁴-⁹]{1,3}(?:[,⁻˒–-][⁰¹²³⁴-⁹]{1,3}){0,40})"
    rf"|(?<=[\w)\]\"”’%.])\s{{0,2}}\((?P<parentheses>{_LIST})\)"
    rf"|(?<=[a-z)\]\"”’][.,;:?!])(?P<behind>{_TIGHT})(?=\s|$)|(?<=[a-zà-ÿ]{{4}})(?P<glued>{_TIGHT})(?=[\s.,;:)]|$)",
    re.MULTILINE,
)
_IN_BRACKETS = re.compile(r"\[([\w,; .+:&–-]{1,200})\]")
_BEFORE_ID = re.compile(r"[,;:.)\]]?[^()\[\]\d\n;]{0,120}[(\[]?")
_MOST_IN_RANGE = 100
_MORE_YEARS = re.compile(
    r"\s{0,2}(?:[,;&]|and)\s{0,2}(?:((?:1[5-9]|20)[0-9]{2})([a-z]?)|([a-h]))(?![\w–-])(?!\s{0,2}(?:et\b|&))"
)
_PIECE = re.compile(r"\[[A-Z]{2,10}\]|\([A-Z]{2,10}\)|[^\W\d_](?:[\w'’‐-]|\.(?=\w))*\.?|[^\s\w*_]|[0-9]+")
_APART = str.maketrans("-–/.", "    ", "*_{}\\")
"""What stands between the years and words of an entry, and its markup."""
_BACK, _MOST_PIECES = 160, 24
"""Characters and words before a year in which its names stand."""
_TOKENS, _LEADING, _MOST_ALIKE = 60, 3, 30
"""Words of an entry by which it is known, and in which its first author stands; entries with one name and year."""


class DraftCitation(NamedTuple):
    """A place of a draft that cites: references by their indexes from 1, and whether it is a mark, which the claim is
    read without, rather than words."""

    start: int
    end: int
    references: tuple[int, ...]
    is_mark: bool = True


class Citations:
    """The citations in `body`, a draft without its lists of references, which followed the places `lists`, in order;
    the references that stand in its text only (identifiers, with names and year if these stand next to them), and what
    is cited without an entry. A label means the entry of the list that follows a citation first, because each section
    may have its own. The `entries` of lists without labels have numbers for these if they are cited by them."""

    def __init__(self, body: str, marks: Sequence[Mark], entries: Sequence[ListEntry], lists: Sequence[int]) -> None:
        labels, found, unknown = dict[str, dict[int, int]](), list[DraftCitation](), dict[str, None]()
        forms = _cited_numbers(body, marks)
        cited = [int(number) for form in ("raised", "brackets") for one in forms[form] for number in one[2]]
        if 0 < max(cited, default=0) <= len(entries) and not any(one.label for one in entries):
            entries = [one._replace(label=str(at)) for at, one in enumerate(entries, 1)]
        for number, one in enumerate(entries, 1):
            if one.label:
                labels.setdefault(one.label, {}).setdefault(one.section, number)
        for start, end, cited in sorted(_by_label(body, marks, forms, labels)):
            section = bisect_right(lists, start)
            meant = [one.get(section) or next(iter(one.values())) for one in map(labels.get, cited) if one]
            unknown |= dict.fromkeys(f"[{label}]" for label in cited if label not in labels)
            found.append(DraftCitation(start, end, tuple(dict.fromkeys(meant))))
        named = [*NameIndex([one.text for one in entries]).citations(body)]
        missing, known_names = [one for one in named if not one.entries], [one for one in named if one.entries]
        self._body, self._found, self.entries, self.inline = body, found, entries, list[str]()
        self._find_ids(marks, entries, missing)
        if known_names or not labels:
            starts = {one.start for one in found}
            apart = (one for one in missing if starts.isdisjoint(range(one.start, one.end)))
            unknown |= dict.fromkeys(clean_line(body[one.start : one.end]) for one in apart)
        found += (DraftCitation(one.mark, one.end, tuple(number + 1 for number in one.entries)) for one in known_names)
        self.unknown, self.all = [*unknown], sorted(found)
        self.cited = frozenset(number for one in found for number in one.references)
        self._starts = [one.start for one in self.all]

    def between(self, low: int, high: int) -> Sequence[DraftCitation]:
        """Those that begin between two places."""
        return self.all[bisect_left(self._starts, low) : bisect_left(self._starts, high)]

    def within(self, low: int, high: int) -> tuple[int, ...]:
        """The references cited between two places."""
        return tuple(dict.fromkeys(number for one in self.between(low, high) for number in one.references))

    def _find_ids(self, marks: Sequence[Mark], entries: Sequence[ListEntry], names: Sequence[NamedCitation]) -> None:
        """What cites by an identifier, and the references that no entry has."""
        known = dict[str, int]()
        for number, entry in enumerate(entries):
            for one in stated_ids(entry.text):
                known.setdefault(one.key, number)
        by_end, last, body = [one.end for one in names], 0, self._body
        links = [mark for mark in marks if mark.kind == "link"]
        stated = [(mark.start, mark.end, one, True) for mark in links for one in [*stated_ids(mark.target)][:1]]
        stated += [(one.start, one.end, one, False) for one in stated_ids(body)]
        for start, end, one, is_link in sorted(stated, key=lambda one: (one[0], -one[1])):
            if start < last or (one.key not in known and not any(one.ids)):
                continue
            written, low, high = one.written, start, end
            is_next = body[start].isdigit() and one.key.startswith("pmid:")  # of a list, behind the first one's names
            named = names[at] if not is_next and (at := bisect_right(by_end, end) - 1) >= 0 else None
            if named and named.start >= start:  # "[Berg et al., 2020](https://…)"
                written = f"{body[named.start : named.end]} {one.written}"
            elif named and _BEFORE_ID.fullmatch(body, named.end, start):  # "(Berg et al., 2020; PMID 1)"
                low, high = named.mark, high + (named.mark > named.start and body[end : end + 1] in (")", "]"))
                written = f"{body[named.start : high]} {one.written}" if is_link else body[named.start : high]
            if one.key not in known:
                known[one.key] = len(entries) + len(self.inline)
                self.inline.append(clean_line(written))
            self._found.append(DraftCitation(low, high, (known[one.key] + 1,), is_mark=not is_link))
            last = end if is_link else last


_Cited = tuple[int, int, tuple[str, ...]]
_Named = tuple[int, tuple[int, ...]]


def _cited_numbers(body: str, marks: Sequence[Mark]) -> dict[str, list[_Cited]]:
    """What may cite by numbers, by form: where it stands, and the numbers."""
    forms = {name: list[_Cited]() for name in _FORMS.groupindex}
    for found in _FORMS.finditer(body):
        form = str(found.lastgroup)
        if form != "raised" or not _is_power(body, *found.span()):
            forms[form].append((*found.span(), _expanded(found[form])))
    for one in marks:
        is_number = one.kind in ("raised", "link") and _OF_NUMBERS.issuperset(body[one.start : one.end])
        is_sure = one.kind == "link" or body[one.start - 1 : one.start] == "("
        if is_number and (is_sure or not _is_power(body, one.start, one.end)):
            forms["raised"].append((one.start, one.end, _expanded(body[one.start : one.end])))
    return forms


def _by_label(
    body: str, marks: Sequence[Mark], forms: Mapping[str, list[_Cited]], labels: Mapping[str, object]
) -> Iterator[_Cited]:
    """What cites by `labels`: marks of notes and keys; labels with letters in brackets, "[Smi19]", "[S1, S3–S5]"; and
    numbers, in the one of the `forms` that cites most of the list, in brackets or raised at the same time. Numbers in
    brackets may be missing from the list."""
    for one in marks:
        if one.kind == "note":
            yield one.start, one.end, (f"^{one.target}",)
        elif one.kind == "key":
            keys = tuple(filter(None, (key.strip() for key in one.target.split(","))))
            if body[one.start] != "@" or keys[0] in labels:  # else it may be anybody's name
                yield one.start, one.end, keys
    for found in _IN_BRACKETS.finditer(body) if any(not label.isdecimal() for label in labels) else ():
        parts = [part.strip() for part in found[1].replace(";", ",").split(",")]
        cited = (one for part in parts for one in (part, *(part[:1] + number for number in _expanded(part))))
        if known := tuple(one for one in cited if one in labels and not one.isdecimal()):
            yield *found.span(), known
    numbers = [int(label) for label in labels if label.isdecimal()]
    if not numbers:
        return
    most = max(numbers) + 50
    sure = [one for one in forms["brackets"] if one[2] and int(one[2][-1]) <= most]
    numbered = {name: [one for one in found if one[2] and labels.keys() >= {*one[2]}] for name, found in forms.items()}
    if sure := sure + numbered["raised"]:
        yield from sure
        return
    most_cited = max(("parentheses", "behind", "glued"), key=lambda name: len({*_all(numbered[name])}))
    # Words and numbers stand together for many reasons: "interleukin6".
    if most_cited != "glued" or 3 * len({*_all(numbered[most_cited])}) >= len(numbers):
        yield from numbered[most_cited]


def _all(found: Sequence[_Cited]) -> Iterator[str]:
    return (label for one in found for label in one[2])


def _is_power(text: str, start: int, end: int) -> bool:
    """Whether a raised number is that of a unit, an isotope, a number or what has a value, and cites nothing: "m²",
    "¹⁴C", "10³", "I² = 60%"; but it may cite behind a name with a number, "IL-13¹⁶"."""
    before, after = text[max(0, start - 20) : start], text[end : end + 2].strip()[:1]
    word, number = re.split(r"\W", before)[-1], re.split(r"[\s/×]", before)[-1].lstrip("(-xn")
    is_unit = word in DRAFT_WORDS["units"] and len(text[start:end].strip("^${}[]() -–−⁻")) == 1  # "30 min⁶⁷" cites
    is_number = number.replace(".", "").replace(",", "").isdecimal()
    is_isotope = text[end : end + 1].isalpha() and not before[-1:].isalpha()
    return not before.strip() or before[-1] in "⁻⁺(" or is_unit or is_number or is_isotope or after in ("⁺", "⁻", "=")


def _expanded(numbers: str) -> tuple[str, ...]:
    """ "1, 3-5" as 1, 3, 4, 5; () if a range runs backwards or is long."""
    found = list[int]()
    for part in re.sub(r"[^0-9,-]", "", numbers.translate(_RAISED)).split(","):
        first, _, last = part.replace("--", "-").partition("-")
        low = int(first[:4] or 0)
        high = int(last[:4]) if last[:4].isdecimal() else low
        if not 0 < low <= high <= low + _MOST_IN_RANGE:
            return ()
        found += range(low, high + 1)
    return tuple(str(one) for one in dict.fromkeys(found))


class NamedCitation(NamedTuple):
    """A citation by names and a year: where it begins and ends, where the mark in it begins, "(2020)" in "Smith (2020)
    found", and the entries that it means."""

    start: int
    mark: int
    end: int
    entries: tuple[int, ...] = ()


class NameIndex:
    """The entries of a list of references by the names and years in them."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._heads = [WORD.findall(folded(one[:400].translate(_APART)))[:_TOKENS] for one in entries]
        self._years = [{found[0] for found in YEAR.finditer(one[:2_000].translate(_APART))} for one in entries]
        self._by_name = dict[tuple[str, str], list[int]]()
        for number, head in enumerate(self._heads):
            initials = "".join(word[0] for word in head[:8])
            bodies = (initials[:length] for length in range(2, len(initials) + 1))  # WHO
            for token in dict.fromkeys((*head, *bodies)):
                for year in {one[:4] for one in self._years[number]}:
                    known = self._by_name.setdefault((token, year), [])
                    known[len(known) :] = [number] if len(known) < _MOST_ALIKE else []

    def citations(self, text: str) -> Iterator[NamedCitation]:
        """The citations by names and year in a text: those that entries explain, and what can be nothing else."""
        at = 0
        for found in YEAR.finditer(text):
            pieces, opened = _pieces_before(text, max(at, found.start() - _BACK), found.start())
            if not pieces:
                continue
            year, at, years = found[1], found.end(), [found[1] + found[2]]
            while len(years) < _MOST_PIECES and (more := _MORE_YEARS.match(text, at)) and (found[2] or not more[3]):
                year, at = more[1] or year, more.end()
                years.append(year + (more[2] or more[3] or ""))
            end = at + (opened >= 0 and text[at : at + 1] in (")", "]"))
            for start, entries in (self._meant(text, pieces, one, is_apart=opened >= 0) for one in years):
                if start >= 0:
                    yield NamedCitation(start, max(start, opened), end, entries)

    def _meant(self, text: str, pieces: Sequence[re.Match[str]], year: str, *, is_apart: bool) -> _Named:
        """Where the first word stands in some pieces of a text before a year that begins names of an entry, and what
        they mean; -1 if they cite nothing."""
        words = [(at, piece[0].removesuffix("’s").removesuffix("'s").strip(" .")) for at, piece in enumerate(pieces)]
        words = [(at, word) for at, word in words if len(word) > 1 and _is_name(pieces[at][0])]
        for number, (at, _) in enumerate(words):
            if entries := self._entries([word for _, word in words[number:]], year):
                return pieces[at if number else 0].start(), tuple(entries)
        before = text[max(0, pieces[0].start() - 3) : pieces[0].start()].rstrip()[-1:]
        is_sure = any(piece[0].lower().rstrip(".") in DRAFT_WORDS["and others"] or piece[0] == "&" for piece in pieces)
        is_sure = is_sure or (not is_apart and before in ("(", ";", "["))
        return (pieces[0].start() if words and is_sure else -1), ()

    def _entries(self, names: Sequence[str], year: str) -> list[int]:
        """The entries that names and a year mean, several if these do not tell them apart; [] for none."""
        first, *others = [token for name in names for token in WORD.findall(folded(name))[-1:]] or [""]
        found = self._by_name.get((first, year[:4]), [])
        found = [one for one in found if year in self._years[one]] or found
        found = [one for one in found if first in self._heads[one][:_LEADING]] or found
        return [one for one in found if {*others[:2]} <= {*self._heads[one]}] or found


def _is_name(word: str) -> bool:
    return word[:1].isalpha() and not word[:1].islower() and word.lower().rstrip(".") not in DRAFT_WORDS["no names"]


def _pieces_before(text: str, low: int, high: int) -> tuple[Sequence[re.Match[str]], int]:
    """The words before a year that may be names and what joins them, from the first name on, and where the bracket
    between them and the year stands (-1 without one)."""
    low = max(low, text.rfind("\n\n", low, high) + 1)  # not those of the block above
    opened, kept, joining = -1, list[re.Match[str]](), DRAFT_WORDS["between names"] | DRAFT_WORDS["and others"]
    for piece in [*_PIECE.finditer(text, low, high)][: -_MOST_PIECES - 1 : -1]:
        word, bare = piece[0], piece[0].lower().rstrip(".") or piece[0]
        if word in ("(", "[") and opened < 0 and not any(_is_name(one[0]) for one in kept):
            opened, kept = piece.start(), []
        elif word[0] not in "([" or len(word) == 1:  # else it is as in "World Health Organization [WHO], 2019"
            is_end = word.endswith(".") and len(word) > 3 and bare not in DRAFT_WORDS["and others"]
            if is_end or not (_is_name(word) or bare in joining):
                break
            kept.append(piece)
    while kept and not (_is_name(kept[-1][0]) or kept[-1][0].lower() in DRAFT_WORDS["particles"]):
        kept.pop()
    return kept[::-1], opened
