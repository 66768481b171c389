"""Values of arguments as models write them, queries too: what can mean one thing only is read as that."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import cast

from deepcritical_mcp import dates
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import SESSION_ID, record_ids
from deepcritical_mcp.models import QUERY_LIMIT
from deepcritical_mcp.search.expansion.pubmed_syntax import is_field_tag
from deepcritical_mcp.sources.pubmed.request import near_publication_types, understood_publication_types
from deepcritical_mcp.text import clean_line, counted
from deepcritical_mcp.tools.arguments.params import (
    INSTRUCTION,
    MAX_LIST_LENGTH,
    Schema,
    alias,
    check_size,
    evidence_id,
    id_parts,
    identified_items,
    identifier_field,
    plain_name,
    synonyms,
    unwrapped,
)
from deepcritical_mcp.urls import is_web_address

_WORDS = {kind: frozenset(words.split("|")) for kind, words in synonyms("words").items()}
_OTHER_WORDS = {word: names.split("|") for word, names in synonyms("value").items()}
_REFUSED = synonyms("refused")
ONE_STATUS = (
    'status keeps one status and cannot leave one out: pass status="ok" for records that were checked and have no mark '
    "(this leaves out web pages and most notes), or no status, and heed the marks."
)
_DECIDING = ("decision", "reason", "tags", "same_as")
"""Fields of an item that say something about evidence that is kept under its id."""
_BARE = ("integer", "number", "boolean")
_QUOTES = " \"'`“”„‘’«»"
_WITHIN_TITLE = re.compile('["“”„«»]')
_NEW_TITLE = re.compile(rf"[{_QUOTES}]{{0,9}}new(?: session)? ?[:=]", re.IGNORECASE)
_TITLE_LABEL = re.compile(rf"\A[{_QUOTES}]{{0,9}}(?:session(?:[ _]?(?:id|title))?|title) ?[:=] ?", re.IGNORECASE)
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_NEGATED = re.compile(r"\s*(?:[-!~^≠¬]|<>|(?:not?|non|none|without|exclud(?:e|ing)|except|omit)\b)\s*", re.IGNORECASE)
_ENUM_SEPARATOR = re.compile(r"[|;]|/(?!(?<=\bn/)a\b)|,(?! ?not (?!yet)) ?| (?:or|and) ", re.IGNORECASE)
"""Between words of an enum in one text; not within "active, not recruiting" and "n/a"."""
_NAMES_BETWEEN = {
    "tags": re.compile("[,;|\n]"),
    **dict.fromkeys(("fields", "servers"), re.compile("[,;|\n]| and | or ", re.IGNORECASE)),
    **dict.fromkeys(("include_domains", "exclude_domains"), re.compile(r"[,;|\s]+(?:and\s|or\s)?", re.IGNORECASE)),
}
"""What stands between the names of a list in one text, where no name has it in itself."""


def coerced(value: object, schema: Schema) -> object:
    """`value` converted to what `schema` requires, where the intention is unambiguous.

    Converts an integer to its digits, a single item to a list, a JSON string to its value (also the only item of a
    list, if it is a list) and the case of an enum word, and drops nulls inside objects. Anything else is returned
    unchanged, for validation to refuse.
    """
    kind, item, given = schema.get("type"), schema.get("items", {}), value
    if kind in ("array", "object"):
        value = _parsed(value, "[{" if kind == "array" and item.get("type") == "object" else "[" if item else "{")
    if kind == "object" and isinstance(value, dict):
        fields, kinds = cast("dict[str, object]", value), schema["properties"]
        if kinds and value is not given:
            check_size(fields, schema)
        return {name: coerced(field, kinds.get(name, {})) for name, field in fields.items() if field is not None}
    if kind == "array":
        is_one = isinstance(value, str | int | float if item.get("type") == "string" else dict | int)
        if value == "" or (is_one and not isinstance(value, bool)):
            value = cast("list[object]", [value] if value else [])
        if not isinstance(value, list):
            return value
        items = cast("list[object]", value)
        within = _parsed(items[0], "[") if len(items) == 1 else None
        items = cast("list[object]", within) if isinstance(within, list) else items
        if items is not given and not (isinstance(given, str) and items == [given]):
            check_size(items, schema)
        return [coerced(one, item) for one in items]
    if isinstance(value, bool) and "enum" in schema:
        return str(value).lower()
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if float(value).is_integer() else str(value)
    if kind == "string" and isinstance(value, str):
        return next((word for word in schema.get("enum", ()) if word == value.strip().lower()), value)
    return value


def is_nothing(value: object, schema: Schema | None = None) -> bool:
    """Whether a value for an optional argument means that it is not given; not if it is a word of its own ("n/a"), or
    if there could be such a text ("any")."""
    kind = schema or {}
    words = kind.get("enum") or kind.get("items", {}).get("enum", ())
    if isinstance(value, str) and value.strip():
        text = value.strip().casefold()
        is_word = text in _WORDS["nothing"] or (text in _WORDS["no wish"] and (words or kind.get("type") in _BARE))
        return bool(is_word) and text.replace("/", "") not in words
    return value is None or value in ([], {}) or isinstance(value, str)


def is_url(text: str) -> bool:
    """Whether a text is a web address and nothing else."""
    return _URL.fullmatch(text.strip()) is not None and is_web_address(text)


def understood(name: str, value: object, schema: Schema) -> object:
    """What `value` means as the argument `name`; `coerced`, if it is valid already or means nothing known.

    Raises:
        InvalidInputError: it can mean several things; the message spells them out.
    """
    kind, plain = schema.get("type"), coerced(value, schema)
    items = cast("list[object]", plain) if isinstance(plain, list) else []
    if kind == "array" and (items or isinstance(plain, str)):
        if isinstance(value, str) and (not items or items == [value]):
            items = _split(name, value)
        found: list[object] = []
        for item in items:
            found += _items(name, item, schema["items"])
            if len(found) > schema.get("maxItems", len(found)):
                raise InvalidInputError(f"{name}: at most {counted(schema['maxItems'], 'item')}, got more.")
        if name == "ids" and not found and schema.get("minItems"):
            raise InvalidInputError("ids: name the items to read. list_evidence lists the ids of all in the session.")
        return found
    if name == "text" and isinstance(plain, list | dict):  # paragraphs, references, or objects such as CSL-JSON
        is_text = items and all(isinstance(one, str) for one in items)
        return "\n\n".join(map(str, items)) if is_text else json.dumps(items or [plain], ensure_ascii=False)
    if items and (name == "pmid" or len(items) == 1):
        plain = coerced(", ".join(map(str, items)) if name == "pmid" else items[0], schema)
    if kind in ("integer", "number"):
        return _number(name, cast("object", plain), schema)
    if not isinstance(plain, str):
        return cast("object", plain)
    if kind == "boolean":
        return plain.strip().lower()
    if words := schema.get("enum"):
        return _word(name, plain, words)
    return _READERS[name](name, plain) if name in _READERS else plain


def _number(name: str, value: object, schema: Schema) -> object:
    low, high, is_whole = schema.get("minimum", -math.inf), schema.get("maximum", math.inf), schema["type"] == "integer"
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value[:40])
    if name == "offset" and value == -1:
        raise InvalidInputError(
            "offset=-1: a page without next_offset is the last one, nothing follows it. offset=0 begins again."
        )
    if isinstance(value, bool):
        return str(value).lower()  # not pydantic's 1 or 0
    if not isinstance(value, int | float) or not math.isfinite(value):
        return value
    if high == 1 < value and not is_whole:
        raise InvalidInputError(f"{name}: from 0 to 1, got {value:g}. Pass for example {name}=0.5.")
    return min(max(int(value) if is_whole and value == int(value) else value, low), high)


def _word(name: str, value: str, words: Sequence[str]) -> str:
    """One of `words`, from another spelling or another name for it."""
    known = {_key(other): one for one in words for other in _OTHER_WORDS.get(one, ())}
    known |= {_key(one): one for one in words}
    negated = _NEGATED.match(value)
    if not negated or name == "sort" or (value[0].isalpha() and _key(value) in known) or _key(negated[0]) in known:
        found = known.get(_key(value), value)
        if found not in words and name in _REFUSED:
            raise InvalidInputError(f'{name} has no "{clean_line(value)[:40]}". {_REFUSED[name]} {", ".join(words)}.')
        return found
    told = f'{name} cannot express "not": pass one of {", ".join(words)}.'
    raise InvalidInputError(ONE_STATUS if name == "status" and "retracted" in words else told)


def _key(text: str) -> str:
    """What is compared of a word of an enum: neither case, punctuation, plural nor fillers."""
    parts = re.findall(r"[^\W_]+", text[:80].casefold())
    return "".join([part for part in parts if part not in _WORDS["filler"]] or parts).removesuffix("s")


def _items(name: str, value: object, schema: Schema) -> list[object]:
    """The items that one item of a list stands for: several, if it contains several."""
    if schema.get("type") == "object":
        return identified_items(value) or [_object(value, schema)]
    if isinstance(value, dict) and name == "ids":
        value = cast("dict[str, object]", value).get("id", cast("object", value))
    if not isinstance(value, str):
        return [value]
    if name == "publication_types":
        if negated := _NEGATED.match(value):
            meant = near_publication_types(value[negated.end() :], limit=1) or [value[negated.end() :].strip()]
            query = f'query="(…) NOT {meant[0]}[pt]"'
            raise InvalidInputError(f"publication_types are what to find. To leave a type out pass {query}.")
        return [*understood_publication_types(value)]
    if words := schema.get("enum"):
        return [_word(name, one, words) for one in _ENUM_SEPARATOR.split(value) if one.strip()]
    if name == "ids":
        return [] if value.strip("\"'[]() ").casefold() in ("*", "all") else [*map(evidence_id, id_parts(value))]
    if name in _NAMES_BETWEEN:
        return [bare for one in _NAMES_BETWEEN[name].split(value) if (bare := one.strip(' "“”'))]
    return [_READERS[name](name, value) if name in _READERS else value]


def _object(value: object, schema: Schema) -> object:
    """An object with its fields under our names; a text alone is its content, an address alone its address."""
    if isinstance(value, str):
        if is_url(value) and "url" in schema["properties"]:
            return {"url": value.strip()}
        return {"content": value} if value.strip() else value
    if not isinstance(value, dict):
        return value
    fields, kinds = cast("dict[str, object]", value), schema["properties"]
    ours: dict[str, object] = {}
    decides = any((name if name in kinds else alias(name, _DECIDING) or name) in _DECIDING for name in fields)
    for name, field in fields.items():
        own = name if name in kinds else alias(name, kinds.keys() - fields.keys())
        if decides and own == "pmid" and "pm" not in plain_name(name) and "id" not in fields:
            own = "id"  # for example evidence_id
        elif own == "id" and not decides and (found := identifier_field(str(field)))[0]:
            own, field = found
        own, field = _by_kind(own, field, kinds.keys() - fields.keys() - ours.keys(), is_named=name == own)
        if not own or own in ours:
            ours[name] = field
        elif own == "content" or not is_nothing(field, kinds[own]):
            ours[own] = understood(own, field, kinds[own])
    return ours


def _by_kind(own: str, value: object, free: Collection[str], *, is_named: bool) -> tuple[str, object]:
    """The field that an identifier or an address belongs in, one of `free` unless it is its own, and its value.

    Only an address is moved out of a field that the caller named as we do.
    """
    text = value.strip() if isinstance(value, str) else ""
    if own not in ("pmid", "pmcid", "doi", "nct", "url") or not text or text.isdecimal():
        return own, value
    kind, found = identifier_field(text)
    is_elsewhere = kind in free and own != "url" and (is_url(text) or not is_named)
    return (kind, found) if is_elsewhere or (kind == own != "url" and is_url(text)) else (own, value)


def _split(name: str, text: str) -> list[object]:
    """The variants in a single text: in lines, with semicolons or commas."""
    if name != "variants" or len(text) > MAX_LIST_LENGTH:
        return [text] if text.strip() else []
    lines = text.strip().splitlines()
    if len(lines) == 1 and not re.search(r'["(\[]', text):
        lines = text.split(";" if ";" in text else ", ")
    return [line.strip() for line in lines if line.strip()]


def _variant(_: str, value: str) -> str:
    if value.strip().isdecimal() and len(value.strip()) < len("100"):
        count = f"expand_queries count={value.strip()}"
        raise InvalidInputError(f"variants are rephrasings of the query, not their number: {count} proposes some.")
    return search_terms(value)


def _date(name: str, value: str) -> str:
    if name == "max_date" and dates.is_now(value):
        return ""
    found = dates.readings(value)
    if len(found) > 1:
        either = " or ".join(f'{name}="{one}"' for one in found)
        raise InvalidInputError(f'{name} "{clean_line(value)[:40]}" can mean two days: pass {either}.')
    return found[0] if found else value


def _session(_: str, value: str) -> str:
    if opening := _NEW_TITLE.match(value):
        return f"new: {_title(value[opening.end() :])}"
    if found := SESSION_ID.search(value):
        return found[0]
    title = _title(value)
    key = (plain_name(value) or title).replace("session", "").removeprefix("this")
    return "new" if key in _WORDS["new session"] else "" if key in _WORDS["current session"] else title


def _title(value: str) -> str:
    """A title without a label and the quotes around it; if there are quotes within it, all stay."""
    line = _TITLE_LABEL.sub("", clean_line(value))
    bare = line.strip(_QUOTES)
    return line if _WITHIN_TITLE.search(bare) else bare


def _pmid(_: str, value: str) -> str:
    found = [evidence_id(one).removeprefix("pubmed:") for one in id_parts(value)]
    return found[0] if len(found) == 1 and found[0].isdecimal() else value


_READERS: Mapping[str, Callable[[str, str], str]] = {
    **dict.fromkeys(("min_date", "max_date"), _date),
    **dict.fromkeys(("query", "topic"), lambda _, value: search_terms(value)),
    "variants": _variant,
    "session_id": _session,
    "pmid": _pmid,
    "doi": lambda _, value: unwrapped(value),
}


def _parsed(value: object, opening: str) -> object:
    """`value`, parsed if it is JSON, or a literal of Python, that starts with one of `opening`."""
    if not isinstance(value, str) or value.lstrip()[:1] not in tuple(opening):
        return value
    with suppress(ValueError, RecursionError):
        return json.loads(value)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return ast.literal_eval(value.strip()) if len(value) <= MAX_LIST_LENGTH else value
    return value


_STRAIGHT = str.maketrans(dict.fromkeys("“”„‟«»＂", '"') | dict.fromkeys("‘’", "'"))
_LABEL = re.compile(r"\A(?:pubmed )?(?:query|search(?: query| term)?|topic)\s*[:=]\s*", re.IGNORECASE)
_QUOTED_CODE = re.compile(r"(?<![\w`])`{1,3}([^`]{1,1000})`{1,3}(?![\w`])")
_INSTRUCTION = re.compile(rf"\A{INSTRUCTION} ", re.IGNORECASE)
_UNCLEAR = re.compile(r"\A(?:please|google|(?:search|find|show|look)(?: me| up| for)?) ", re.IGNORECASE)
_THANKS = re.compile(r",? (?:please|thanks|thank you)[.!]?\Z", re.IGNORECASE)
_PMID = re.compile(r"\b(?:pubmed\s?[:=]\s?|pmid\s?[:=#]?\s?)0{0,9}([1-9][0-9]{0,8})\b(?!\s?\[)", re.IGNORECASE)
_ONE_PMID = r"(?:(?:pubmed|pmids?)(?: ?[:=#])? ?[\[(]?0{0,9}[1-9][0-9]{0,8}|[1-9][0-9]{4,8})[\])]?"
_ONLY_PMIDS = re.compile(rf"[(\[]?(?:{_ONE_PMID}(?:[\s,;]+(?:(?:and|or)\s+)?|\Z))+", re.IGNORECASE)
_LOWER_OR = re.compile(r"\S or \S")
_TAG = re.compile(r"\[([^\[\]]{1,80})\]")


def search_terms(text: str) -> str:
    """`text` without what surrounds a query: code spans, a label, an instruction; with straight quotes, on one line."""
    if len(text) > QUERY_LIMIT:
        return text
    line = _QUOTED_CODE.sub(r"\1", clean_line(text.translate(_STRAIGHT))).strip()
    return _INSTRUCTION.sub("", _THANKS.sub("", _LABEL.sub("", line))).strip() or line


def pubmed_terms(text: str) -> str:
    """`text` with PubMed's notation for ids, addresses of records and operators of other languages.

    PubMed finds a record by its bare PMID or DOI, if the query is nothing else.
    """
    if is_web_address(text.strip()) and " " not in text.strip():
        ids = record_ids(text.strip())
        return ids.pmid or ids.doi or text
    if _ONLY_PMIDS.fullmatch(text):
        numbers = dict.fromkeys(re.findall("[1-9][0-9]*", text))
        return " OR ".join(f"{one}[pmid]" for one in numbers) if len(numbers) > 1 else next(iter(numbers))
    return _PMID.sub(r"\1[pmid]", text).replace(" && ", " AND ").replace(" || ", " OR ")


def syntax_notes(query: str) -> Iterator[str]:
    """What PubMed will not read as it was probably meant; the query is sent as it is."""
    if words := _UNCLEAR.match(query):
        yield f'PubMed also searches for the words "{words[0].strip()}": pass search terms only.'
    if query.count("(") != query.count(")"):
        yield "The query's brackets are not balanced: PubMed may group its terms in another way."
    if query.count("[") != query.count("]"):
        yield "A [ in the query is not closed: PubMed may search for the field's name as a word."
    if query.count('"') % 2:
        yield "A quotation mark in the query is not closed: PubMed will not search for a phrase."
    for tag in dict.fromkeys(_TAG.findall(query)):
        if not is_field_tag(tag) and tag.strip():
            yield f'PubMed has no search field "[{tag}]": known ones are [ti], [tiab], [au], [MeSH Terms], [pt], [dp].'
    if _LOWER_OR.search(query):
        yield 'PubMed may ignore "or" in lower case: write OR if either term will do.'
