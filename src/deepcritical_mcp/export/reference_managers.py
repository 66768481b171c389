"""The formats of reference managers, BibTeX, CSL-JSON and RIS, and a list with abstracts and notes in Markdown.

BibTeX is as BibTeX, biblatex, Zotero, JabRef and pandoc read it: UTF-8 with TeX's special characters escaped, every
value on one line. Web pages are `@online`, which classic styles treat as `@misc`; so are preprints, with their server
in `howpublished`. CSL-JSON (the schema of citationstyles.org, 1.0.2) is as pandoc, Zotero and citeproc read it, RIS as
EndNote, Zotero, Mendeley and RefWorks do: `XX  - value`, one line each, from TY to ER; Markdown is
CommonMark.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate
from urllib.parse import quote

from deepcritical_mcp.export.reference import (
    ET_AL,
    FIELDS,
    SEASONS,
    TRIAL_GENRE,
    TYPES,
    Reference,
    listed_value,
    parts_of_date,
    words_with_case,
)
from deepcritical_mcp.models import (
    UNKNOWN_DATE,
    AuthorName,
    decision_line,
    decision_sentence,
    language_names,
    language_tag,
    status_label,
    vancouver,
)
from deepcritical_mcp.text import clean_line

_ESCAPES = str.maketrans(
    {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {sign: f"\\{sign}" for sign in "&%$#_{}"}
)
_NOT_IN_ADDRESSES = re.compile(r"[\s{}\\^`\"|]")


def bibtex_entry(reference: Reference) -> str:
    """One entry, with a line break at its end."""
    lines = [f"  {name} = {value}," for name, value in _bibtex_fields(reference).items() if value not in ("", "{}")]
    return "\n".join([f"@{TYPES[reference.form].bibtex}{{{reference.key},", *lines, "}", ""])


def _bibtex_fields(reference: Reference) -> dict[str, str]:
    publication, container = reference.publication, reference.container
    year, month, day = (*reference.date, 0, 0, 0)[:3]
    languages = language_names(publication.language)
    words = "" if reference.within_year[:1].isdecimal() else reference.within_year
    # As biblatex reads it: "2013-11/2013-12", "1990-21" for the spring of 1990.
    dates = "/".join("-".join(f"{part:02d}" for part in date) for date in reference.issued)
    if season := SEASONS.get(reference.within_year.lower()):
        dates = f"{year:04d}-{20 + season}"
    fields = {
        "title": f"{{{_bibtex_title(reference.title)}}}",
        "origtitle": _value(reference.original_title),
        "author": _joined(map(_bibtex_name, publication.authors)),
        "editor": _joined(map(_bibtex_name, publication.editors)),
        "year": f"{{{year:04d}}}" if year else "",
        "month": _value(words) if words else calendar.month_abbr[month].lower(),
        "date": f"{{{dates}}}" if day or publication.issue_date else "",
        "booktitle" if reference.form in ("chapter", "conference") else "journal": _value(container),
        **{names.bibtex: _value(getattr(publication, field)) for field, names in FIELDS.items()},
        "pages": f"{{{_tex('--'.join(reference.pages), dashes=True)}}}",
        "language": _joined(map(_name_part, languages)),
        "langid": _value(languages[0].lower()) if len(languages) == 1 and languages != ["English"] else "",
        "doi": f"{{{_address(publication.doi)}}}",
        "url": f"{{{_address(reference.url)}}}",
        "urldate": _value(reference.accessed),
        "note": _value(" ".join(reference.notes)),
        "keywords": f"{{{', '.join(_value(one) if ',' in one else _tex(one) for one in reference.keywords)}}}",
        "abstract": _value(reference.abstract),
        "annote": _value(reference.remark),
    }
    if reference.form == "preprint":
        fields |= {"howpublished": _value(f"{container} [Preprint]".strip()), "number": _value(publication.pages)}
        fields |= dict.fromkeys(("journal", "shortjournal", "publisher", "address", "volume", "pages"), "")
    if reference.form == "trial":
        fields |= {"institution": fields["publisher"], "publisher": "", "type": _value(TRIAL_GENRE)}
        fields["number"] = _value(publication.nct)
    return fields


def _value(text: str) -> str:
    return f"{{{_tex(text)}}}"


def _joined(parts: Iterable[str]) -> str:
    return f"{{{' and '.join(parts)}}}"


def _tex(text: str, *, dashes: bool = False) -> str:
    """`text` on one line with TeX's characters escaped; two hyphens stay two hyphens unless they mean a dash."""
    escaped = _balanced(clean_line(text)).translate(_ESCAPES)
    return escaped if dashes else re.sub("-(?=-)", "-{}", escaped)


def _balanced(text: str) -> str:
    """`text`, with parentheses for its braces if some are unmatched: BibTeX counts even escaped ones."""
    depths = [*accumulate((letter == "{") - (letter == "}") for letter in text)]
    is_balanced = not depths or (min(depths) >= 0 and not depths[-1])
    return text if is_balanced else text.replace("{", "(").replace("}", ")")


def _bibtex_title(title: str) -> str:
    """The title with braces around the words that keep their capitals when a style lowers the rest."""
    words = words_with_case(_balanced(clean_line(title)))
    escaped = ((re.sub("-(?=-)", "-{}", word.translate(_ESCAPES)), keeps) for word, keeps in words)
    return " ".join(f"{{{word}}}" if keeps and _balanced(word) == word else word for word, keeps in escaped)


def _bibtex_name(author: AuthorName) -> str:
    if author == ET_AL:
        return "others"
    if not author.given:
        return f"{{{_tex(author.family)}}}"
    parts = (author.family, author.suffix, author.given) if author.suffix else (author.family, author.given)
    return ", ".join(_name_part(part) for part in parts)


def _name_part(part: str) -> str:
    """In braces if readers would divide it: a lone escaped sign takes the space before the next "and" with it."""
    divides = "," in part or re.search(r"(?:^|\s)(?:and|[&%$#_{}]+)(?:\s|$)", part, re.IGNORECASE)
    return _value(part) if divides else _tex(part)


def _address(address: str) -> str:
    """A URL or DOI unescaped, since readers take it literally; characters that end a value are percent-encoded."""
    return _NOT_IN_ADDRESSES.sub(lambda match: f"%{ord(match[0]):02X}", address)


# What keeps its case without the quotation marks and brackets around it, which pandoc pairs up only outside of a span.
_CORE = re.compile(r"\w(?:[^\s\"“”„()\[\]{}<>]*(?: [a-z]+)?\w)?")
# "key: value" at the start of a note, and "{:key: value}" anywhere, override fields in pandoc, Zotero and citeproc.
_INITIALS = re.compile(r"(?<![^\s-])[A-Z]{2,3}(?![^\s-])")
_OVERRIDING = re.compile(r"[^:.]*:")


def csl_entry(reference: Reference) -> str:
    """One item of the array."""
    return json.dumps(csl_item(reference), ensure_ascii=False)


def csl_item(reference: Reference) -> dict[str, object]:
    """A reference's fields in CSL-JSON, without empty ones."""
    publication, pages = reference.publication, "-".join(reference.pages)
    # The words: Zotero would take a season's number for a month.
    season = reference.within_year if len(reference.date) == len(reference.issued) == 1 else ""
    fields: dict[str, object] = {
        "id": reference.key,
        "type": TYPES[reference.form].csl,
        "title": _csl_title(reference.title),
        "original-title": reference.original_title,
        "author": [_csl_name(author) for author in publication.authors if author != ET_AL],
        "editor": [_csl_name(editor) for editor in publication.editors],
        "issued": _date(*reference.issued) | ({"season": season} if season else {}),
        "available-date": _date(parts_of_date(publication.electronic_date)),
        "container-title": reference.container,
        **{names.csl: getattr(publication, field) for field, names in FIELDS.items()},
        "page": pages,
        "language": language_tag(publication.language),
        "DOI": publication.doi,
        "URL": reference.url,
        "accessed": _date(parts_of_date(reference.accessed or UNKNOWN_DATE)),
        "status": "retracted" if publication.status == "retracted" else "",
        "note": _note(reference),
        "annote": reference.remark,
        "keyword": "; ".join(reference.keywords),
        "abstract": reference.abstract,
    }
    if reference.form == "preprint":
        fields |= {"genre": "Preprint", "publisher": reference.container, "number": publication.pages}
        fields |= {"container-title": "", "container-title-short": "", "page": ""}
    if reference.form == "trial":
        fields |= {"genre": TRIAL_GENRE, "number": publication.nct}
    return {name: value for name, value in fields.items() if value}


def _csl_title(title: str) -> str:
    """The title, with the words marked that pandoc's and Zotero's styles must leave as they are."""
    mark = f"{status_label('retracted')}: " if title.startswith(f"{status_label('retracted')}: ") else ""
    words = words_with_case(title.removeprefix(mark))
    return mark + " ".join(
        _CORE.sub(_protected, one) if keeps and not {"<", ">"} & {*one} else one for one, keeps in words
    )


def _protected(core: re.Match[str]) -> str:
    has_case = any(letter.isupper() or letter.isdigit() for letter in core[0])
    return f'<span class="nocase">{core[0]}</span>' if has_case else core[0]


def _note(reference: Reference) -> str:
    """Status and facts on one line that no reader takes for further fields."""
    languages = language_names(reference.publication.language)
    said = f"Text in {' and '.join(languages)}. " if len(languages) > 1 else ""
    said += "Some authors before the last are left out." if ET_AL in reference.publication.authors else ""
    note = clean_line(" ".join((*reference.notes, *reference.licences, said))).replace("{:", "{ :")
    return f"Note. {note}" if _OVERRIDING.match(note) else note


def _date(*dates: tuple[int, ...]) -> dict[str, object]:
    return {"date-parts": dates} if any(dates) else {}


def _csl_name(author: AuthorName) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    # "J A" for "JA", of which styles would make "J.".
    given = _INITIALS.sub(lambda initials: " ".join(initials[0]), author.given)
    parts = {"family": author.family, "given": given, "suffix": author.suffix}
    return {name: part for name, part in parts.items() if part}


def ris_entry(reference: Reference) -> str:
    """One record, with a line break at its end."""
    lines = [f"{tag}  - {value}" for tag, text in _ris_fields(reference) if (value := clean_line(text))]
    return "\n".join([f"TY  - {TYPES[reference.form].ris}", *lines, "ER  - ", ""])


def _ris_fields(reference: Reference) -> Iterator[tuple[str, str]]:
    publication, date = reference.publication, reference.date
    yield "TI", reference.title
    yield from (("AU", _ris_name(author)) for author in publication.authors)
    if date:
        yield "PY", f"{date[0]:04d}"
        # Year, month, day and a free part ("Nov-Dec"), of which any may be empty.
        day = "/".join((publication.date.replace("-", "/"), *[""] * (4 - len(date))))
        yield "DA", day + reference.within_year.replace("/", "-")
    yield from (("A2", _ris_name(editor)) for editor in publication.editors)
    yield "T2", publication.book_title if reference.form == "chapter" else publication.journal
    yield "M3", {"preprint": "Preprint", "trial": TRIAL_GENRE}.get(reference.form, "")
    # A library's accession number, or else the PMID, which AN would also be.
    first = next((one for one in publication.accessions if one.number), None) if reference.is_of_library else None
    fields = {field: names.ris for field, names in FIELDS.items() if names.ris and not (first and field == "pmid")}
    yield from ((tag, getattr(publication, field)) for field, tag in fields.items())
    yield "AN", first.number if first else ""
    yield "DB", first.database if first else "PubMed" if publication.pmid else ""
    yield "N1", f"PMID: {publication.pmid}" if first and publication.pmid else ""
    # Of a report, Zotero and EndNote keep its number there.
    yield "SN", publication.nct if reference.form == "trial" else publication.isbn or publication.issn
    yield "Y2", reference.accessed.replace("-", "/")
    yield "LA", ", ".join(language_names(publication.language))
    yield from zip(("SP", "EP"), reference.pages, strict=False)
    yield "DO", publication.doi
    yield "UR", reference.url
    yield "N1", f"Original title: {reference.original_title}" if publication.vernacular_title else ""
    decided = decision_line(publication)
    yield "N1", f"Screening: {decided}" if decided else ""
    yield from (("N1", note) for note in (*reference.notes, *reference.licences, reference.remark))
    yield "AB", reference.abstract
    # Zotero splits keywords at semicolons.
    yield from (("KW", keyword.replace(";", ",")) for keyword in reference.keywords)


def _ris_name(author: AuthorName) -> str:
    """ "Family, Given, Suffix", or "Group," for EndNote. Commas in a part cannot be escaped and become semicolons."""
    family, *others = (part.replace(",", ";") for part in author[:3])
    return ", ".join(filter(None, (family, *others))) if author.given else f"{family},"


# Also what GitHub's Markdown makes a link of without being asked: "https://…", "www.…", "a@b".
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!^@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
# What makes a list, a heading or a rule of a line that begins with it.
_BLOCK_START = re.compile(r"^([^\S\n]*+(?:\d++(?=[.)]))?)([-+=:.)])", re.MULTILINE)
_NOT_IN_TARGETS = re.compile(r"[\s<>()\\\"`\[\]{}|^]")


def markdown_entry(reference: Reference) -> str:
    """A numbered section: status, citation, links, and what it says as a quotation."""
    heading = f"## {reference.number}. {_text(reference.title)}"
    return "\n\n".join([heading, *filter(None, _paragraphs(reference)), ""])


def entry_of_fields(reference: Reference, fields: Collection[str]) -> str:
    """A numbered section with what these fields say, and nothing that they do not, but for a mark."""
    values = {name: listed_value(reference, name) for name in fields if name != "title"}
    texts = [_quotation(values.pop(name, "")) for name in ("abstract", "notes")]
    lines = [f"- {name.replace('_', ' ')}: {_text(value)}" for name, value in values.items() if value]
    heading = f"## {reference.number}. {_text(reference.title)}"
    marks = [f"**{_text(reference.status_note)}**"] if reference.status_note else []
    return "\n\n".join([heading, *filter(None, (*marks, "\n".join(lines), *texts)), ""])


def _paragraphs(reference: Reference) -> Iterator[str]:
    if reference.status_note:
        label = status_label(reference.publication.status)
        yield (f"**{label}**" if label else "") + _text(reference.status_note.removeprefix(label))
    yield _blocks(clean_line(vancouver(reference.publication)))
    yield " · ".join(_links(reference))
    yield _text(decision_sentence(decision_line(reference.publication)))
    yield _text("".join(f"Decided {one}" for one in reference.publication.history[-1:]))
    yield _text(" ".join(filter(None, (reference.data_note, *reference.licences))))
    yield _quotation(reference.abstract or reference.pasted)
    if reference.user_notes and reference.publication.source != "user":
        yield "The user's note, not part of the source:"
    yield _quotation(reference.user_notes)


def _links(reference: Reference) -> Iterator[str]:
    one = reference.publication
    pmid, pmcid, nct = (quote(number, safe="") for number in (one.pmid, one.pmcid, one.nct))
    if pmid:
        yield f"[PMID {_text(one.pmid)}](https://pubmed.ncbi.nlm.nih.gov/{pmid}/)"
    if pmcid:
        yield f"[{_text(one.pmcid)}](https://pmc.ncbi.nlm.nih.gov/articles/{pmcid}/)"
    if one.doi:
        yield f"[doi:{_text(one.doi)}](https://doi.org/{quote(one.doi, safe='/')})"
    if nct and one.nct not in vancouver(one):
        is_at_home = nct.startswith("NCT")
        yield (f"[{_text(one.nct)}](https://clinicaltrials.gov/study/{nct})" if is_at_home else _text(one.nct))
    if reference.url and not pmid:
        target = _NOT_IN_TARGETS.sub(lambda match: quote(match[0], safe=""), reference.url)
        yield f"[{_text(reference.url)}]({target})"
    if one.asked:
        yield one.asked


def _text(text: str) -> str:
    return escaped(clean_line(text))


def escaped(text: str) -> str:
    """`text`, of which nothing is formatting or a link inside of a line."""
    return _SPECIAL.sub(r"\\\1", text)


def escaped_start(markdown: str) -> str:
    """Markdown of which no line begins a list, a heading or a rule."""
    return _BLOCK_START.sub(r"\1\\\2", markdown)


def _blocks(text: str) -> str:
    """`text` escaped so that no line of it begins a list or a heading."""
    return escaped_start(escaped(text))


def _quotation(text: str) -> str:
    """`text` as a quotation in which each of its lines is a paragraph."""
    return "\n>\n".join(f"> {line.strip()}" for line in _blocks(text).split("\n") if line.strip())
