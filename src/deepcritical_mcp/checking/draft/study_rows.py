"""Rows of tables that name a study by its number: "| Berg et al. | 2019 | 30000001 |".

What the other cells of a row say of the study, first author, year, title and journal, is compared with the record of
its number. Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from deepcritical_mcp.checking.draft.inline_references import stated_ids
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.checking.draft.masking import Line
from deepcritical_mcp.checking.draft.reference_tables import Table, tables_in
from deepcritical_mcp.excerpts import Span
from deepcritical_mcp.search.references.guesses import ET_AL, Statements, names_in

_WORD = re.compile(r"[^\W\d_]+")
_PMIDS = frozenset("pmid pmids pubmed medline".split())
_DOIS = frozenset("doi dois".split())
_STUDIES = frozenset(
    """study studies trial trials reference references ref refs citation paper article publication record source studie
    étude estudio estudo studio quelle badanie onderzoek tutkimus исследование araştırma 研究""".split()
)
_PEOPLE = frozenset(
    """author authors investigator autor autoren autorin auteur auteurs autores autore autori
    investigators erstautor erstautorin författare förstaförfattare forfatter førsteforfatter tekijä szerző szerzők
    yazar yazarlar автор авторы συγγραφέας 作者 第一作者 著者 第一著者 저자""".split()
)
_BESIDE_PEOPLE = frozenset(
    """first lead leading main name names s and of id included al et erstautor premier primer primo nr no year
    date published jahr année año ano anno st d e es ère premier première eerste pierwszy första første ilk 1er
    characteristics included country""".split()
)
_YEARS = frozenset(
    """year yr years published jahr année an año ano anno erscheinungsjahr publicatiejaar jaar år rok vuosi év yıl год
    έτος 年 年份""".split()
)
_PUBLISHED = frozenset("publication publicación publicação pubblicazione article paper".split())
_DATES = frozenset("date datum".split())
_BESIDE_YEARS = frozenset(
    """of pub publ publication the study article paper print de d publicación publicação pubblicazione wydania
    publikacji year""".split()
)
_TITLES = frozenset("title titel titre título titolo".split())
_BESIDE_TITLES = frozenset("of the article paper full study publication short".split())
_JOURNALS = frozenset("journal zeitschrift revue revista rivista".split())
_BESIDE_JOURNALS = frozenset("name abbreviation title of the".split())
_YEAR = re.compile(r"(?<![\d–-])((?:1[89]|20)\d\d)(?:-[01]\d(?:-[0-3]\d)?(?![\d–-])|[a-z]?(?![\d–-]))")
_DATE = re.compile(r"[(\[]?(?:[\w.,/-]{1,10}[ ,]{1,2}){0,2}[\w./-]{1,10}[)\]]?")
_NUMBER = re.compile(r"(?:PMIDs?[:\s]{0,3})?([1-9][0-9]{3,8})", re.IGNORECASE)
_JOINED = re.compile(r"(?:[\s,;/&]|and\b|und\b|<br ?/?>){1,8}")
_NOTED = re.compile(
    r"(?<![\w./=<>≥≤~-])(?<![=<>≥≤~] )([1-9][0-9]{4,8})(?:[a-h]|\.0)?(?![\w%]|[./-]\w| (?:patients|participants)\b)"
)
"""A number with a remark: "28605608 (main paper)"."""
_IN_GROUPS = re.compile(r"(?<![\w.,])(?<![0-9] )([1-9][0-9]?)([ ,.])([0-9]{3})\2([0-9]{3})(?![\w.,]|[ ,.][0-9])")
"""A number in groups of three digits: "28,605,608"."""
_LONG_NUMBER = 7
"""Digits of a PMID that no study has as many participants as, where the column is of both."""
_BRACKETED = re.compile(r"[(\[]\s{0,2}(?:PMIDs?[:\s]{0,3})?([1-9][0-9]{4,8})\s{0,2}[)\]]", re.IGNORECASE)
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()\s]{1,600}\)")
_NOTE = re.compile(r"<br ?/?>|\[[\d,; –-]{1,20}\]|\^[^^\s]{1,12}\^|<sup>[^<>]{0,20}</sup>|\[\^[^\]\s]{1,30}\]|[*_†‡§`]")
_FAMILY = (
    r"(?:(?:[Vv][ao]n|[Dd][aeiou][lnrs]?|[Ll][ae]|[Ee]l|[Tt]e[rn]|[Zz]ur?|der|den) ){0,2}[^\W\d_a-z][\w'’‐-]{1,40}"
)
_PERSON = rf"(?:(?:[A-Z]\.? ?){{1,3}} )?{_FAMILY}(?:,? (?:[A-Z]{{1,3}}|(?:[A-Z]\.[ -]?){{1,3}}))?"
_CITED = re.compile(rf"{_PERSON}(?:(?:,? (?:and|und|y|et|&) |, |/|; ){_PERSON}){{0,5}},?")
"""Names as tables cite a study by them: "Berg", "Berg & Ruiz", "Berg J, Ruiz K"."""
_GIVEN = r"(?:[^\W\d_a-z][^\W\d_A-Z]{1,20} )?"
_CITED_IN_FULL = re.compile(rf"{_GIVEN}{_PERSON}(?:(?:,? (?:and|und|y|et|&) |, |/|; ){_GIVEN}{_PERSON}){{0,5}},?")
"""The same with given names: "Jan Berg". Without a year behind them, such words may be anything."""
_BEFORE_NAMES = re.compile(r"\A(?:[(#]?[0-9]{1,3}[).:]{1,2} |(?:[Ss]tudy|[Tt]rial|[Rr]eport|[Pp]aper) by )")
_BEFORE_INITIALS = re.compile(r"(?<=\w),\s(?=(?:[A-Z]\.?[ -]?){1,3}(?:[,;&/]|$|and\b|und\b|et\b))")
_REMARK = re.compile(r"\([^()]{0,200}\)")
_CAPITAL = r"[^\W_a-zß-ÿ]"
_TRIAL = rf"{_CAPITAL}(?:{_CAPITAL}|-){{2,20}}(?: {_CAPITAL}(?:{_CAPITAL}|-){{0,20}}){{0,3}}"
_NO_NAMES = "|".join(
    (*calendar.month_name[1:], *calendar.month_abbr[1:], "Epub", "Online", "Published", "Phase", "Part")
)
_BEHIND_TRIAL = re.compile(
    rf"{_TRIAL}(?: ?[:;/(] ?| [–—-] )(?!(?:{_NO_NAMES})\b)((?:[a-z]{{2,4}} ){{0,2}}[^\W\d_a-z](?:[^\W\d_A-Z]|['’]).*)"
)
"""Who reported a trial, behind its name: "EMPA-REG: Zinman 2015", "EMPA-REG OUTCOME (Zinman et al., 2015)"."""
_TRIAL_OR_FAMILY = re.compile(rf"{_TRIAL}, [^\W\d_a-z][^\W\d_A-Z]")
"""What may be a trial and its author, or one name: "DAPA-HF, McMurray", "BERG, Jan"."""
_OF_GROUPS = re.compile(
    r"\b(?:group|study|trial|collaborat\w{1,7}|investigators|consortium|registry|network|cohort|guidelines?|arm|site|case|"
    r"sample|surveys?|program(?:me)?|project|initiative|analysis|phase|health|heart|prevention|states|cent(?:er|re)|hospital|review|protocol|dataset|control|total|overall|mean|median)\b",
    re.IGNORECASE,
)
_OTHER_PLACE = re.compile(r"[(\[](?:senior|last|corresponding|letzt\w{1,4})(?: author| autor)?[)\]]", re.IGNORECASE)
"""What says that a name is not that of the first author."""
_SURELY_NAMES = re.compile(r"[;&.]|\b(?:and|und|y|et|[A-Z]{1,3})\b")
_SUM = re.compile(r"(?:sub)?totals?\b|all\b|overall\b|pooled\b|mean\b|median\b|sum\b", re.IGNORECASE)
_LONGEST_NAMES = 1_000
_LEAST_TITLE = 3
"""Words."""
_EDGES = " ,;:.()[]|–—-"


class _Row(NamedTuple):
    """What a row says of a study, the same as it is written, and its numbers."""

    says: Statements
    written: str
    pmids: Sequence[str]
    dois: Sequence[str]


class StudyTable(NamedTuple):
    """A table whose rows name studies by their numbers: where it stands, the numbers with what their rows say, and the
    studies whose rows lack one, with where they stand."""

    span: Span
    entries: Sequence[ListEntry]
    unnumbered: Sequence[tuple[str, Span]]


def study_tables(text: str) -> Iterator[StudyTable]:
    """The tables with numbers in their rows, each with what its row says of the study, if the row has only one."""
    for table in tables_in(text):
        kinds = _kinds(table)
        numbered = {at: number for at, title in enumerate(table.header) if (number := _number_of(title))}
        entries, unnumbered = list[ListEntry](), list[tuple[str, Span]]()
        for line, cells in table.rows:
            row = _read(cells, kinds, numbered)
            if found := [*_entries(line, row)]:
                entries += found
            elif numbered and not any(stated_ids(line.text)) and (study := _study_of(cells, kinds)):
                unnumbered.append((study, Span(line.start, line.end)))
        if entries or unnumbered:
            yield StudyTable(Span(table.start, table.rows[-1][0].end), entries, unnumbered)


def _entries(line: Line, row: _Row) -> Iterator[ListEntry]:
    says = row.says if len(row.pmids) < 2 and len(row.dois) < 2 else Statements()
    for keys in _numbers(row):
        at = line.start + max(0, line.text.find(keys[0].removeprefix("PMID ").removeprefix("doi:")))
        written = " | ".join(filter(None, (row.written, " ".join(keys))))
        yield ListEntry(written, at, at + len(keys[0]), says=says if row.written else None)


def _study_of(cells: Sequence[str], kinds: Mapping[int, str]) -> str:
    """What a row calls its study; "" of a row of sums or a heading within the table."""
    named = [_plain(cell) for at, cell in enumerate(cells) if kinds.get(at) in ("people", "study", "title")]
    study = next((one for one in named if any(map(str.isalpha, one))), "")
    return "" if _SUM.match(study) or sum(map(bool, cells)) < 2 else study


def _numbers(row: _Row) -> Iterator[tuple[str, ...]]:
    """The numbers of a row: a PMID and a DOI alone are of one study."""
    pmids, dois = [f"PMID {one}" for one in row.pmids], [f"doi:{one}" for one in row.dois]
    if len(pmids) == 1 and len(dois) == 1:
        yield (pmids[0], dois[0])
        return
    yield from ((one,) for one in (*pmids, *dois))


def _written(said: Mapping[str, str], says: Statements) -> str:
    """What the cells of a row say, with the year behind the names."""
    study = said.get("people") or said.get("study", "")
    year = f"{' |' if _YEAR.search(study) else ''} {says.year}" if says.year not in study else ""
    return " | ".join(filter(None, (f"{study[:_LONGEST_NAMES]}{year}".strip(" |"), says.title, says.journal)))


def _kinds(table: Table) -> Mapping[int, str]:
    """What each column is for, by its header; names and years also by what stands in it. A "date", as below "Study
    year", may be that of the study itself."""
    kinds = {at: kind for at, title in enumerate(table.header) if (kind := _kind(title))}
    dated = [at for at, kind in kinds.items() if kind == "study" and _is_column(table, at, _is_date)]
    kinds |= {at: "year" if _PUBLISHED & {*_words(table.header[at])} else "date" for at in dated}
    if not {"people", "study"} & {*kinds.values()}:
        free = (at for at in range(len(table.header)) if at not in kinds)
        known = next((at for at in free if _is_column(table, at, _is_citation)), -1)
        kinds |= {known: "study"} if known >= 0 else {}
    return kinds


def _kind(title: str) -> str:
    words = frozenset(_words(title)) - _PMIDS - _DOIS
    for kind, nouns, beside in (
        ("title", _TITLES, _BESIDE_TITLES),
        ("journal", _JOURNALS, _BESIDE_JOURNALS),
        ("date", _DATES, _BESIDE_YEARS),
        ("people", _PEOPLE, _BESIDE_PEOPLE | _STUDIES),
        ("study", _STUDIES, _BESIDE_PEOPLE),
        ("year", _YEARS, _BESIDE_YEARS),
    ):
        if words & nouns and words <= nouns | beside:
            return kind
    return ""


def _number_of(title: str) -> str:
    """Which numbers a header says that a column has, "pmid" or "doi": "PMID", "Pub Med ID"; "" if none."""
    words = _words(title)
    if not _PMIDS.isdisjoint(words) or "pubmed" in "".join(words):
        return "pmid"
    return "" if _DOIS.isdisjoint(words) else "doi"


def _words(title: str) -> list[str]:
    return _WORD.findall(title.casefold())


def _is_column(table: Table, at: int, is_one: Callable[[str], bool]) -> bool:
    """Whether most cells of a column, as far as they say anything, are such ones."""
    filled = [cell for _, cells in table.rows if (cell := _plain(_cell(cells, at)))]
    return 2 * sum(map(is_one, filled)) > len(filled)


def _is_citation(plain: str) -> bool:
    said = _cited(plain)
    return bool(said.authors and said.year)


def _is_date(plain: str) -> bool:
    return bool(_year_of(plain)) and not any(map(str.isalpha, plain))


def _cell(cells: Sequence[str], at: int) -> str:
    return cells[at] if at < len(cells) else ""


def _read(cells: Sequence[str], kinds: Mapping[int, str], numbered: Mapping[int, str]) -> _Row:
    said, pmids, dois = dict[str, str](), list[str](), list[str]()
    for at, cell in enumerate(cells):
        kind = kinds.get(at, "")
        least = _LONG_NUMBER if kind else 1
        rest, numbers = _without_numbers(cell, least if numbered.get(at) == "pmid" else 0)
        plain = _plain(rest)
        if at in numbered or kind or (kinds and not any(map(str.isalpha, plain))):
            pmids += [one for one in numbers if one.isdecimal()]
            dois += [one for one in numbers if not one.isdecimal()]
        if kind:
            said[kind] = said.get(kind) or plain
    says = _says(said)
    return _Row(says, _written(said, says), [*dict.fromkeys(pmids)], [*dict.fromkeys(dois)])


def _without_numbers(cell: str, least: int) -> tuple[str, list[str]]:
    """A cell without its PMIDs and DOIs, and these. Below a header that says what they are, bare numbers count, those
    with a remark if they have at least so many digits; without such a header, `least` is 0."""
    ids = [one for one in stated_ids(cell) if one.key.startswith(("pmid:", "doi:"))]
    found = [one.key.partition(":")[2] for one in ids]
    for one in reversed(ids):
        label = _LINK.fullmatch(cell, one.start, one.end)
        cell = f"{cell[: one.start]} {label[1] if label else ''} {cell[one.end :]}"
    if not least:
        return cell, found
    cell = _IN_GROUPS.sub(r"\1\3\4", cell)
    if not any(map(str.isalnum, _JOINED.sub("", _NUMBER.sub("", cell)))):
        return "", [*found, *_NUMBER.findall(cell)]
    bracketed = [*_BRACKETED.finditer(cell)] if least > 1 else []
    noted = bracketed or [one for one in _NOTED.finditer(cell) if len(one[1]) >= least]
    for one in reversed(noted):
        cell = f"{cell[: one.start()]} {cell[one.end() :]}"
    return cell, [*found, *(one[1] for one in noted)]


def _plain(cell: str) -> str:
    return " ".join(_NOTE.sub(" ", _LINK.sub(lambda found: found[1], cell)).split()).strip(" ,;:|")


def _says(said: Mapping[str, str]) -> Statements:
    """What the cells of a row say, by their kinds."""
    title, journal = said.get("title", ""), said.get("journal", "")
    year, date = _year_of(said.get("year", "")), _year_of(said.get("date", ""))
    cited = _cited(said.get("people", ""), is_people=True)
    if not cited.authors:
        cited = _cited(said.get("study", ""), is_dated=bool(year or date))
    return replace(
        cited,
        title=title.strip('“”"„«» ').rstrip(".") if len(title.split()) >= _LEAST_TITLE else "",
        year=year or cited.year or date,
        journal=journal.rstrip(".") if any(map(str.isalpha, journal)) else "",
    )


def _year_of(date: str) -> str:
    """The year of a date; "" if it has several, or is none."""
    bare = _REMARK.sub(" ", date).strip()
    date = bare if _YEAR.search(bare) else date
    years = {*_YEAR.findall(date)} if _DATE.fullmatch(date) else set[str]()
    return years.pop() if len(years) == 1 else ""


def _cited(plain: str, *, is_people: bool = False, is_dated: bool = False) -> Statements:
    """The names and the year of a cell that cites a study by them; `is_people` is whether all in it must be names,
    `is_dated` whether the year stands in another cell."""
    plain = _BEFORE_NAMES.sub("", plain, count=1).lstrip(_EDGES)
    if (found := _BEHIND_TRIAL.fullmatch(plain)) and _YEAR.search(found[1]):
        plain = found[1]
    elif _YEAR.search(bare := _REMARK.sub(" ", plain)):
        plain = bare
    years = [*_YEAR.finditer(plain)]
    year = years[0][1] if len({one[1] for one in years}) == 1 else ""
    head = (plain[: years[0].start()] or plain[years[0].end() :]) if years else plain
    others = ET_AL.search(head)
    names = _names(head[: others.start()] if others else head.partition("(")[0])
    is_capital = names.isupper() and len(names) > _LEAST_TITLE and not others  # a trial's name, or a person's
    is_cited = (_CITED_IN_FULL if year else _CITED).fullmatch(names) is not None and not is_capital
    is_cited = is_cited and (bool(year or others) or is_dated)
    if not names or len(names) > _LONGEST_NAMES or _OF_GROUPS.search(names) or not (is_people or is_cited):
        return Statements()
    if any(map(str.isdigit, names)) or _TRIAL_OR_FAMILY.match(names) or _OTHER_PLACE.search(plain):
        return Statements()
    if years and not _SURELY_NAMES.search(names):  # "Berg, Austria, 2019"
        first = re.split("[,/]", names)[0].strip()
        return Statements(authors=names_in(first), year=year, people=first)
    people = f"{names} et al." if others else names
    return Statements(authors=names_in(names), year=year, people=people)


def _names(text: str) -> str:
    """Names without what stands around them; initials stand behind a blank: "Kwack SJ" for "Kwack, SJ"."""
    names = text.strip(_EDGES)
    names += "." if names[-1:].isupper() and f"{names}." in text else ""
    return _BEFORE_INITIALS.sub(" ", names)
