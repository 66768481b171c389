"""Tables of studies and of chosen fields, a row for each record, with what can be read in it without guessing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepcritical_mcp.data_files import data_lines, data_patterns
from deepcritical_mcp.export.flow_numbers import has_whole_text
from deepcritical_mcp.export.reference import LISTED_FIELDS, Reference, listed_value, references
from deepcritical_mcp.export.tables import cell, csv_table, markdown_table
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.text import clean_line, clipped

SECONDARY = frozenset({"systematic review", "meta-analysis", "network meta-analysis", "scoping review", "review"})
"""Designs that are about other studies."""
NOT_STUDIES = frozenset({"editorial", "letter", "comment", "news", "guideline", "erratum", "retraction notice"})
_DESIGNS: dict[str, dict[str, str]] = {}
for _kind, _name, _says in (f"{row} | ".split(" | ")[:3] for row in data_lines(__file__, "study_designs.txt")):
    _DESIGNS.setdefault(_kind, {})[_name] = _says
_BY_TYPE, _BY_HEADING, _SAID, _ADJECTIVES = (_DESIGNS[kind] for kind in ("type", "heading", "said", "adjective"))
_PEOPLE_HEADINGS, _ANIMALS, _WIDER = (_DESIGNS[kind] for kind in ("people", "animal", "wider"))
_EXCLUSIVE = (frozenset({"prospective", "retrospective"}), frozenset({"double-blind", "single-blind", "open-label"}))
"""Of each of these a study has one; a record that says several leaves it open which."""
_COUNTRIES = frozenset(data_lines(__file__, "countries.txt"))
_SHORT_FORMS = dict.fromkeys(("USA", "US", "U.S."), "United States") | {"UK": "United Kingdom"}
_PLACES = "|".join(map(re.escape, sorted((*_COUNTRIES, *_SHORT_FORMS), key=len, reverse=True)))
_PATTERNS = data_patterns(__file__, "study_patterns.txt", DESIGN="|".join(_SAID.values()), COUNTRY=_PLACES)
_SAYS = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
"""How titles and abstracts say it."""
_WORDS = {word: value for value, word in enumerate(_SAYS["SMALL"].pattern.split("|"))}
_TENS = {word: 10 * value for value, word in enumerate(_SAYS["TENS"].pattern.split("|"), 2)}


def study_designs(record: Publication) -> tuple[str, ...]:
    """What its types, its title, its headings and its abstract call its design: ("randomized controlled trial",).

    () if none of them says anything. The words of a title about another paper are not used.
    """
    by_type = [_BY_TYPE[one] for one in record.publication_types if one in _BY_TYPE]
    title = record.title.casefold()
    if NOT_STUDIES & {*by_type} or _SAYS["ON_ANOTHER"].match(title):
        return tuple(dict.fromkeys(one for one in by_type if one in NOT_STUDIES or one == "case report"))
    said = [*by_type, *_named(_SAYS["IN_TITLE"].finditer(title.removesuffix(".")))]
    abstract = record.text.content if record.text.kind == "abstract" else ""
    said += _named(_SAYS["IN_TEXT"].finditer(abstract.casefold()))
    if not SECONDARY & {*said}:
        headings = (_BY_HEADING[one] for one in record.mesh_terms if one in _BY_HEADING)
        said += [one for one in headings if not _is_denied(one, said)]
    names = dict.fromkeys(one for one in said if not _is_denied(one, said))
    # without those that another one states more precisely
    return tuple(one for one in names if not {*_WIDER.get(one, "").split("; ")} & names.keys())


def _is_denied(design: str, said: Collection[str]) -> bool:
    """Whether one of `said` cannot be true of the same study."""
    return any(design in some and (some - {design}) & {*said} for some in _EXCLUSIVE)


def _named(phrases: Iterable[re.Match[str]]) -> Iterator[str]:
    for phrase in phrases:
        yield from (name for name, pattern in {**_SAID, **_ADJECTIVES}.items() if re.search(pattern, phrase[0]))


_REGISTRIES = tuple(_DESIGNS["registry"])
_REGISTERED = re.compile(r"regist|clinicaltrials\.gov|clinical trials?\.gov|prospero|eudract", re.IGNORECASE)
_NEAR = 120
"""Characters before a number within which a text says that it is a registration."""


def population(record: Publication) -> tuple[str, ...]:
    """MeSH's words for people and animals."""
    strains = {strain for strain in ("Mice", "Rats") for one in record.mesh_terms if one.startswith(f"{strain}, ")}
    headings = {*record.mesh_terms, *strains}
    return tuple(one for one in (*_PEOPLE_HEADINGS, *_ANIMALS) if one in headings)


def study_countries(record: Publication) -> tuple[str, ...]:
    """Countries among the MeSH headings that title or abstract name too, and those that the title names as the place
    ("in Ethiopia")."""
    text = f"{record.title}\n{record.text.content if record.text.kind == 'abstract' else ''}"
    named = {_SHORT_FORMS.get(one, one) for one in _SAYS["COUNTRY_NAMED"].findall(text)}
    headings = (one for one in record.mesh_terms if one in _COUNTRIES & named)
    in_title = (one["country"] for one in _SAYS["COUNTRY_IN_TITLE"].finditer(record.title))
    return tuple(dict.fromkeys((*headings, *(_SHORT_FORMS.get(one, one) for one in in_title))))


def trial_numbers(record: Publication) -> tuple[str, ...]:
    """Registration numbers of trials and reviews, without the registry's name where they tell it themselves: the
    record's own, and those that its abstract gives as such."""
    search = _SAYS["REGISTRATION"].search
    listed = (one for one in record.registrations if one.casefold().startswith(_REGISTRIES) or search(one))
    text = record.text.content if record.text.kind == "abstract" else ""
    near = (
        found[0]
        for found in _SAYS["REGISTRATION"].finditer(text)
        if _REGISTERED.search(text, max(0, found.start() - _NEAR), found.start())
        or _REGISTERED.search(text, found.end(), found.end() + 30)
    )
    numbers = ((search(one), one) for one in (record.nct, *listed, *near) if one)
    return tuple(dict.fromkeys(found[0].replace(" ", "") if found else one for found, one in numbers))


_LONGEST = 2_000
"""Characters of a sentence that is read."""
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9])|\n")
_IN_BRACKETS = re.compile(r" ?\([^()]{0,300}\)| ?\[[^\[\]]{0,300}\]")


def people_included(abstract: str, designs: Collection[str]) -> str:
    """The number of people in digits; "" if the abstract does not say it, or mentions any other number of people.

    Of a review it is the number in the studies that were included.
    """
    if NOT_STUDIES & {*designs} or ("review" in designs and len(designs) == 1):
        return ""
    sentences = [_IN_BRACKETS.sub("", one.casefold()) for one in _SENTENCE.split(abstract)]
    mentioned = {_value(found) for one in sentences for found in _SAYS["MENTIONED"].finditer(one)}
    is_review = bool(SECONDARY & {*designs})
    if len(mentioned) != 1 or not any(_says_included(one, is_review=is_review) for one in sentences):
        return ""
    return str(mentioned.pop())


def studies_included(abstract: str, designs: Collection[str]) -> str:
    """The number of studies that a systematic review included; "" as for `people_included`."""
    if not (SECONDARY - {"review"}) & {*designs}:
        return ""
    found = {_value(hit) for hit in _SAYS["STUDIES_INCLUDED"].finditer(_IN_BRACKETS.sub("", abstract.casefold()))}
    return str(found.pop()) if len(found) == 1 else ""


def _says_included(sentence: str, *, is_review: bool) -> bool:
    """Whether a sentence says whom a study included, and has no other number that could be meant."""
    if len(sentence) > _LONGEST or (is_review and not _SAYS["STUDIES"].search(sentence)):
        return False
    for found in _SAYS["INCLUDED"].finditer(sentence):
        start, end = found.span(str(found.lastgroup))
        rest = _SAYS["HARMLESS"].sub("", f"{sentence[:start]} {sentence[end:]}")
        rest = _SAYS["STUDIES_COUNTED"].sub("", rest) if is_review else rest
        if not re.fullmatch("(?:19|20)[0-9]{2}", sentence[start:end]) and not _SAYS["ANY_NUMBER"].search(rest):
            return True
    return False


def _value(found: re.Match[str]) -> int:
    """The number that a pattern found, its last group."""
    number = found[found.lastgroup or 0]
    if number[0].isdigit():
        return int(re.sub(r"[^0-9]", "", number))
    return sum(_WORDS.get(word, 0) + _TENS.get(word, 0) for word in re.split("[- ]", number))


_LINE = re.compile(r"^(Status|Phase|Design|Enrollment|Countries|Sponsor): (.{1,2000})$", re.MULTILINE)
_COUNT = re.compile(r"([0-9]{1,9})(?: \(estimated\))?", re.IGNORECASE)
_NOT_YET_WHOLE = ("not yet recruiting", "recruiting", "enrolling by invitation")
"""Statuses of trials whose number of people can only be planned, whether or not the registry says so."""
_SITES = re.compile(r" \([0-9,]+ sites?\)")


def registered_facts(record: Publication) -> Mapping[str, str]:
    """The lines by their labels, without the full stop; empty for anything but a registration.

    "Enrollment" says where it is known whether the number is "(actual)" or "(planned)", ClinicalTrials.gov's
    "estimated". Of "Design", "Design" has what precedes masking and purpose, and "Allocation" "randomized" or
    "non-randomized".
    """
    text = record.text
    if text.kind != "registration" or text.is_users:
        return {}
    facts = {label: said.removesuffix(".") for label, said in _LINE.findall(text.content)}
    parts = [part for part in facts.get("Design", "").split("; ") if part and ":" not in part]
    allocation = [part for part in parts if part.casefold() in ("randomized", "non-randomized", "non randomized")]
    countries, said = _SITES.sub("", facts.get("Countries", "")), facts.get("Enrollment", "")
    count, is_open = _COUNT.fullmatch(said), facts.get("Status", "").casefold() in _NOT_YET_WHOLE
    facts["Enrollment"] = f"{count[1]} (planned)" if count and (count[0] != count[1] or is_open) else said
    return facts | {"Design": "; ".join(parts), "Allocation": "".join(allocation[:1]), "Countries": countries}


_MAX_NAME = 40
_MAX_GRANTS = 5
_MAX_INTERESTS = 300


@dataclass(frozen=True)
class _Study:
    record: Publication

    @cached_property
    def facts(self) -> Mapping[str, str]:
        return registered_facts(self.record)

    @cached_property
    def designs(self) -> tuple[str, ...]:
        return () if self.facts else study_designs(self.record)

    @property
    def abstract(self) -> str:
        return self.record.text.content if self.record.text.kind == "abstract" else ""

    @property
    def name(self) -> str:
        """ "Berg et al. 2020", as tables of studies name one; without authors by its title."""
        authors = [one.family for one in self.record.authors[:2]]
        others = len(self.record.authors) > 2
        who = f"{authors[0]} et al." if others else " and ".join(authors) or clipped(self.record.title, _MAX_NAME)
        return f"{who} {self.year}".strip()

    @property
    def year(self) -> str:
        return "" if self.record.date == UNKNOWN_DATE else self.record.date[:4]

    @property
    def funding(self) -> str:
        grants = self.record.grants
        more = f"; and {len(grants) - _MAX_GRANTS} more" if len(grants) > _MAX_GRANTS else ""
        return self.facts.get("Sponsor", "") or "; ".join(grants[:_MAX_GRANTS]) + more


_READ: Mapping[str, Callable[[_Study], str]] = {
    "study": lambda one: one.name,
    "year": lambda one: one.year,
    "design": lambda one: one.facts.get("Design", "") or "; ".join(one.designs),
    "n": lambda one: one.facts.get("Enrollment", "") or people_included(one.abstract, one.designs),
    "studies_included": lambda one: studies_included(one.abstract, one.designs),
    "population": lambda one: "; ".join(population(one.record)),
    "country": lambda one: one.facts.get("Countries", "") or "; ".join(study_countries(one.record)),
    "phase": lambda one: one.facts.get("Phase", ""),
    "allocation": lambda one: one.facts.get("Allocation", ""),
    "trial_status": lambda one: one.facts.get("Status", ""),
    "registration": lambda one: "; ".join(trial_numbers(one.record)),
    "funding": lambda one: one.funding,
    "conflict_of_interest": lambda one: clipped(clean_line(one.record.conflict_of_interest), _MAX_INTERESTS),
    "full_text": lambda one: "yes" if has_whole_text(one.record) else "no",
    "status": lambda one: one.record.status,
    "decision": lambda one: one.record.screening,
    "reason": lambda one: one.record.screening_reason,
}
"""What a reference does not tell by itself."""
TABLE_FIELDS = tuple(
    """id study year title doi form design n studies_included population country phase allocation trial_status
    registration funding conflict_of_interest full_text status status_checked decision reason decisions tags""".split()
)
"""The columns, in this order unless others are asked for."""


TABLE_COLUMNS = tuple(dict.fromkeys((*TABLE_FIELDS, *LISTED_FIELDS)))
"""What a column may be; a name that both have means the study table's."""


def study_table(publications: Iterable[Publication], output: str, *, fields: Sequence[str] = ()) -> str:
    """A row for each of `publications` but the user's notes, as "csv" or "markdown", with the columns `fields`. The
    caller has applied `with_notes`.

    A cell is empty where the record does not say. Nothing is judged, and no number is a guess: `n` is empty if the
    abstract has several that could be meant. Designs are those that publication types, title, MeSH headings and
    abstract name; countries those of a registry, MeSH or the title.
    """
    columns = tuple(dict.fromkeys(fields)) or TABLE_FIELDS
    rows = (_row(one, columns) for one in references(one for one in publications if not one.is_note))
    if output == "csv":
        return csv_table(columns, rows)
    return markdown_table([one.replace("_", " ") for one in columns], ([cell(text) for text in row] for row in rows))


def _row(reference: Reference, fields: Sequence[str]) -> list[str]:
    """The title with the mark of a retracted publication, whichever table it is from."""
    study = _Study(reference.publication)
    return [_READ[name](study) if name in _READ else listed_value(reference, name) for name in fields]
