"""JATS, the XML of PMC, Europe PMC and many publishers: an article's text in sections, and what it says about itself.

Rules of the format: the Journal Article Tag Library of NISO Z39.96.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.dates import date_of_parts
from deepcritical_mcp.identifiers import is_preprint_doi, normalize_doi, normalize_pmcid, normalize_pmid
from deepcritical_mcp.models import (
    NO_TITLE,
    PREPRINT,
    UNKNOWN_DATE,
    AuthorName,
    RecordLink,
    language_names,
    split_name,
    status_from_links,
    without_retraction_mark,
)
from deepcritical_mcp.reading import Reading, Section, assembled
from deepcritical_mcp.reading.jats_sections import OCR, JatsPart, add_floats, part_of
from deepcritical_mcp.reading.jats_text import ELEMENTS, line_of, named_as
from deepcritical_mcp.reading.xml_tree import NOTHING, XmlError, attribute, first, read_xml

_CREATIVE_COMMONS = re.compile(r"https?://(?:www\.)?creativecommons\.org/[^\s<>\"')\]]{3,100}")
_KINDS_OF_LINK = ("related-article-type", "link-type", "content-type", "document-type", "object-type")
_DATES = ("ppub", "epub-ppub", "epub", "collection", "pub", "preprint", "")
"""Whose date counts, best first: that of the issue, as in PubMed."""
_PATHS = {name: paths.split() for name, paths in data_table(__file__, "jats_fields.txt").items()}


def front_of(article: Element) -> Element:
    """The front matter of an article, or the front stub of a sub-article; an empty element if it has none."""
    front = next((one for name in ("front", "front-stub") if (one := article.find(name)) is not None), NOTHING)
    meta = front.find("article-meta")
    return front if meta is None else meta


def bibliography_of(article: Element) -> dict[str, object]:
    """The fields of `Publication` that the article fills, except its texts; only those with a value."""
    meta = front_of(article)
    journal = first(article, "front/journal-meta")
    ids = _ids(meta)
    doi = normalize_doi(ids.get("doi", ""))
    is_preprint = attribute(article, "article-type") == "preprint" or is_preprint_doi(doi)
    dates, ends = _dates(meta), dict.fromkeys(filter(None, (_text(meta, "fpage"), _text(meta, "lpage"))))
    people, title = meta.iterfind("contrib-group/contrib"), title_of(article)
    authors = (_name(one) for one in people if attribute(one, "contrib-type") in ("author", ""))
    fields: dict[str, object] = {
        "source": "preprint" if is_preprint else "pubmed",
        "title": title or NO_TITLE,
        "authors": tuple(name for name in authors if name.family),
        **{name: _text(meta if name in ("volume", "issue") else journal, *paths) for name, paths in _PATHS.items()},
        "pages": "-".join(ends) or _text(meta, "page-range", "elocation-id"),
        "date": next((dates[kind] for kind in (*_DATES, *dates) if dates.get(kind)), UNKNOWN_DATE),
        "electronic_date": dates.get("epub", UNKNOWN_DATE),
        "pmid": ids.get("pmid", ""),
        "pmcid": ids.get("pmcid", ""),
        "doi": doi,
        "url": _address(ids, doi),
        "language": attribute(article, "lang").partition("-")[0].lower(),
        "publication_types": _publication_types(article, is_preprint=is_preprint),
        "keywords": tuple(dict.fromkeys(_keywords(meta))),
    }
    known = {name: value for name, value in fields.items() if value not in ("", (), UNKNOWN_DATE)}
    types = _publication_types(article, is_preprint=False)
    status, notices = status_from_links(dict.fromkeys(_links(article)), types, "")
    status = status if without_retraction_mark(title) == title else "retracted"
    return known | ({"status": status, "status_notices": notices} if status != "ok" else {})


def people_of(article: Element) -> Iterator[str]:
    """Who wrote or edited an article or sub-article, each once, with what it calls those who did not write it: "Jane
    Roe, editor"."""
    named: dict[str, str] = {}
    for contributor in front_of(article).iterfind("contrib-group/contrib"):
        name = _name(contributor)
        kind = attribute(contributor, "contrib-type").replace("-", " ").lower()
        if whole := f"{name.given} {name.family}".strip():
            named.setdefault(whole, "" if kind in ("author", "") else kind)
    yield from (", ".join(filter(None, one)) for one in named.items())


def title_of(article: Element) -> str:
    """The title of an article or sub-article, with its subtitle; "" if it has none."""
    titles = first(front_of(article), "title-group")
    title = line_of(titles.find("article-title"))
    subtitle = line_of(titles.find("subtitle"))
    return f"{title}{'' if title.endswith((':', '?', '!')) else ':'} {subtitle}" if title and subtitle else title


def licence_of(article: Element) -> str:
    """What the article may be used for: the address of its licence, else the licence's words, else the copyright."""
    permissions = first(front_of(article), "permissions")
    licences = permissions.findall("license")
    addresses = [attribute(licence, "href") for licence in licences]
    addresses += [line_of(one) for one in permissions.iter("license_ref")]
    if found := next(filter(None, addresses), ""):
        return found
    links = " ".join([*(attribute(one, "href") for one in permissions.iter("ext-link")), line_of(permissions)])
    if common := _CREATIVE_COMMONS.search(links):
        return common[0].rstrip(".,;")
    words = next((text for one in licences if (text := line_of(one))), "") or _text(permissions, "copyright-statement")
    return words[:300]


def _links(article: Element) -> Iterator[RecordLink]:
    """The links in the front matter to articles, preprints and the like that have a DOI, PMID or PMCID."""
    # Some studies link to what they build on as "corrected-article".
    is_study = attribute(article, "article-type") in ELEMENTS["study"]
    meta = front_of(article)
    for link in (*meta.iter("related-article"), *meta.iter("related-object")):
        kind = next(filter(None, (attribute(link, name) for name in _KINDS_OF_LINK)), "")
        attributes = ("href", "document-id", "object-id", "source-id")
        id, id_type = next(filter(None, (attribute(link, name) for name in attributes)), ""), "ext-link-type"
        if not id and (number := link.find(".//pub-id")) is not None:
            id, id_type, link = line_of(number), "pub-id-type", number
        doi, id_type = normalize_doi(id.removeprefix("info:doi/")), attribute(link, id_type).lower()
        if is_study and kind in ELEMENTS["about"]:
            continue
        if doi.startswith("10.") and "/" in doi:
            yield RecordLink(kind, f"doi:{doi}")
        elif id_type in ("pmid", "pubmed") and normalize_pmid(id):
            yield RecordLink(kind, "", normalize_pmid(id))
        elif id_type in ("pmc", "pmcid") and id:
            yield RecordLink(kind, _pmcid(id))


def _ids(meta: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in meta.iterfind("article-id"):
        kind, value = attribute(one, "pub-id-type").lower(), line_of(one)
        if kind in ("pmc", "pmcid") and value:
            found.setdefault("pmcid", _pmcid(value))
        elif kind == "pmid":
            found.setdefault("pmid", normalize_pmid(value))
        else:
            found.setdefault(kind, value)
    return found


def _pmcid(value: str) -> str:
    return normalize_pmcid(value) or normalize_pmcid(f"PMC{value}") or value


def _address(ids: dict[str, str], doi: str) -> str:
    if pmid := ids.get("pmid"):
        return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"
    if pmcid := ids.get("pmcid"):
        return f"https://pmc.ncbi.nlm.nih.gov/articles/{pmcid}/"
    return f"https://doi.org/{doi}" if doi else ""


def _name(contributor: Element) -> AuthorName:
    names = (*contributor.findall("name-alternatives/name"), *contributor.findall("name"))
    for name in sorted(names, key=lambda one: attribute(one, "name-style") == "eastern"):
        family, given, suffix = (line_of(name.find(part)) for part in ("surname", "given-names", "suffix"))
        return AuthorName(family, given, suffix) if family else AuthorName(given)
    if (whole := contributor.find(".//string-name")) is not None:
        family, given = (line_of(whole.find(part)) for part in ("surname", "given-names"))
        return AuthorName(family, given) if family else split_name(line_of(whole))
    group = first(contributor, ".//collab")  # without the names of its members
    named = [child for child in group if child.tag in ("institution", "named-content", "institution-wrap", "italic")]
    own = " ".join(filter(None, [group.text or "", *map(line_of, named), *(child.tail or "" for child in group)]))
    return AuthorName(" ".join(own.split()))


def _dates(meta: Element) -> dict[str, str]:
    """The dates of publication by kind, "YYYY[-MM[-DD]]"; those of PMC itself come last."""
    found: dict[str, str] = {}
    for one in meta.iterfind("pub-date"):
        kind = attribute(one, "pub-type") or attribute(one, "date-type")
        form = attribute(one, "publication-format")
        if kind in ("pub", "publication", "") and form:
            kind = "epub" if form.startswith(("electronic", "online")) else "ppub" if form == "print" else kind
        year, month, day, text = (_text(one, name) for name in ("year", "month", "day", "string-date"))
        if date := date_of_parts(year, month, day, text):
            found.setdefault(kind, date)
    return dict(sorted(found.items(), key=lambda item: item[0] in ("pmc-release", "nihms-submitted", "pmc")))


def _publication_types(article: Element, *, is_preprint: bool) -> tuple[str, ...]:
    kind = attribute(article, "article-type")
    named = "" if kind in ("article", "other") else named_as("article", kind)
    return tuple(dict.fromkeys(filter(None, (named, PREPRINT if is_preprint else ""))))


def _keywords(meta: Element) -> Iterator[str]:
    for group in meta.iterfind("kwd-group"):
        if not attribute(group, "kwd-group-type").lower().startswith("abbr"):
            yield from filter(None, (line_of(one) for name in ("kwd", "compound-kwd") for one in group.iter(name)))


def _text(element: Element, *paths: str) -> str:
    """The first text at one of `paths`, tried in this order; "" if there is none."""
    return next((text for path in paths for one in element.iterfind(path) if (text := line_of(one))), "")


MAX_BYTES = 30_000_000
"""Several times the longest article with its formulas."""
_DAMAGED = "The document is damaged or cut off: some of its text may be missing."
_WITHHELD = "does not allow downloading of the full text"
"""In a comment of PMC's."""
_FORMULAS_ARE_IMAGES = "Some formulas are images: […] stands for each of them."
_ANCHORS = {"table": "t", "figure": "f", "references": "r"}


def read_jats(data: bytes) -> list[Reading]:
    """What each `<article>` in an answer says, in order; [] if it is XML without one.

    Blocks for some 20 ms an article. Raises only XmlError, if the answer is not XML, or no article has its size or
    depth. Of a damaged answer it reads what is there, and every reading says so in `remarks`.
    """
    if len(data) > MAX_BYTES:
        raise XmlError(f"it has more than {MAX_BYTES:,} bytes")
    root, text, is_damaged = read_xml(data, is_huge=True)
    for element in root.iter():
        if "}" in element.tag or ":" in element.tag:
            element.tag = re.split("[}:]", element.tag)[-1] or "unnamed"
    is_withheld = _WITHHELD in text
    try:
        return [_reading(one, is_damaged=is_damaged, is_withheld=is_withheld) for one in _outermost_articles(root)]
    except RecursionError as error:
        raise XmlError("its elements are nested too deeply") from error


def _outermost_articles(element: Element) -> list[Element]:
    if element.tag == "article":
        return [element]
    return [article for child in element for article in _outermost_articles(child)]


def _reading(article: Element, *, is_damaged: bool, is_withheld: bool) -> Reading:
    main, others = _abstracts(article)
    body = _whole(article, "body")
    has_text = not body.is_empty
    content, parts = assembled(_sections(article, main, others, body)) if has_text else ("", ())
    abstract = "" if main is None else "\n".join(_lines(part_of(main, "")))
    is_ocr = any(attribute(one, "preformat-type") == OCR for one in article.iter("preformat"))
    formulas = (one for name in ("inline-formula", "disp-formula") for one in article.iter(name))
    has_images = has_text and any(not "".join(one.itertext()).strip() for one in formulas)
    remarks = (_DAMAGED if is_damaged else "", _FORMULAS_ARE_IMAGES if has_images else "")
    return Reading(
        content,
        parts,
        bibliography_of(article),
        abstract=abstract,
        licence=licence_of(article),
        is_ocr=is_ocr,
        remarks=tuple(filter(None, remarks)),
        is_withheld=is_withheld and not has_text,
    )


def _sections(article: Element, main: Element | None, others: Sequence[Element], body: JatsPart) -> list[Section]:
    """All parts of an article in the order in which they are read."""
    out = _Writer()
    beside = JatsPart()
    if main is not None:
        add_floats(beside, main)
    out.write_all(beside, "s")
    for number, abstract in enumerate(others, 1):
        out.write(part_of(abstract, _abstract_title(abstract)), f"a{number}")
    out.write_all(body, "s")
    floats = _whole(article, "floats-group")
    own = JatsPart(paragraphs=floats.paragraphs)
    out.write_all(JatsPart(floats=floats.floats, sections=[own, *floats.sections]), "s")
    out.write_all(_whole(article, "back"), "b")
    for number, inner in enumerate(_sub_articles(article), 1):
        out.inside = f"x{number}"
        out.write(_sub_article(inner), out.inside)
    return out.sections


class _Writer:
    """Parts as a flat list with anchors and paths."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self._numbers: dict[str, int] = {}
        self.inside = ""  # the anchor of the sub-article that is being written

    def write_all(self, root: JatsPart, prefix: str) -> None:
        """A body or the like: its own text is "s0", its sections are "s1", "s2" and so on."""
        parent = ""
        if root.paragraphs:
            parent = f"{prefix}0"
            self._append(JatsPart(paragraphs=root.paragraphs), parent, (), "")
        self._write_floats(root, (), parent)
        for part in root.sections:
            number = self._numbers[prefix] = self._numbers.get(prefix, 0) + 1
            self.write(part, f"{prefix}{number}")

    def write(self, part: JatsPart, anchor: str, path: tuple[str, ...] = (), parent: str = "") -> None:
        """A section, its tables and figures, and its sections; nothing of what is empty."""
        if part.is_empty:
            return
        if part.title:
            path = (*path, part.title)
        if part.title or part.paragraphs:
            self._append(part, anchor, path, parent)
            parent = anchor
        self._write_floats(part, path, parent)
        for number, section in enumerate(part.sections, 1):
            self.write(section, f"{anchor}.{number}", path, parent)

    def _write_floats(self, part: JatsPart, path: tuple[str, ...], parent: str) -> None:
        for one in part.floats:
            if one.is_empty:
                continue
            kind = f"{self.inside}{_ANCHORS[one.kind]}"
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            self._append(one, f"{kind}{number}", (*path, one.title), parent)

    def _append(self, part: JatsPart, anchor: str, path: tuple[str, ...], parent: str) -> None:
        kind = "sub_article" if self.inside else part.kind
        self.sections.append(Section(anchor, part.paragraphs, kind, path, parent))


def _whole(article: Element, *names: str) -> JatsPart:
    """The trees of all children of these names as one."""
    whole = JatsPart()
    for element in (one for name in names for one in article.findall(name)):
        whole.add(part_of(element, ""))
    return whole


def _abstracts(article: Element) -> tuple[Element | None, list[Element]]:
    """The main abstract, and the others: short ones, those for lay people, those in other languages."""
    meta = front_of(article)
    found = [*meta.findall("abstract"), *meta.findall("trans-abstract")]
    own = [one for one in found if one.tag == "abstract"]
    main = [one for one in own if not _type(one) or _type(one) in ELEMENTS["main-abstract"]]
    main = main or [one for one in own if _type(one) not in ELEMENTS["other-abstract"]]
    main = [one for one in main if attribute(one, "lang") in ("", attribute(article, "lang"))] or main
    return (main[0] if main else None), [one for one in found if one not in main[:1]]


def _type(abstract: Element) -> str:
    return attribute(abstract, "abstract-type").lower()


def _abstract_title(abstract: Element) -> str:
    kind = _type(abstract)
    title = line_of(abstract.find("title")) or (named_as("abstract", kind) if kind else "Abstract")
    languages = language_names(attribute(abstract, "lang").partition("-")[0])
    return f"{title} ({languages[0]})" if abstract.tag == "trans-abstract" and languages else title


def _lines(part: JatsPart) -> Iterator[str]:
    """An abstract as PubMed has it: a section a line, with its title in front."""
    text = "\n".join(part.paragraphs)
    yield from filter(None, (f"{part.title.rstrip(': ')}: {text}" if part.title and text else text,))
    for section in part.sections:
        yield from _lines(section)


def _sub_articles(article: Element) -> Iterator[Element]:
    """The sub-articles and responses, and those inside them, in order."""
    for child in article:
        if child.tag in ("sub-article", "response"):
            yield child
            yield from _sub_articles(child)


def _sub_article(element: Element) -> JatsPart:
    kind = attribute(element, "article-type") or attribute(element, "response-type") or element.tag
    whole = JatsPart(_sub_title(element, kind))
    meta = front_of(element)
    abstracts = (*meta.findall("abstract"), *meta.findall("trans-abstract"))
    whole.sections += [part_of(abstract, _abstract_title(abstract)) for abstract in abstracts]
    whole.add(_whole(element, "body", "floats-group", "back"))
    return whole


def _sub_title(element: Element, kind: str) -> str:
    """What a sub-article is, and who wrote it: "Decision letter (by Jane Roe, editor)", "Translation (Portuguese)"."""
    named = named_as("sub-article", kind)
    title = title_of(element)
    is_named = not title or kind == "article-commentary" or named.casefold() in title.casefold()
    languages = language_names(attribute(element, "lang").partition("-")[0]) if kind == "translation" else []
    people = "" if kind == "translation" else "; ".join(people_of(element))
    inside = ", ".join(filter(None, ("" if is_named else named.lower(), *languages[:1])))
    inside = " ".join(filter(None, (inside, f"by {people}" if people else "")))
    return f"{title or named} ({inside})" if inside else title or named
