"""A reference as it should be: the stretches that the alignment found, with the record's values in their form.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from deepcritical_mcp.export.reference import Reference
from deepcritical_mcp.export.reference_managers import bibtex_entry, csl_entry, ris_entry
from deepcritical_mcp.identifiers import normalize_doi, normalize_pmcid, normalize_pmid, normalize_trial
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.publication import retraction_label
from deepcritical_mcp.models.vancouver import vancouver, written_date
from deepcritical_mcp.net.json_fields import list_of
from deepcritical_mcp.search.references import MAX_REFERENCE, compare, read_reference
from deepcritical_mcp.search.references.agreement import PREPRINT_SERVER
from deepcritical_mcp.search.references.number_places import YEAR
from deepcritical_mcp.search.references.people_places import ET_AL
from deepcritical_mcp.search.references.plain_text import Span
from deepcritical_mcp.search.references.written import (
    BARE_PMID,
    DOI,
    LINK,
    PMCID,
    PMID,
    TRIAL,
    EntryField,
    LabelledEntry,
    balanced,
    read_entry,
)
from deepcritical_mcp.text import clean_line, clean_text

_CAPITAL = r"[^\W\d_a-zß-ÿ]"
_LAST = re.compile(r"[,;]? (?:\\?&|and|und|et|y) ")
_BETWEEN = re.compile(r"[;,]|\\?&|(?<= )(?:and|und|et|y)(?= )")
_ALL_LISTED, _SHORTENED = 20, 6
"""More authors than so many are never listed, but so many of them."""


def title_alone(title: str) -> str:
    """A title without the full stop at its end and the brackets around a translation."""
    bare = title.removesuffix(".")
    inner = bare[1:-1].removesuffix(".")
    return inner if bare.startswith("[") and bare.endswith("]") and "[" not in inner else bare


def pages_in_style(old: str, pages: str) -> str:
    """Pages with the dash of `old`, abbreviated ("1730-44") or in full like it."""
    form, true = (re.fullmatch(r"(\w{1,12})(\W{1,4})(\w{1,12})", one.strip()) for one in (old, pages))
    if not form or not true:
        return pages
    first, last = true[1], true[3]
    if len(last) < len(first) and last.isdecimal():
        last = first[: len(first) - len(last)] + last
    if len(form[3]) < len(form[1]) and len(last) == len(first):
        last = last[next((at for at, letter in enumerate(first) if letter != last[at]), len(first) - 1) :]
    return f"{first}{form[2]}{last}"


def are_short(names: str) -> bool:
    """Whether names are those of a list in Vancouver style: "Berg JA, Ruiz K"."""
    return re.search(r"[^\W\d_]{2} [A-Z]{1,3}(?:[,.]|\Z)", names) is not None


def given_in_full(author: AuthorName) -> str:
    """The given names, with full stops behind initials."""
    return re.sub(r"\b([A-Z])(?=\s|$)", r"\1.", author.given)


@dataclass(frozen=True)
class _NameStyle:
    """How a list writes names.

    Attributes:
        given: "JA", "J.A.", "J. A.", "full" or "none".
        is_inverted: whether the family name stands first, with a comma behind it if `has_comma`.
        is_first_only: whether it does so in the first name only: "Berg, Jan, and Ana Ruiz".
        count: how many names are listed.
    """

    given: str
    has_comma: bool
    is_inverted: bool
    is_first_only: bool
    count: int

    def written(self, at: int, author: AuthorName) -> str:
        """The name of an author at a place of the list."""
        letters = author.short.removeprefix(author.family).strip().split(" ")[0]
        dotted = (" " if self.given == "J. A." else "").join(f"{one}." for one in letters)
        given = {"none": "", "JA": letters, "full": given_in_full(author)}.get(self.given, dotted)
        if not given or not author.given:
            return author.family
        is_inverted = self.is_inverted and not (at and self.is_first_only)
        parts = (author.family, given, author.suffix) if is_inverted else (given, author.family, author.suffix)
        return (", " if is_inverted and self.has_comma else " ").join(filter(None, parts))


def _style_of(listed: str, last: str) -> _NameStyle | None:
    """How a list is written, whose last name stands behind `last`; None if in a way of its own."""
    pieces = [one.strip() for one in _BETWEEN.split(listed) if one.strip(" .")]
    if not pieces or re.search(r"[^\w\s.,;&'’‐-]|\d|_", listed.replace("\\&", "&")):
        return None
    sizes, is_dotted = [len(one.split()) for one in pieces], re.search(rf"\b{_CAPITAL}\.", listed) is not None
    is_initial_first = re.match(rf"{_CAPITAL}\.", pieces[0]) is not None
    second = pieces[1] if len(pieces) > 1 else ""
    is_alone = sizes[0] == 1 and (
        (not are_short(listed) and not is_dotted and sizes[-1] > 1)
        or re.fullmatch(r"[^\W\d_]{2,20}(?: [A-Z]\.?){1,3}", second) is not None
    )
    is_only_initials = not re.search(rf"{_CAPITAL}\. ?[^\W\d_]{{2}}|[^\W\d_]{{3}}", second)
    is_pair = bool(second) and ((";" in listed and "," in listed) or is_only_initials or is_alone)  # "Berg, Jan"
    is_first_only = is_pair and len(pieces) > 2 and ";" not in listed and sizes[2] > 1
    given = "full"
    if max(sizes) == 1 and not is_pair:
        given = "none"
    elif are_short(listed) and not is_dotted:
        given = "JA"
    elif is_dotted and not (is_pair and re.search(r"[^\W\d_]{2} [A-Z]\.(?:\W|\Z)", listed)):
        is_tight = re.search(r"[A-Z]\.-?[A-Z]\.", listed) or (last == " and " and is_pair)
        is_spaced = re.search(r"\b[A-Z]\. [A-Z]\.", listed) or not (is_tight or (not is_pair and not is_initial_first))
        given = "J. A." if is_spaced else "J.A."
    count = len(pieces) - 1 if is_first_only else (len(pieces) + 1) // 2 if is_pair else len(pieces)
    is_inverted = is_pair or (not is_initial_first and given != "full")
    return _NameStyle(given, is_pair, is_inverted, is_first_only, count)


def names_in_style(old: str, authors: Sequence[AuthorName]) -> str:
    """`authors` as the list `old` writes them, as many as it lists, all if it does not end in "et al."; "" if it is
    written in a way of its own."""
    others = ET_AL.search(old)
    listed = (old[: others.start()] if others else old).rstrip(" ,;*_").replace("…", "...")
    separator, joined = "; " if ";" in listed else ", ", _LAST.search(listed)
    last = joined[0] if joined else ""
    style = _style_of(listed, last)
    if style is None or not authors:
        return ""
    names = [style.written(at, one) for at, one in enumerate(authors)]
    if others and len(names) > style.count:
        return separator.join(names[: style.count]) + old[len(listed) :]
    if style.given == "none" and len(names) > max(style.count, 2):
        return f"{names[0]} et al."
    if len(names) > _ALL_LISTED:
        return f"{separator.join(names[:_SHORTENED])}{separator.rstrip()} et al."
    if len(names) > 2 >= style.count and last[:1] == " " and style.given != "none" and not style.has_comma:
        last = f",{last}"
    return separator.join(names[:-1]) + (last or separator) * (len(names) > 1) + names[-1]


_STATEMENTS = ("title", "authors", "journal", "volume", "issue", "pages", "doi", "pmid", "pmcid")


def corrected_entry(
    entry: LabelledEntry, publication: Publication, wrong: Mapping[str, ReferenceProblem], *, anew: bool
) -> str:
    """An entry with what is wrong in its fields as an export of the publication has it, or `anew` under its key."""
    status, publication = publication.status, publication.model_copy(update={"status": "ok"} if not anew else {})
    reference = Reference(publication, 1, entry.key or "reference", publication.form, has_texts=False)
    text = {"bibtex": bibtex_entry, "ris": ris_entry, "csl": csl_entry}[entry.form](reference).strip()
    exported = read_entry(text)
    if anew or exported is None:
        return text
    label = retraction_label(status, entry.plain(entry.field("title"))) if "status" in wrong else ""
    changes = [*_changes(entry, exported, wrong, label)]
    if entry.form == "csl":
        return _json(entry, {field.name: new for field, new in changes})
    text = entry.text
    for field, new in sorted(changes, key=lambda one: one[0].at, reverse=True):
        start, end = field.at if new else _whole(entry, field)
        text = text[:start] + str(new or "") + text[end:]
    return text


def _changes(
    entry: LabelledEntry, exported: LabelledEntry, wrong: Mapping[str, ReferenceProblem], label: str
) -> Iterator[tuple[EntryField, object]]:
    """Fields, and their new values; None for one that is left out. The title gets a `label`."""
    has_issue = "volume" in wrong or ("pages" in wrong and exported.field("issue"))
    for name in _STATEMENTS:
        if name not in wrong and not (name == "issue" and has_issue) and not (name == "title" and label):
            continue
        olds, source = entry.named(name), exported if name in wrong or name == "issue" else entry
        if name in ("doi", "pmid", "pmcid"):
            olds = [one for one in olds if not wrong[name].true or entry.plain(one) == wrong[name].written]
        values = [one.value if entry.form == "csl" else source.text[slice(*one.at)] for one in source.named(name)]
        if name == "title" and label:
            values = [f"{label}: {str(one).lstrip()}" for one in values]
        for number, old in enumerate(olds):
            new = values[0] if values and not number else None
            if name == "authors" and new and entry.form == "ris":
                new = f"\n{entry.text[slice(old.whole[0], old.at[0])]}".join(map(str, values))
            yield old, new
    last = [next((one for one in source.fields if one.name == "EP"), None) for source in (entry, exported)]
    if "pages" in wrong and entry.form == "ris" and last[0]:
        yield last[0], last[1].value if last[1] else None
    for field in entry.every("year") if "year" in wrong else ():
        year = YEAR.search(value := json.dumps(field.value))
        if year and year[0] == wrong["year"].written[:4]:
            yield field, json.loads(value[: year.start()] + wrong["year"].true + value[year.end() :])


def _whole(entry: LabelledEntry, field: EntryField) -> tuple[int, int]:
    """Where a field stands with the comma or the line's end that belongs to it."""
    (start, end), text = field.whole, entry.text
    if entry.form == "ris":
        return start, min(end + 1, len(text))
    behind = text[end:].lstrip()
    if behind.startswith(","):
        return start, len(text) - len(behind[1:].lstrip())
    before = text[:start].rstrip()
    return len(before) - before.endswith(","), end


def _json(entry: LabelledEntry, changes: Mapping[str, object]) -> str:
    """With the indentation that it has; numbers stay numbers."""
    item = dict[str, object]()
    for old in entry.fields:
        value = changes.get(old.name, old.value)
        is_number = isinstance(old.value, int) and str(value).isdecimal()
        item |= {} if value is None else {old.name: int(str(value)) if is_number else value}
    indent, listed = re.search(r"\n( *)\S", entry.text), list_of(json.loads(entry.text))
    loaded = [item, *listed[1:]] if listed else item
    return json.dumps(loaded, indent=len(indent[1]) if indent else None, ensure_ascii="\\u" in entry.text)


_LONGEST_ENTRY = 20_000
"""Characters of an entry with its abstract."""
_PLACE = ("volume", "issue", "pages")
_IDS = {
    "pmid": (PMID, normalize_pmid),
    "doi": (DOI, normalize_doi),
    "pmcid": (PMCID, normalize_pmcid),
    "nct": (TRIAL, normalize_trial),
}
_RETRACTED = "[Retracted]"
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,200}>")
_WRITTEN = ("title", "vernacular_title", "journal", "journal_abbreviation", "medline_abbreviation", "publisher", "doi")
"""Fields of a record that get into a corrected line; its numbers are the source's own."""
_HAS_MARK = re.compile(r"[(\[](?:retracted|withdrawn)\b|\bretracted(?: article)?:", re.IGNORECASE)
_SMALL = frozenset("a an and as at by for from in into of on or the to with de der des du la le et und".split())
_WHOLE_WORD = 8
"""Letters of a word of a journal's name that is not abbreviated."""


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
    publication = _inert(publication)
    wrong = {
        one.field: one for one in problems if one.field == "status" or (one.written and (one.true or one.field in _IDS))
    }
    if "authors" in wrong and wrong["authors"].minor:
        del wrong["authors"]
    if "journal" in wrong and wrong["journal"].minor and PREPRINT_SERVER.search(wrong["journal"].written):
        del wrong["journal"]  # its number would not be the journal's
    entry = read_reference(written).entry
    is_json = entry is None and written.lstrip(" [\n").startswith("{")
    if not wrong or is_json or len(written) > (_LONGEST_ENTRY if entry else MAX_REFERENCE):
        return ""
    is_preprint = publication.form == "preprint" and "journal" in wrong
    if entry:
        new = corrected_entry(entry, publication, wrong, anew=is_preprint)
        for one in wrong.values():
            new = _applied(new, _id_edits(new, one, "")) if one.true else new
        return new if new != clean_text(written) else ""
    line = clean_line(written)
    new = "" if is_preprint else _patched(line, publication, wrong)
    if not new:
        return "" if all(one.minor for one in wrong.values()) else vancouver(publication)
    return new if new != line else ""


def _patched(line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> str:
    """A line with the wrong stretches replaced; "" if that cannot be done for certain."""
    places = _places(line, publication)
    stated = {one.field for one in wrong.values() if not one.minor} - {*_IDS, "status"}
    if not stated <= places.keys():
        return ""
    edits = [edit for one in wrong.values() for edit in _id_edits(line, one, publication.pmid)]
    for field, span in places.items():
        if field in wrong or (field == "issue" and not wrong.keys().isdisjoint(_PLACE)):
            if (edit := _edit(line, field, span, publication, wrong)) is None:
                return ""
            edits.append(edit)
    new = _applied(line, edits)
    if not _is_right(new, line, publication, wrong):
        return ""
    return _marked(new, publication) if "status" in wrong else new


def _edit(
    line: str, field: str, span: Span, publication: Publication, wrong: Mapping[str, ReferenceProblem]
) -> _Edit | None:
    """What puts the record's value in the place of a field; None if it cannot be written in the line's own form."""
    (start, end), old = span, line[slice(*span)]
    if field == "authors":
        names = names_in_style(old, publication.authors)
        if line[end : end + 1] == ".":
            return _Edit(start, end, names.rstrip(".")) if names else None
        is_stop = old.endswith(".") and not names.endswith(".") and line[end : end + 1] == " "
        return _Edit(start, end, names + "." * is_stop) if names else None
    if field == "title":
        end -= len(old) - len(old.rstrip(".,?!"))
        mark = line[end : end + 1] if line[end : end + 1] in ("?", "!", ".") else ""
        is_closed = bool(mark) and line[end + 1 : end + 2] in tuple("”“\"’',")
        title = title_alone(publication.title)
        new = "" if title.endswith(("?", "!")) or (is_closed and mark != ".") else "." * bool(mark)
        return _Edit(start, end + bool(mark), title + new)
    if field == "year":
        year, behind = wrong["year"].true, re.match(r" (?:[A-Z][a-z]{2}|[01]\d)(?: \d{1,2})?(?=;)", line[end:])
        if behind and publication.date.startswith(year):  # the month and day are those of the wrong year
            parts = publication.date.split("-")[: 1 + len(behind[0].split())]
            return _Edit(start, end + behind.end(), written_date("-".join(parts)))
        return _Edit(start, end + (behind.end() if behind else 0), year)
    if field == "journal":
        # The full stop behind it may be part of its name: "*Nat. Med.* **28**", but not "JAMA. 2019;".
        is_own = ". " in old and re.match(r"\.(?! [12]\d{3}\b[a-z]?[ ;])", line[end : end + 8]) is not None
        name = journal_in_style(old + "." * is_own, publication, is_short=are_short(line[:start]))
        return _Edit(start, end + is_own, name.rstrip(".") if line[end + is_own : end + is_own + 1] == "." else name)
    if field == "issue" and not publication.issue:
        is_alone = line[start - 1] + line[end : end + 1] == "()"
        return _Edit(start - is_alone, end + is_alone, "") if "volume" in wrong else _Edit(start, end, old)
    value = str(getattr(publication, field))
    return _Edit(start, end, pages_in_style(old, value) if field == "pages" else value)


def _applied(text: str, edits: Iterator[_Edit] | Sequence[_Edit]) -> str:
    """`text` with the edits that do not overlap with earlier ones."""
    parts, at = list[str](), 0
    for edit in sorted(edits):
        if edit.start >= at:
            parts += text[at : edit.start], edit.new
            at = edit.end
    return "".join([*parts, text[at:]])


def _id_edits(text: str, problem: ReferenceProblem, pmid: str) -> Iterator[_Edit]:
    """What changes an identifier that is wrong; one that the record does not have gives way to its PMID."""
    pattern, in_one_form = _IDS.get(problem.field, (None, str))
    found = [*pattern.finditer(text)] if pattern else []
    found += [one] if problem.field == "pmid" and (one := BARE_PMID.search(text)) else []
    has_pmid = not pmid or PMID.search(text) is not None
    for one in found:
        value, start = balanced(one[1])[0], one.start(1)
        end = start + len(value)
        if in_one_form(unquote(value)).lower() != problem.written.lower():
            continue
        if problem.true:
            rest = problem.true[len(value) :] if problem.true.lower().startswith(value.lower()) else ""
            # Blanks may break a number.
            tail = re.match(r"\s*".join(map(re.escape, ("", *rest))), text[end:], re.IGNORECASE) if rest else None
            yield _Edit(start, end + (tail.end() if tail else 0), problem.true)
            continue
        links = (link for link in LINK.finditer(text) if link.start() < start < link.end())
        low = min((link.start() for link in links), default=one.start())
        if problem.field == "pmid" or has_pmid:
            low = len(text[:low].rstrip(" "))
            yield _Edit(low, end + (text[end:].startswith(".") and text[:low].endswith(".")), "")
        else:
            is_link = text.startswith("http", low)
            yield _Edit(low, end, f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if is_link else f"PMID: {pmid}")


def _places(line: str, publication: Publication) -> dict[str, Span]:
    """Where the statements of a reference stand, as a record that is laid along it tells."""
    reference = read_reference(line)
    return {
        one.field: reference.plain.written_at(*one.span)
        for one in compare(reference, publication).fields
        if one.span and one.span[0] < one.span[1]
    }


def _marked(line: str, publication: Publication) -> str:
    """With "[Retracted]" after the title, or at the end of a reference without one."""
    if publication.status != "retracted" or _HAS_MARK.search(line):
        return line
    span = _places(line, publication).get("title")
    if span is None:
        body = line.rstrip(".")
        return f"{body} {_RETRACTED}{line[len(body) :]}"
    at = len(line) - len(line[span[1] :].lstrip("*_"))
    if line.startswith("](", at) and (address := LINK.match(line, at + 2)):
        at = address.end() + (line[address.end() - 1] != ")")
    return f"{line[:at]} {_RETRACTED}{line[at:]}"


def _is_right(patched: str, line: str, publication: Publication, wrong: Mapping[str, ReferenceProblem]) -> bool:
    """Whether a reference, read again, has the record's statements wherever `line` had wrong ones, and no new error."""
    before, reference = compare(read_reference(line), publication), read_reference(patched)
    known = {one.field for one in before.differences} - wrong.keys()
    said = {one.field for one in before.fields if one.verdict != "absent" and one.field != "title"}
    for one in compare(reference, publication).fields:
        if (one.verdict == "differs" and one.field not in known) or (one.verdict == "absent" and one.field in said):
            return False
    stand = {field: getattr(reference.ids, field).lower() for field in _IDS if field in wrong and wrong[field].true}
    return all(value in ("", wrong[field].true.lower()) for field, value in stand.items())


def _inert(publication: Publication) -> Publication:
    """A publication without markup in what is written of it, which would be active in a draft."""
    texts = {name: _without_markup(value) for name in _WRITTEN if isinstance(value := getattr(publication, name), str)}
    authors = tuple(AuthorName(*map(_without_markup, name)) for name in publication.authors)
    return publication.model_copy(update={**texts, "authors": authors})


def _without_markup(value: str) -> str:
    return _TAG.sub("", value).replace("](", "] (").replace("![", "! [")


def journal_in_style(old: str, publication: Publication, *, is_short: bool) -> str:
    """The journal's name, abbreviated or in full like `old`; `is_short` decides where `old` is a word alone."""
    old, full = (re.split(r"\s?[:;=(\[]|\s/\s", one)[0].strip() or one for one in (old, publication.journal))
    full, short, words = full.removeprefix("The "), publication.short_journal, re.findall(r"[^\W\d_]+", old)
    if not short or not full:
        return full or short or publication.book_title or publication.publisher
    is_full = "." not in old and any(word.lower() in _SMALL or len(word) >= _WHOLE_WORD for word in words)
    if is_short if len(words) == 1 else not is_full:
        whole = {word.casefold() for word in re.findall(r"[^\W_]+", publication.journal)}
        is_cut = ((word.casefold() not in whole and not word.isupper()) or len(word) == 1 for word in short.split())
        dotted = " ".join(f"{word}." if cut else word for word, cut in zip(short.split(), is_cut, strict=True))
        return dotted if re.search(r"[A-Za-z]\.(?:\s|$)", old) else short
    if words[-1:] and words[-1][0].islower():
        return full
    return " ".join(word if word in _SMALL else word[:1].upper() + word[1:] for word in full.split())
