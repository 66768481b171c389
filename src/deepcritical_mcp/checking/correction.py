"""A reference as it should be: the stretches that the alignment found, with the record's values in their form.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.export.reference_managers import bibtex_entry, csl_entry, ris_entry
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid, normalize_trial
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.net.json_fields import list_of
from deepcritical_mcp.search.references import MAX_REFERENCE, compare, read_reference
from deepcritical_mcp.search.references.agreement import PREPRINT_SERVER, own_number
from deepcritical_mcp.search.references.number_places import YEAR
from deepcritical_mcp.search.references.people_places import ET_AL
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.written import (
    BARE_PMID,
    DOI,
    PMCID,
    PMID,
    TRIAL,
    EntryField,
    LabelledEntry,
    balanced,
    read_entry,
)
from deepcritical_mcp.text import clean_line, clean_text

_LONGEST_ENTRY = 20_000
"""Characters of an entry with its abstract."""
_IDS = {
    "pmid": (PMID, normalize_pmid),
    "doi": (DOI, normalize_doi),
    "pmcid": (PMCID, normalize_pmcid),
    "nct": (TRIAL, normalize_trial),
}
_RETRACTED = "[Retracted]"
_HAS_MARK = re.compile(r"[(\[](?:retracted|withdrawn)\b|\bretracted(?: article)?:", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_WRITTEN = ("title", "vernacular_title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""


class _Edit(NamedTuple):
    """`new` for what stands at `start` to `end`."""

    start: int
    end: int
    new: str


def corrected(written: str, publication: Publication, problems: Sequence[ReferenceProblem]) -> str:
    """The reference `written` with the statements of `problems` as `publication` says them, and nothing else changed;
    "" if nothing must change.

    Where a statement cannot be replaced for certain, or a preprint is cited as a paper, the whole reference is written
    anew in Vancouver style, or left alone if its problems are minor. A missing statement is not added, but
    "[Retracted]" is. BibTeX, RIS and CSL-JSON keep their layout; any other reference comes back on one line. What is
    too long for one reference is left alone. So is an entry with a further work.
    """
    if any(one.is_further_work and not one.minor for one in problems):  # nobody knows where the one ends
        return ""
    own = publication.vernacular_title
    if own and any(one.field == "title" and one.true == own for one in problems):
        publication = publication.model_copy(update={"title": own})
    publication, wrong = _inert(publication), {one.field: one for one in problems if _is_changed(one)}
    entry = read_reference(written).entry
    is_json = entry is None and written.lstrip(" [\n").startswith("{")
    if not wrong or is_json or len(written) > (_LONGEST_ENTRY if entry else MAX_REFERENCE):
        return ""
    is_preprint = publication.form == "preprint" and "journal" in wrong
    if entry:
        new = _corrected_entry(entry, publication, wrong, anew=is_preprint)
        return new if new != clean_text(written) else ""
    line = clean_line(written)
    new = "" if is_preprint else _patched(line, publication, wrong)
    if not new:
        return "" if all(one.minor for one in wrong.values()) else vancouver(publication)
    return new if new != line else ""


def _is_changed(one: ReferenceProblem) -> bool:
    """Whether a line gets the record's value: not of names a letter off, nor of a preprint's server, whose number would
    not be the journal's."""
    if one.minor and (one.field == "authors" or (one.field == "journal" and PREPRINT_SERVER.search(one.written))):
        return False
    return one.field == "status" or bool(one.written and (one.true or one.field in _IDS))


def _patched(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> str:
    """A line with the wrong stretches replaced; "" if that cannot be done for certain."""
    places, edits = _places(line, publication), list[_Edit]()
    for field, one in wrong.items():
        if field in _IDS:
            edits += _id_edits(line, one)
        elif field in places:
            edits.append(_edit(line, field, places[field], publication))
        if (field in _IDS and not one.true) or (field not in (*_IDS, *places, "status") and not one.minor):
            return ""
    if not wrong.keys().isdisjoint(("volume", "pages")):  # with the issue they are one place
        if compare(read_reference(line), publication).unread:
            return ""
        others = (one for one in ("volume", "issue") if one in places and one not in wrong)
        edits += [_edit(line, one, places[one], publication) for one in others]
    new = _applied(line, edits)
    if ("authors" in wrong and "" in {one.new for one in edits}) or not _is_right(new, line, publication, wrong):
        return ""
    return _marked(new, publication) if "status" in wrong else new


def _edit(line: str, field: str, span: Span, publication: Publication) -> _Edit:
    """What puts the record's value in the place of a field, in the line's own form."""
    (start, end), old = span, line[slice(*span)]
    behind = line[end : end + 1]
    if field == "authors":
        names = names_in_style(old, publication.authors)
        names = names.rstrip(".") if behind == "." else names
        return _Edit(start, end, names + "." * (old.endswith(".") and not names.endswith(".") and behind == " "))
    if field == "title":
        end -= len(old) - len(old.rstrip(".,?!"))
        title, mark = _title_alone(publication.title), line[end : end + 1]
        mark = mark if mark in (".", "?", "!") else ""
        is_closed = mark in ("?", "!") and line[end + 1 : end + 2] in tuple("”“\"’',")
        stop = "." if mark and not is_closed and title[-1:] not in ("?", "!") else ""
        return _Edit(start, end + len(mark), title + stop)
    if field == "year":  # the month and day are those of the wrong year
        month = re.match(r" [A-Z][a-z]{2}(?: \d{1,2})?(?=;)", line[end:])
        return _Edit(start, end + (month.end() if month else 0), own_number(field, publication))
    if field == "journal":  # the full stop behind may be part of it: "*Nat. Med.* **28**", but not "JAMA. 2019;"
        is_own = ". " in old and re.match(r"\.(?! [12]\d{3}\b[a-z]?[ ;])", line[end : end + 8]) is not None
        name = journal_in_style(old + "." * is_own, publication)
        return _Edit(start, end + is_own, name.rstrip(".") if line[end + is_own : end + is_own + 1] == "." else name)
    if field == "issue" and not publication.issue:
        is_alone = line[start - 1] + behind == "()"
        return _Edit(start - is_alone, end + is_alone, "")
    return _Edit(start, end, pages_in_style(old, publication) if field == "pages" else getattr(publication, field))


def _applied(text: str, edits: Sequence[_Edit]) -> str:
    """`text` with the edits that do not overlap with earlier ones."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        if edit.start >= at:
            parts += text[at : edit.start], edit.new
            at = edit.end
    return "".join([*parts, text[at:]])


def _id_edits(text: str, problem: ReferenceProblem) -> Iterator[_Edit]:
    """What puts the record's identifier in the places of a wrong one."""
    pattern, in_one_form = _IDS.get(problem.field, (None, str))
    found = [*pattern.finditer(text)] if pattern and problem.true else []
    found += [one] if problem.field == "pmid" and problem.true and (one := BARE_PMID.search(text)) else []
    for one in found:
        value, start = balanced(one[1])[0], one.start(1)
        if in_one_form(unquote(value)).lower() == problem.written.lower():
            rest = problem.true[len(value) :] if problem.true.lower().startswith(value.lower()) else ""
            # Blanks may break a number.
            tail = re.match(r"\s*".join(map(re.escape, ("", *rest))), text[start + len(value) :], re.IGNORECASE)
            yield _Edit(start, start + len(value) + (tail.end() if tail and rest else 0), problem.true)


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand, as a record that is laid along it tells."""
    reference = read_reference(line)
    spans = ((one.field, one.span) for one in compare(reference, publication).fields if one.span)
    return {field: reference.plain.written_at(*span) for field, span in spans if span[0] < span[1]}


def _marked(line: str, publication: Publication) -> str:
    """With "[Retracted]" after the title, or at the end of a reference without one."""
    if publication.status != "retracted" or _HAS_MARK.search(line):
        return line
    _, end = _places(line, publication).get("title", (0, len(line.rstrip("."))))
    at = len(line) - len(line[end:].lstrip("*_"))
    return f"{line[:at]} {_RETRACTED}{line[at:]}"


def _is_right(patched: str, line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements wherever `line` had wrong ones, and no new error."""
    before, reference = compare(read_reference(line), publication), read_reference(patched)
    known = {one.field for one in before.differences} - wrong.keys()
    said = {one.field for one in before.fields if one.verdict != "absent" and one.field != "title"}
    after = {one.field: one.verdict for one in compare(reference, publication).fields}
    ids = ((getattr(reference.ids, field).lower(), wrong[field].true.lower()) for field in _IDS if field in wrong)
    return all(one in ("", true) for one, true in ids) and not any(
        (verdict == "differs" and field not in known) or (verdict == "absent" and field in said)
        for field, verdict in after.items()
    )


def _inert(publication: Publication) -> Publication:
    """A publication without markup in what is written of it, which would be active in a draft."""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    return publication.model_copy(update={**texts, "authors": authors})


def _without_markup(value: str) -> str:
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")


def _title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    return bare[1:-1].removesuffix(".") if bare.startswith("[") and bare.endswith("]") else bare


def pages_in_style(old: str, publication: Publication) -> str:
    """Pages with the dash of `old`, abbreviated ("1730-44") or in full like it."""
    form = re.fullmatch(r"(\w{1,12})(\W{1,4})(\w{1,12})", old.strip())
    whole = Reference(publication, 1, "", "article").pages
    if not form or len(whole) != 2:
        return publication.pages
    is_short = len(form[3]) < len(form[1])
    return publication.pages.replace("-", form[2]) if is_short else form[2].join(whole)


_SMALL = frozenset("a an and as at by for from in into of on or the to with de der des du la le et und".split())


def journal_in_style(old: str, publication: Publication) -> str:
    """The journal's name, abbreviated or in full like `old`: abbreviated if all its words are short."""
    old, full = (re.split(r"\s?[:;=(\[]|\s/\s", one)[0].strip() or one for one in (old, publication.journal))
    full, short, words = full.removeprefix("The "), publication.short_journal, old.split()
    if not short or not full:
        return full or short or publication.book_title or publication.publisher
    if "." in old or not any(word.lower() in _SMALL or len(word) > 7 for word in words):
        whole = {word.casefold() for word in re.findall(r"[^\W_]+", publication.journal)}
        is_whole = ((word.casefold() in whole or word.isupper()) and len(word) > 1 for word in short.split())
        dotted = (word if is_one else f"{word}." for word, is_one in zip(short.split(), is_whole, strict=True))
        return " ".join(dotted) if "." in old else short
    is_sentence = words[-1][0].islower()
    return (
        full if is_sentence else " ".join(one if one in _SMALL else one[:1].upper() + one[1:] for one in full.split())
    )


_CAPITAL, _LETTERS = r"[^\W\d_a-zß-ÿ]", r"(?:[^\W\d_]|['’‐-]){1,40}"
_PARTS = {
    "family": rf"(?:[a-z'’]{{1,4}} ){{0,3}}{_CAPITAL}{_LETTERS}(?: {_CAPITAL}{_LETTERS})?",
    "letters": rf"{_CAPITAL}(?:[ -]?{_CAPITAL}){{0,3}}(?: (?:Jr|Sr|II|III))?",
    "spaced": rf"(?:{_CAPITAL}\.[ -]){{0,5}}{_CAPITAL}\.",
    "tight": rf"(?:{_CAPITAL}\.-?){{0,5}}{_CAPITAL}\.",
    "full": rf"{_CAPITAL}{_LETTERS}(?: {_CAPITAL}(?:\.|{_LETTERS})?){{0,3}}",
}
"""What the parts of names look like: van der Berg; JA; J. A.; J.A.; Jan A."""
_EACH = "{family} {letters}|{family} {tight}|{family} {spaced}|{family}, {spaced}|{family}, {tight}|{spaced} {family}|"
_NAME_FORMS = (
    *((one, one) for one in (_EACH + "{tight} {family}").split("|")),
    ("{full} {family}", "{full} {family}"),
    ("{family}, {full}", "{full} {family}"),
    ("{family}", "{family}"),
    ("{family}, {full}", "{family}, {full}"),
)
"""How lists write their first and all other names; the first form that a list fits is its own."""
_BETWEEN = re.compile(r"[,;]? (?:\\?&|and|und|et|y) |[;,] ?")
_ALL_LISTED, _SHORTENED = 20, 6
"""More authors than so many are never listed, but so many of them."""


def names_in_style(old: str, authors: Sequence[AuthorName]) -> str:
    """`authors` as the list `old` writes them, as many as it lists, all if it does not end in "et al."; "" if it is
    written in a way of its own."""
    others = ET_AL.search(old)
    listed = (old[: others.start()] if others else old).rstrip(" ,;*_…")
    joint = "; " if ";" in listed else ", "
    pieces = re.split("; ?", listed) if ";" in listed else _BETWEEN.split(listed)
    form, count = next(((one, n) for one in _NAME_FORMS if (n := _names_listed(pieces, one, joint))), (("", ""), 0))
    if not count or not authors:
        return ""
    names = [_name(form[at > 0], one) for at, one in enumerate(authors)]
    if others and len(names) > count:
        return joint.join(names[:count]) + old[len(listed) :]
    if form[0] == "{family}" and len(names) > max(count, 2):
        return f"{names[0]} et al."
    if len(names) > _ALL_LISTED:
        return f"{joint.join(names[:_SHORTENED])}{joint.rstrip()} et al."
    last = next((one for one in reversed(_BETWEEN.findall(listed)) if one.strip(" ,;")), joint)
    return joint.join(names[:-1]) + last * (len(names) > 1) + names[-1]


def _names_listed(pieces: Sequence[str], form: tuple[str, str], joint: str) -> int:
    """How many names a list in pieces has if it is written in a form; 0 if it is not."""
    first, other = (one.split(joint) for one in form)
    more, rest = divmod(len(pieces) - len(first), len(other))
    if rest or more < (form[0] != form[1]):
        return 0
    patterns = [part.format(**_PARTS) for part in (*first, *other * more)]
    patterns[-1] = patterns[-1].removesuffix(r"\.") + r"\.?"
    fits = all(re.fullmatch(*both) for both in zip(patterns, pieces, strict=True))
    return 1 + more if fits else 0


def _name(form: str, author: AuthorName) -> str:
    """A name in a form; of a group, or of somebody without given names, the family name."""
    letters = author.short.removeprefix(author.family).strip().split(" ")[0] if author.given else ""
    stopped, full = [f"{one}." for one in letters], re.sub(r"\b([A-Z])(?=\s|$)", r"\1.", author.given)
    given = {"letters": letters, "tight": "".join(stopped), "spaced": " ".join(stopped), "full": full}
    if not letters or form == "{family}":
        return author.family
    return " ".join(filter(None, (form.format(family=author.family, **given), author.suffix)))


_STATEMENTS = ("title", "authors", "year", "journal", "volume", "issue", "pages", "doi", "pmid", "pmcid")


def _corrected_entry(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem], *, anew: bool
) -> str:
    """An entry with what is wrong in its fields as an export of the publication has it, or `anew` under its key."""
    reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
    text = {"bibtex": bibtex_entry, "ris": ris_entry, "csl": csl_entry}[entry.form](reference).strip()
    exported = read_entry(text)
    if anew or exported is None:
        return text
    changes = [*_changes(entry, exported, wrong)]
    if entry.form == "csl":
        return _json(entry, {field.name: new for field, new in changes})
    text, edits = entry.text, list[_Edit]()
    for field, new in changes:
        behind = re.match(r"\s*,", text[field.whole[1] :])  # goes with a whole field
        whole = len(text[: field.whole[0]].rstrip()), field.whole[1] + (behind.end() if behind else 0)
        edits.append(_Edit(*(whole if new is None else field.at), str(new or "")))
    text = _applied(text, edits)
    return _applied(text, [edit for one in wrong.values() for edit in _id_edits(text, one)])  # in addresses


def _changes(
    entry: LabelledEntry, exported: LabelledEntry, wrong: Mapping[str, ReferenceProblem]
) -> Iterator[tuple[EntryField, object]]:
    """Fields, and their new values; None for one that is left out."""
    is_marked = "status" in wrong and retraction_label("retracted", entry.plain(entry.field("title")))
    is_elsewhere = "volume" in wrong or ("pages" in wrong and exported.field("issue"))
    more = {"title": is_marked, "issue": is_elsewhere}
    for name in (one for one in _STATEMENTS if one in wrong or more.get(one)):
        olds, values = entry.named(name), [one.value for one in exported.named(name)]
        if name == "year":
            yield from _years(entry, wrong[name])
            continue
        if name == "pages" and entry.form == "ris":
            olds += [one for one in entry.fields if one.name == "EP"]
            values += [one.value for one in exported.fields if one.name == "EP"]
        elif name == "authors" and entry.form == "ris" and olds:
            values = [f"\n{entry.text[slice(olds[0].whole[0], olds[0].at[0])]}".join(map(str, values))]
        for at, old in enumerate(olds):
            yield old, values[at] if at < len(values) else None


def _years(entry: LabelledEntry, problem: ReferenceProblem) -> Iterator[tuple[EntryField, object]]:
    """All dates with the wrong year."""
    for field in entry.every("year"):
        year = YEAR.search(value := json.dumps(field.value))
        if year and year[0] == problem.written[:4]:
            yield field, json.loads(value[: year.start()] + problem.true + value[year.end() :])


def _json(entry: LabelledEntry, changes: Mapping[str, object]) -> str:
    """With the indentation that it has; numbers stay numbers."""
    item = dict[str, object]()
    for old in entry.fields:
        value = changes.get(old.name, old.value)
        is_number = isinstance(old.value, int) and str(value).isdecimal()
        item |= {} if value is None else {old.name: int(str(value)) if is_number else value}
    indent, listed = re.search(r"\n( *)\S", entry.text), list_of(json.loads(entry.text))
    return json.dumps(
        [item, *listed[1:]] if listed else item, indent=len(indent[1]) if indent else None, ensure_ascii=False
    )
