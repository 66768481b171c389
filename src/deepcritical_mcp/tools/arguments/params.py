"""Parameters that several tools share: their names and those of tools, as models write them, and how the id of a
document is read. And how large a value may be, from its schema: measured before anything else looks at it, which stops
as soon as something is too large, and costs no more than a glance at what is small enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import (
    RecordIds,
    arxiv_doi,
    normalize_doi,
    normalize_pmcid,
    normalize_pmid,
    normalize_trial,
    preprint_number,
    record_ids,
)
from deepcritical_mcp.models import (
    ANCHOR,
    MAX_VARIANTS,
    QUERY_LIMIT,
    URL_LIMIT,
    Publication,
    PublicationStatus,
    publication_id,
    query_problem,
    split_text_id,
)
from deepcritical_mcp.models.screening import MARKS
from deepcritical_mcp.search.documents import DocumentId
from deepcritical_mcp.text import clean_line, counted
from deepcritical_mcp.urls import clean_url, is_web_address

Schema = Mapping[str, Any]

MAX_CALL_LENGTH = 1_000_000
"""Characters of one call's arguments together."""
MAX_WORD = 200
"""Characters of an argument's name, and of what is written for a number, a switch or a word from a list."""
MAX_UNNAMED = 10_000
"""Characters of an argument that the tool does not have, if none of its own may be longer."""
MAX_ITEMS = 10_000
MAX_LIST_TEXT = 100_000
"""Characters of a text in place of a list of texts."""
ITEM_LENGTH = 20
"""Characters that an item of a list, or a field, counts in addition."""
MAX_DEPTH = 10
"""Lists and objects within each other."""
MAX_EXTRA_FIELDS, MAX_ARGUMENTS = 20, 1_000
"""Unknown names of one call or object that are looked up, since more are no mistake; and of a call that are read."""


def at_most(characters: int, *, else_told: str = "") -> Any:
    """The field of a text with that limit, which is checked here only: pydantic would also refuse half a character."""
    return Field(json_schema_extra={"maxLength": characters, **({"ifTooLong": else_told} if else_told else {})})


def check_sizes(arguments: Mapping[str, object], schema: Schema) -> None:
    """Check the names and values of a call by the tool's schema.

    Raises:
        InvalidInputError: one of them is too long, holds too many items, or is nested too deeply; or all together are
            too long. The message repeats no value.
    """
    known: Mapping[str, Schema] = schema["properties"]
    unknown = {"maxLength": max(MAX_UNNAMED, *map(_most, known.values()))}
    _check_names("", arguments, MAX_ARGUMENTS)
    for name, value in arguments.items():
        _check_length(name, value, known.get(name, unknown))
    _check_length("", arguments, {"type": "object"})
    for name in arguments.keys() & known.keys():
        check_size(arguments[name], known[name], name)


def check_size(value: object, schema: Schema, name: str = "") -> None:
    """Check one value and what it holds; InvalidInputError as for `check_sizes`."""
    kind = schema.get("type")
    if kind == "array" and isinstance(value, list):
        items = cast("Sequence[object]", value)
        if len(items) > (most := schema.get("maxItems", MAX_ITEMS)):
            raise InvalidInputError(f"{_shown(name)}: at most {counted(most, 'item')}, got {len(items):,}.")
        most = _most(schema["items"])
        for place, item in enumerate(items):
            if not (isinstance(item, str) and len(item) <= most):
                check_size(item, schema["items"], f"{name}[{place}]")
        return
    if kind == "object" and isinstance(value, Mapping):
        fields, known = cast("Mapping[str, object]", value), schema["properties"]
        _check_names(name, fields, len(known) + MAX_EXTRA_FIELDS)
        for field, one in fields.items():
            check_size(one, known.get(field, {"maxLength": MAX_UNNAMED}), f"{name}.{field}")
        return
    _check_length(name, value, schema)


def size_of(value: object, most: int, depth: int = MAX_DEPTH) -> int:
    """The characters of a value and of all it holds, each item as some more; above `most` any larger number."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return 1 + value.bit_length() // 3
    if not isinstance(value, Mapping | list):
        return 1
    if not depth:
        return most + 1
    parts = cast("Sequence[object]", value)
    size = len(parts) * ITEM_LENGTH
    if size <= most and isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        size, parts = size + sum(map(len, fields)), [*fields.values()]
    for part in parts:
        if size > most:
            break
        size += size_of(part, most - size, depth - 1)
    return size


def _most(schema: Schema) -> int:
    """The most characters that a value may have, also where it is written as a text."""
    match schema.get("type"):
        case "array":
            return min(schema.get("maxItems", MAX_ITEMS) * (_most(schema["items"]) + ITEM_LENGTH), MAX_CALL_LENGTH)
        case "object":
            return MAX_CALL_LENGTH
        case _:
            is_text = schema.get("type") == "string" and "enum" not in schema
            return schema.get("maxLength", MAX_UNNAMED if is_text else MAX_WORD)


def _check_names(name: str, fields: Mapping[str, object], most: int) -> None:
    if len(fields) > most:
        raise InvalidInputError(f"{_shown(name)}: at most {counted(most, 'field')}, got {len(fields):,}.")
    if (longest := max(map(len, fields), default=0)) > MAX_WORD:
        raise InvalidInputError(f"{_shown(name)}: a name has {longest:,} characters; the limit is {MAX_WORD}.")


def _check_length(name: str, value: object, schema: Schema) -> None:
    """Check the length of a text, or of all that a list or an object holds."""
    most = _most(schema)
    if isinstance(value, str) and schema.get("type") == "array" and schema["items"].get("type") != "object":
        most = min(most, MAX_LIST_TEXT)
    if (length := size_of(value, most)) > most:
        got = f"got {length:,}" if isinstance(value, str) else f"in at most {MAX_DEPTH} levels"
        told = f"{_shown(name)}: at most {most:,} characters, {got}; nothing was done."
        raise InvalidInputError(" ".join(filter(None, (told, schema.get("ifTooLong")))))


def _shown(name: str) -> str:
    return clean_line(name) or "The call"


_ROWS, _SENTENCES = data_table(__file__, "synonyms.txt"), data_table(__file__, "sentences.txt")


def sentences(kind: str, rows: Mapping[str, str] = _SENTENCES) -> dict[str, str]:
    """The rows of one kind in `sentences.txt`."""
    return {key.removeprefix(f"{kind} "): text for key, text in rows.items() if key.startswith(f"{kind} ")}


synonyms = partial(sentences, rows=_ROWS)
"""The rows of one kind in `synonyms.txt`."""


_PARTS = {name: f"(?:{pattern})" for name, pattern in synonyms("part").items()}
INSTRUCTION = synonyms("request")["instruction"].format_map(_PARTS)
_ALIASES, _SWITCHES, _ADDED, _TOOLS = (
    {name: pattern.format_map(_PARTS) for name, pattern in synonyms(kind).items()}
    for kind in ("argument", "switch", "added", "tool")
)
_TOOL_ADVICE = synonyms("advice")
_KINDS = synonyms("kind")
_POLARITY = frozenset(_KINDS["polarity"].split())
TYPO, SIMILAR = 0.87, 0.75
"""How alike two names are, if one is the other with a typing error, and if it may stand for the other."""


def alias(name: str, known: Collection[str]) -> str:
    """The known name that is another name for the same; "" if there is none."""
    plain = plain_name(name) if name.isascii() else ""
    same = (one for one in known if plain_name(one) == plain)
    return next(same, "") or next((one for one, it in _ALIASES.items() if one in known and re.fullmatch(it, plain)), "")


def argument_named(name: str, known: Collection[str], likeness: float = TYPO) -> str:
    """The known name that `name` stands for: another name for it, or one so much alike; "" if there is none."""
    return alias(name, known) or (_alike(name, known, likeness) if name.isascii() or likeness < TYPO else "")


def switch(name: str, known: Collection[str]) -> tuple[str, object] | None:
    """The argument that the switch `name` sets, and its value when the switch is on."""
    found = next((target for target, it in _SWITCHES.items() if re.fullmatch(it, plain_name(name))), "")
    own, _, on = found.partition("=")
    return (own, False if on == "false" else on) if own in known else None


def instead(name: str, tool: str, known: Collection[str]) -> str:
    """The end of a sentence about an argument that `tool` lacks: what to pass instead; "." if that is not certain."""
    if tool == "check_citations" and is_of_kind(name, "file"):
        return ": read the file and pass what it contains as text."
    if near := argument_named(name, known, SIMILAR):
        return f': did you mean "{near}"?'
    if tool != "pubmed_search":
        return "."
    added = next(text for text, it in _ADDED.items() if re.fullmatch(it, plain_name(name)))
    return f'. Other filters are part of the query, e.g. query="(…) {added}".'


def is_of_kind(name: str, kind: str) -> bool:
    """Whether a name is one of those for which `synonyms.txt` has a pattern of this kind."""
    return re.fullmatch(_KINDS[kind], plain_name(name)) is not None


def is_ignorable(name: str, value: object) -> bool:
    """Whether an argument cannot change what a call means."""
    is_pubmed = str(value).lower() in ("pubmed", "medline")
    return is_of_kind(name, "ignored") or (is_pubmed and plain_name(name) in ("db", "database"))


def tool_hint(name: str, tools: Collection[str]) -> str:
    """What to call instead of the unknown tool `name`. `clear_session` only for a name that says "delete"."""
    own = re.split(r"__|[./:]", name[:200])[-1]
    plain = plain_name(own)
    if advice := next((text for pattern, text in _TOOL_ADVICE.items() if re.fullmatch(pattern, plain)), ""):
        return advice
    deletes = not _words(own).isdisjoint(("clear", "delete", "remove"))
    offered = [tool for tool in tools if deletes or tool != "clear_session"]
    near = next((tool for tool in offered if plain.endswith(plain_name(tool))), "")
    near = near or next((tool for tool, it in _TOOLS.items() if tool in offered and re.fullmatch(it, plain)), "")
    near = near or _alike(own, offered, SIMILAR)
    return f"Did you mean {near}?" if near else f"There are {', '.join(tools)}."


def plain_name(name: str) -> str:
    """A name without case and punctuation; "" if it is too long to be one."""
    return "".join(filter(str.isalnum, name.casefold())) if len(name) <= 80 else ""


def _alike(name: str, known: Collection[str], cutoff: float) -> str:
    polarity = _POLARITY & _words(name)
    same = {plain_name(one): one for one in known if polarity == _POLARITY & _words(one)}
    long = [word for word in same if len(word) > len("sort")]  # which is not "short"
    close = get_close_matches(plain_name(name[:80]), long, n=1, cutoff=cutoff)
    return same[close[0]] if close else ""


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name[:200])}


_LINK = re.compile(r"\[([^\[\]]*)\]\((\S*)\)")
_AROUND = "\"'`*<>.,; #“”„‘’«»＂"
_OWN_URI = re.compile(r"\Aevidence://[^/]*/")
_PLACE = re.compile(rf"(?P<id>.*[^/])@(?P<place>{ANCHOR}|[0-9]{{1,9}}-[0-9]{{0,9}})", re.DOTALL | re.IGNORECASE)
_FIELDS = {"pubmed": "pmid", "pmc": "pmcid", "doi": "doi", "nct": "nct"}
_ONLY_DOI = re.compile(r"(?:doi ?:? ?)?10\.\S{1,300}", re.IGNORECASE)
_MARK_WORDS = {word: names.split("|") for word, names in synonyms("mark").items()}
_NEXT_ID = r"(?=[\"']?(?:\d{5,9}\b|pubmed|pmid|doi|nct|url|text|https?:|10\.\d{4}))"
_ID_SEPARATOR = re.compile(rf" ?[,;|] | ?[,;|]{_NEXT_ID}| (?:and )?{_NEXT_ID}", re.IGNORECASE)
_ID_LABEL = re.compile(
    r"(?<![^\s,;|\"'(\[])(?:(pmid|pubmed|doi)(?: ?[:=] ?| (?=\d))|(?:evidence )?ids? ?[:=] ?)", re.IGNORECASE
)
_LEAST_DIGITS = 5
"""Of a number without a label that can only be a PMID where a note could stand."""
_NEGATION = re.compile(r"(?:not|no|non|without) |[!-] ?")
_PUBMED_LABEL = re.compile(r"\A(?:pubmed|pmid) ?[/_=#] ?(?=[0-9])", re.IGNORECASE)


def _query(value: str) -> str:
    query = clean_line(value)
    if problem := query_problem(query):
        raise ValueError(problem)
    return query


def _variants(values: list[str]) -> list[str]:
    return [_query(value) for value in values if clean_line(value)]


def unwrapped(text: str) -> str:
    """An id without the quotes, code marks, brackets and punctuation around it."""
    id = clean_line(text).strip(_AROUND)
    return id.strip(f"{_AROUND}[](){{}}［］（）") if id.startswith(("[", "(", "{", "［", "（")) else id


def split_place(given: str) -> tuple[str, str]:
    """The id in "pubmed:1~2@s3.2" or "pubmed:1@400-900", and the anchor or the characters; "" for no place."""
    match = _PLACE.fullmatch(given.strip().strip("\"'`"))
    return (match["id"], match["place"].lower()) if match else (given, "")


def evidence_id(given: str) -> str:
    """An evidence id in the session's spelling, from a PMID, PMCID, DOI, trial number or URL, in whatever it is
    wrapped."""
    id = clean_line(given).strip(_AROUND)
    if link := _LINK.fullmatch(id):
        id = link[1] if ":" in evidence_id(link[1]) else link[2]
    id = _PUBMED_LABEL.sub("pubmed:", _OWN_URI.sub("", unwrapped(id)))
    if is_web_address(id):
        ids = record_ids(id)
        page = Publication.of("page", id, provider="", source="web", title=id, url=id, pmid=ids.pmid, doi=ids.doi)
        return publication_id(page.but(nct=ids.nct))
    if pmid := normalize_pmid(id):
        return f"pubmed:{pmid}"
    if trial := normalize_trial(id):
        return f"nct:{trial}"
    own = split_text_id(id)[0]
    if pmcid := normalize_pmcid(own):
        return f"pmc:{pmcid}{id.removeprefix(own)}"
    doi = arxiv_doi(id) or normalize_doi(id)
    return f"doi:{doi}" if doi.startswith("10.") else id


MAX_LIST_LENGTH = 10_000
"""Characters of a text that is read as a list."""
MAX_IDS_READ = 50
"""Ids that one call of `get_evidence` takes."""


def identifier_field(text: str) -> tuple[str, str]:
    """The field of an item that a text belongs in which is only an identifier or an address, and its value there;
    ("", "") for any other text."""
    bare = unwrapped(text)
    if is_web_address(bare):
        known = {name: value for name, value in record_ids(bare)._asdict().items() if value}
        return next(iter(known.items()), ("url", bare)) if len(bare.split()) == 1 else ("", "")
    kind, _, value = evidence_id(bare).partition(":")
    if kind == "doi" and not (_ONLY_DOI.fullmatch(bare) or arxiv_doi(bare)):
        return "", ""
    return (_FIELDS[kind], value) if value and kind in _FIELDS else ("", "")


def id_parts(text: str) -> list[str]:
    """The ids in `text`, each with its label."""
    line = clean_line(text.replace("\n", ", ")) if len(text) <= MAX_LIST_LENGTH else text
    labeled = _ID_LABEL.sub(lambda label: f"{label[1]}:" if label[1] else "", line)
    return [*filter(None, _ID_SEPARATOR.split(labeled))]


def identified_items(value: object) -> list[object]:
    """The items whose records a text, or the only text of an item, names by identifiers and nothing else; [] for any
    other. Short numbers without a label may be anything."""
    if type(value) is int:
        return [{"pmid": str(value)}]
    given = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    text = given["content"] if [*given] == ["content"] else cast("object", value)
    if not isinstance(text, str) or len(text) > MAX_LIST_LENGTH:
        return []
    parts = id_parts(text)
    found = [identifier_field(part) for part in parts]
    if not parts or not all(kind for kind, _ in found) or (given and len(parts) == 1):
        return []
    if all(part.isdecimal() and len(part) < _LEAST_DIGITS for part in parts):
        return []
    return [{kind: number} for kind, number in found]


def _marked(value: str) -> str:
    """A mark as `matches_mark` reads it, from other words for a decision; anything else is a tag."""
    mark = clean_line(value)
    word = mark.casefold()
    own = {name: "" if one == "any" else one for one, names in _MARK_WORDS.items() for name in (one, *names)}
    if word in own:
        return own[word]
    if (before := _NEGATION.match(word)) and word[before.end() :] in own:
        raise ValueError(
            f'"{mark[:40]}" leaves something out, which marked cannot: pass one of {", ".join(MARKS)}, or a tag'
        )
    return mark


def is_findable(tag: str) -> bool:
    """Whether `marked` reads it as a tag, and not as a decision."""
    try:
        return _marked(tag) == tag and tag.casefold() not in MARKS
    except ValueError:
        return False


Word = Annotated[str, at_most(MAX_WORD)]
"""A name, a date, a word to filter by."""
GivenId = Annotated[str, at_most(URL_LIMIT)]
"""An id, in whatever it is wrapped, or several in one text."""
OneLine = Annotated[str, AfterValidator(clean_line), at_most(QUERY_LIMIT)]
Query = Annotated[str, AfterValidator(_query), at_most(QUERY_LIMIT)]
MoreVariants = Annotated[
    list[Annotated[str, at_most(QUERY_LIMIT)]], AfterValidator(_variants), Field(max_length=MAX_VARIANTS)
]
"""`Variants` without a description, for tools next to one that has it."""
StatusFilter = Literal["any", PublicationStatus]
Marked = Annotated[Word, AfterValidator(_marked)]
"""A decision or a tag to filter by, see `matches_mark`."""
Variants = Annotated[MoreVariants, Field(description="rephrasings, searched too")]
Offset = Annotated[int, Field(ge=0)]
Characters = Annotated[int, Field(ge=300, le=20_000)]
OtherSession = Annotated[Word, AfterValidator(clean_line)]
"""`DescribedSession` without its description, which models see once."""
DescribedSession = Annotated[
    OtherSession, Field(description='"" = current; "new: title" opens one; a title or id finds one')
]


_LINKED = re.compile(r"\[[^\[\]]*\]\((https?://\S*)\)")
_EVIDENCE = re.compile(r"(?:pubmed|doi|nct|url|text):\S+", re.IGNORECASE)
_SHOWN = 80


def read_document_id(given: str) -> tuple[DocumentId, str]:
    """The document, and the anchor of a section if the id has one ("pubmed:1@s3").

    Raises:
        InvalidInputError: it is not an id, or it is several; the message says what to call instead.
    """
    link = _LINKED.fullmatch(clean_line(given))
    text = unwrapped(link[1] if link else given)
    text, place = (text, "") if is_web_address(text) else split_place(text)
    section = place if place[:1].isalpha() else ""
    document = _read(text)
    if document:
        return document, section
    if not text:
        raise InvalidInputError("id: pass a PMID, PMCID, DOI, NCT number, address or evidence id.")
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    raise InvalidInputError(
        f"id {json.dumps(shown, ensure_ascii=False)} is not a PMID, PMCID, DOI, NCT number, address or "
        "evidence id. To find a paper by its title: pubmed_search query="
        f"{json.dumps(shown, ensure_ascii=False)}."
    )


def _read(text: str) -> DocumentId | None:
    if is_web_address(text):
        return DocumentId(text, evidence_id(text), record_ids(text), clean_url(text))
    if pmcid := normalize_pmcid(text):
        return DocumentId(text, "", RecordIds(pmcid=pmcid))
    if preprint := preprint_number(text):
        url = f"https://europepmc.org/article/PPR/{preprint}"
        return DocumentId(text, evidence_id(url), url=url)
    own, number = split_text_id(text)
    id = evidence_id(own if number > 1 or text.endswith("~1") else text)
    if " " in id or not _EVIDENCE.fullmatch(id):
        return None
    kind, _, value = id.partition(":")
    names = {"pubmed": "pmid", "doi": "doi", "nct": "nct"}
    ids = RecordIds(**{names[kind.lower()]: value}) if kind.lower() in names else RecordIds()
    return DocumentId(text, id, ids)
