"""A PubMed of records in files: their words and headings, PubMed's grammar, and a server on loopback that answers
E-utilities in their wire forms. Used by bench/recall.py, which says what is guessed.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from ncbi.mesh import Mesh, plain

FIELDS = {
    "title": ("ti", "title"),
    "tiab": ("tiab", "title/abstract", "ab", "abstract", "ot", "other term"),
    "all": ("all", "all fields", "tw", "text word", "text words", "word"),
    "mesh": ("mh", "mesh", "mesh terms", "majr", "mesh major topic"),
    "noexp": ("mesh:noexp", "mh:noexp", "mesh terms:noexp", "majr:noexp", "mesh major topic:noexp"),
    "action": ("pa", "pharmacological action"),
    "substance": ("nm", "supplementary concept", "substance name", "rn", "ec/rn number", "registry number"),
    "type": ("pt", "ptyp", "publication type"),
    "words": ("sh", "subheading", "mesh subheading"),
    "filter": ("sb", "filter", "subset"),
    "language": ("la", "lang", "language"),
    "date": ("dp", "pdat", "date - publication", "edat", "date - entry", "date - entrez", "crdt", "mhda"),
    "pmid": ("pmid", "uid"),
}
FIELD_OF = {tag: name for name, tags in FIELDS.items() for tag in tags}
TYPES = {
    "randomized controlled trial": r"randomi[sz]ed|randomly|double blind",
    "controlled clinical trial": r"controlled trial|placebo|randomi[sz]ed",
    "clinical trial": r"trial|randomi[sz]ed|double blind",
    "review": r"\breview\b|overview|^pharmacology of",
    "systematic review": r"systematic (literature )?review|meta analys",
    "systematic": r"systematic (literature )?review|meta analys|cochrane",
    "meta-analysis": r"meta analys",
    "observational study": r"cohort|case control|cross sectional|observational",
    "case reports": r"case report|a case of",
    "practice guideline": r"guideline",
}
STOP = set(
    """a about after again all almost also although always among an and another any are as at be because been before
    being between both but by can could did do does done due during each either enough especially etc for found from
    further had has have having here how however i if in into is it its itself just kg km made mainly make may mg might
    ml mm most mostly must nearly neither no nor obtained of often on or our overall perhaps pmid quite rather really
    regarding seem seen several should show showed shown shows significantly since so some such than that the their
    theirs them then there therefore these they this those through thus to upon use used using various very was we were
    what when which while with within without would""".split()
)


class PubMed:
    """The records, an inverted index of their words, and PubMed's grammar. A set of records is the bits of a number."""

    def __init__(self, folder: Path, mesh: Mesh | None = None) -> None:
        self.mesh, self.rows, numbers = mesh or Mesh(), list[dict[str, Any]](), dict[str, int]()
        self.kept: dict[str, tuple[set[str], set[str]]] = {}
        for path in sorted(folder.glob("*.jsonl.gz")):
            rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line]
            kept = [{row["pmid"] for row in rows if row[label]} for label in ("abstract_included", "included")]
            self.kept[path.name.split(".")[0]] = (kept[0], kept[1])
            for row in rows:
                if numbers.setdefault(row["pmid"], len(self.rows)) == len(self.rows):
                    self.rows.append(row)
        self.everything = (1 << len(self.rows)) - 1
        self._texts: dict[str, list[str]] = {"title": [], "tiab": [], "all": []}
        self._index: dict[str, dict[str, int]] = {name: defaultdict(int) for name in self._texts}
        self._headings: dict[str, int] = defaultdict(int)
        for number, row in enumerate(self.rows):
            title, abstract = plain(row["title"]), plain(row["abstract"])
            known = [self.mesh.by_name.get(plain(name)) for name in row["mesh"]]
            row["mesh"] = [one.names[0] if one else name for one, name in zip(known, row["mesh"], strict=True)]
            named = (self.mesh.by_name.get(run) for run in _runs(title.split()))
            row["substances"] = list(dict.fromkeys(one.names[0] for one in named if one and one.kind == "C"))
            names = [plain(name) for name in (*row["mesh"], *row["substances"])]
            for name in names:
                self._headings[name] |= 1 << number
            tiab = f" {title} | {abstract} "
            for name, text in (("title", f" {title} "), ("tiab", tiab), ("all", f"{tiab}| {' | '.join(names)} ")):
                self._texts[name].append(text)
                for word in set(text.split()):
                    self._index[name][word] |= 1 << number
        self._sorted = {name: sorted(index) for name, index in self._index.items()}
        self._cached: dict[tuple[str, str], int] = {}

    def pmids(self, bits: int) -> list[str]:
        return [self.rows[number]["pmid"] for number in _numbers(bits)]

    def phrase(self, text: str, name: str, near: int = -1) -> int:
        """Records with these words side by side, or with at most `near` words between them; * is the rest of a word."""
        words = re.findall(r"\w+\*?", text.casefold())
        found = self.everything if words else 0
        for word in words:
            found &= self._word(word, name)
        if len(words) < 2 or not found:
            return found
        texts, phrase = self._texts[name], f" {' '.join(words)} "
        pattern = re.compile(phrase.replace("*", r"\w*")) if "*" in phrase else None
        kept = 0
        for number in _numbers(found):
            text = texts[number]
            beside = bool(pattern.search(text)) if pattern else phrase in text
            kept |= (beside if near < 0 else _near(text, words, near)) << number
        return kept

    def _word(self, word: str, name: str) -> int:
        if not word.endswith("*"):
            return self._index[name].get(word, 0)
        found, words, start = 0, self._sorted[name], word[:-1]
        for place in range(bisect_left(words, start), len(words)):
            if not words[place].startswith(start):
                break
            found |= self._index[name][words[place]]
        return found

    def term(self, text: str, tag: str, reading: Reading) -> int:
        """One term of a query with its tag."""
        near = re.search(r":~(\d+)$", tag)
        base = FIELD_OF.get(tag.removesuffix(near[0]) if near else tag, "")
        if not base:
            reading.no_fields.append(tag)
        name, quoted = base or "all", text.startswith('"')
        text = text.strip().strip('"').strip()
        key = (text.casefold(), tag)
        if key not in self._cached:
            self._cached[key] = self._of_field(text, name, int(near[1]) if near else -1, reading)
        found = self._cached[key]
        if not found and name in ("title", "tiab", "all") and not near and plain(text) not in self.mesh.by_name:
            if quoted and " " in plain(text):
                reading.no_phrases.append(f'"{text}"')
            if " " in plain(text):  # the phrase is not in the index: its words are searched for
                found = self.everything
                for word in re.findall(r"\w+\*?", text.casefold()):
                    found &= self._word(word, name)
        return found

    def _of_field(self, text: str, name: str, near: int, reading: Reading) -> int:
        words = plain(text)
        if name in ("title", "tiab", "all"):
            return self.phrase(text, name, near)
        if name in ("mesh", "noexp", "substance", "action"):
            heading, _, qualifier = text.partition("/")
            record = self.mesh.by_name.get(plain(heading))
            if record is None and plain(heading) not in self._headings:
                reading.unknown.append(text)
            if name == "action":
                exact = (
                    [plain(one.names[0]) for one in self.mesh.members.get(plain(record.names[0]), [])] if record else []
                )
            else:
                wide = self.mesh.below(record) if record and name == "mesh" else [record] if record else []
                exact = [plain(one.names[0]) for one in wide if (one.kind == "C") == (name == "substance")]
            found = 0
            for one in exact or [plain(heading)] * (record is None and name != "action"):
                found |= self._headings.get(one, 0)
            return found & self._of_field(qualifier, "words", -1, reading) if qualifier else found
        if name == "type":
            return self._matching(TYPES.get(text.casefold(), r"(?!)"))
        if name == "words":
            found = 0
            for word in words.split():
                found |= self._word(f"{word[:6]}*", "all")
            return found
        if name == "filter":
            kinds = {"all": self.everything, "medline": self.everything, "hasabstract": self._matching(r"\| \w+ ")}
            return kinds.get(words, self._matching(TYPES.get(text.casefold(), r"(?!)")))
        if name == "language":
            return self.everything if words in ("english", "eng") else 0
        if name == "date":
            years = [int(one) for one in re.findall(r"\b(\d{4})\b", text)]
            first, last = years[0], years[-1]
            return sum((first <= _year(row["pmid"]) <= last) << number for number, row in enumerate(self.rows))
        return sum((row["pmid"] == words) << number for number, row in enumerate(self.rows))

    def _matching(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, text)) << number for number, text in enumerate(self._texts["tiab"]))

    def mapped(self, words: list[str], reading: Reading) -> int:
        """Automatic term mapping: the longest names in MeSH first, else a word and its number; all of them by AND."""
        found, place, parts = self.everything, 0, list[str]()
        words = [word for word in words if plain(word)]
        while place < len(words):
            record, size = None, min(8, len(words) - place) + 1
            while not record and size > 1:
                size -= 1
                given = " ".join(words[place : place + size])
                record = self.mesh.by_name.get(plain(given)) if given.casefold() not in STOP else None
            given = " ".join(words[place : place + size])
            place += size
            if record is None and given.casefold() in STOP:
                continue
            bits, forms = self.everything, [f'"{word}"[All Fields]' for word in plain(given).split()]
            for word in re.findall(r"\w+\*?", given.casefold()):
                bits &= self._word(word, "all") | self._word(word + "s", "all") | self._word(word.rstrip("s"), "all")
            text = forms[0] if len(forms) == 1 else f"({' AND '.join(forms)})"
            if record:
                name, tag = record.names[0], "Supplementary Concept" if record.kind == "C" else "MeSH Terms"
                tags = ([("Pharmacological Action")] if plain(name) in self.mesh.members else []) + [tag]
                for one in tags:
                    bits |= self.term(f'"{name}"', one.casefold(), reading)
                text = " OR ".join([*(f'"{name.lower()}"[{one}]' for one in tags), text])
                reading.translations.append({"from": given, "to": text})
            found &= bits
            parts.append(f"({text})" if record else text)
        reading.parts.append(" AND ".join(parts))
        return found if parts else 0

    def search(self, query: str) -> tuple[int, Reading]:
        reading = Reading()
        query = re.sub(r'"?(\d{4}[\d/]*)"?\s*(?:\[[^\]]*\])?\s*:\s*"?(\d{4}[\d/]*)"?\s*(\[[^\]]*\])', r"\1:\2\3", query)
        word = r'(?!(?:AND|OR|NOT)\b)[^\s()"\[\]]+'
        tokens = re.findall(
            rf'[()]|"[^"]*"(?:\s*\[[^\]]*\])?|(?:AND|OR|NOT)\b|{word}(?:\s+{word})*(?:\s*\[[^\]]*\])?', query
        )
        place = 0

        def group() -> int | None:
            nonlocal place
            value: int | None = None
            operator = "AND"
            while place < len(tokens):
                token = tokens[place]
                place += 1
                if token == ")":
                    break
                if token in ("AND", "OR", "NOT"):
                    operator = token
                    reading.parts.append(token)
                    continue
                if token == "(":
                    reading.parts.append("(")
                    found = group()
                    reading.parts.append(")")
                elif match := re.fullmatch(r"(.*?)\s*\[([^\]]*)\]", token, re.DOTALL):
                    found = self.term(match[1], " ".join(match[2].casefold().split()), reading)
                    reading.parts.append(token)
                elif token.startswith('"'):
                    found = self.term(token, "all fields", reading)
                    reading.parts.append(f"{token}[All Fields]")
                else:
                    found = self.mapped(token.replace(",", " ").split(), reading)
                if found is not None:
                    if value is None:
                        value = self.everything & ~found if operator == "NOT" else found
                    else:
                        value = (
                            value & found
                            if operator == "AND"
                            else value | found
                            if operator == "OR"
                            else value & ~found
                        )
                operator = "AND"
            return value

        return group() or 0, reading


@dataclass
class Reading:
    """How a query was read."""

    parts: list[str] = field(default_factory=list[str])
    translations: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    no_fields: list[str] = field(default_factory=list[str])
    no_phrases: list[str] = field(default_factory=list[str])
    unknown: list[str] = field(default_factory=list[str])


def _numbers(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def _runs(words: list[str]) -> Iterator[str]:
    """The runs of up to six words."""
    for start in range(len(words)):
        yield from (" ".join(words[start:stop]) for stop in range(start + 1, min(start + 6, len(words)) + 1))


def _near(text: str, words: list[str], near: int) -> bool:
    """All words in one field, in any order, with at most `near` others between them."""
    size = len(words) + near
    for one in text.split("|"):
        found = one.split()
        fits = [[has.startswith(w[:-1]) if w.endswith("*") else has == w for has in found] for w in words]
        if any(all(any(row[start : start + size]) for row in fits) for start in range(len(found))):
            return True
    return False


def _year(pmid: str) -> int:
    return 1966 + int(pmid) * 38 // 15_000_000


class Answering(BaseHTTPRequestHandler):
    """E-utilities of `pubmed`."""

    protocol_version = "HTTP/1.1"
    pubmed: PubMed

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        params = dict(parse_qsl(query, keep_blank_values=True)) | dict(parse_qsl(body, keep_blank_values=True))
        answer = getattr(self, "_" + path.rsplit("/", 1)[-1].partition(".")[0], self._missing)(params)
        text = answer if isinstance(answer, str) else json.dumps({"header": {"version": "0.3"}, **answer})
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml" if isinstance(answer, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _missing(self, params: dict[str, str]) -> dict[str, Any]:
        return {"linksets": [{}]}

    def _espell(self, params: dict[str, str]) -> str:
        return "<eSpellResult><CorrectedQuery/><ERROR/></eSpellResult>"

    def _esearch(self, params: dict[str, str]) -> str | dict[str, Any]:
        term, reading = params.get("term", ""), Reading()
        if params.get("db") == "mesh":
            ids = self.pubmed.mesh.found(term)
        else:
            dates = [params[end] for end in ("mindate", "maxdate") if params.get(end)]
            bits, reading = self.pubmed.search(f"({term}) AND {':'.join(dates)}[dp]" if dates else term)
            words = set(plain(term).split())
            ids = sorted(self.pubmed.pmids(bits), key=int, reverse=True)
            if params.get("sort") == "relevance" and int(params.get("retmax") or 20):
                titles = {row["pmid"]: len(words & set(plain(row["title"]).split())) for row in self.pubmed.rows}
                ids.sort(key=lambda pmid: -titles[pmid])
        start, size = int(params.get("retstart") or 0), int(params.get("retmax") or 20)
        page = ids[start : start + size]
        if params.get("retmode") != "json":
            found = "".join(f"<Id>{one}</Id>" for one in page)
            return (
                f"<eSearchResult><Count>{len(ids)}</Count><RetMax>{len(page)}</RetMax><RetStart>{start}</RetStart>"
                f"<IdList>{found}</IdList><TranslationSet/><QueryTranslation>{escape(' '.join(reading.parts))}"
                "</QueryTranslation></eSearchResult>"
            )
        if params.get("rettype") == "count":
            return {"esearchresult": {"count": str(len(ids))}}
        result: dict[str, Any] = {"count": str(len(ids)), "retmax": str(len(page)), "retstart": str(start)}
        result |= {"idlist": page, "translationset": reading.translations, "querytranslation": " ".join(reading.parts)}
        if reading.unknown or reading.no_fields:
            result["errorlist"] = {"phrasesnotfound": reading.unknown, "fieldsnotfound": reading.no_fields}
        if reading.no_phrases or not ids:
            messages = [] if ids else ["No items found."]
            result["warninglist"] = {"phrasesignored": [], "quotedphrasesnotfound": reading.no_phrases}
            result["warninglist"]["outputmessages"] = messages
        return {"esearchresult": result}

    def _esummary(self, params: dict[str, str]) -> dict[str, Any]:
        uids = [uid for uid in params["id"].split(",") if uid in self.pubmed.mesh.records or params["db"] != "mesh"]
        if params["db"] == "mesh":
            return {"result": {"uids": uids, **{uid: self.pubmed.mesh.summary(uid) for uid in uids}}}
        rows = {row["pmid"]: row for row in self.pubmed.rows if row["pmid"] in uids}
        found = {uid: {"uid": uid, "title": row["title"], "pubdate": str(_year(uid))} for uid, row in rows.items()}
        return {"result": {"uids": list(found), **found}}

    def _efetch(self, params: dict[str, str]) -> str:
        uids = params["id"].split(",")
        rows = sorted((row for row in self.pubmed.rows if row["pmid"] in uids), key=lambda row: uids.index(row["pmid"]))
        return f"<PubmedArticleSet>{''.join(map(_article, rows))}</PubmedArticleSet>"


def _article(row: dict[str, Any]) -> str:
    def headings(tag: str, name: str) -> str:
        given = row["mesh"] if tag == "MeshHeading" else row["substances"]
        return "".join(f"<{tag}><{name} UI='D0'>{escape(one)}</{name}></{tag}>" for one in given)

    pmid, abstract = row["pmid"], f"<Abstract><AbstractText>{escape(row['abstract'])}</AbstractText></Abstract>"
    return (
        f"<PubmedArticle><MedlineCitation Status='MEDLINE'><PMID Version='1'>{pmid}</PMID><Article PubModel='Print'>"
        f"<Journal><JournalIssue CitedMedium='Print'><PubDate><Year>{_year(pmid)}</Year></PubDate></JournalIssue>"
        f"<Title>Records</Title></Journal><ArticleTitle>{escape(row['title'])}</ArticleTitle>"
        f"{abstract if row['abstract'] else ''}<Language>eng</Language><PublicationTypeList>"
        "<PublicationType UI='D016428'>Journal Article</PublicationType></PublicationTypeList></Article>"
        f"<ChemicalList>{headings('Chemical', 'NameOfSubstance')}</ChemicalList>"
        f"<MeshHeadingList>{headings('MeshHeading', 'DescriptorName')}</MeshHeadingList></MedlineCitation><PubmedData>"
        f"<ArticleIdList><ArticleId IdType='pubmed'>{pmid}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>"
    )


def serve(pubmed: PubMed, answering: type[Answering] = Answering) -> ThreadingHTTPServer:
    handler = type("Handler", (answering,), {"pubmed": pubmed})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
