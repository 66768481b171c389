"""A stand-in for E-utilities that knows a few MeSH records and papers; answers in NCBI's wire form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import httpx
from pydantic import SecretStr

from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.source import PubMedVocabulary
from tests.search.expansion.queries import finds
from tests.sources.ncbi import article, efetch

Answer = Callable[[Mapping[str, str]], httpx.Response]


@dataclass(frozen=True)
class Record:
    """A record of the MeSH database: its number (D000544 has 544), names with the heading first, the branch of the tree
    that it is in, and neighbors; `kind` is "C" for a supplementary concept, "R" for a pharmacological action, which has
    `substances` ("DEnalapril", "Cbopindolol")."""

    number: int
    names: tuple[str, ...]
    tree: str
    parents: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    kind: str = "D"
    substances: tuple[str, ...] = ()

    @property
    def uid(self) -> str:
        return f"{ord(self.kind)}{self.number:06d}"

    def summary(self) -> dict[str, object]:
        return {
            "uid": self.uid,
            "ds_yearintroduced": "",
            "ds_scopenote": f"What {self.names[0]} is.",
            "ds_meshterms": list(self.names),
            "ds_meshui": f"{'D' if self.kind == 'R' else self.kind}{self.number:06d}",
            "ds_recordtype": "pharmacological-action" if self.kind == "R" else "descriptor",
            "ds_palist": list(self.substances),
            "ds_subheading": ["therapy"],
            "ds_idxlinks": [
                {
                    "parent": f"68{parent:06d}" if parent else "1000048",
                    "treenum": f"{self.tree}.{place}",
                    "children": [68_000_000 + child for child in self.children],
                }
                for place, parent in enumerate((self.parents or (0,)) if self.tree else ())
            ],
        }


METFORMIN = Record(
    8687, ("Metformin", "Dimethylbiguanidine", "Glucophage", "Metformin Hydrochloride"), "D02.078.370", (1645,)
)
BIGUANIDES = Record(1645, ("Biguanides",), "D02.078.370", (0,), (8687,))
ALZHEIMER = Record(
    544,
    ("Alzheimer Disease", "Alzheimer's Disease", "Disease, Alzheimer", "Senile Dementia", "Dementia, Presenile"),
    "C10.228",
    (3704, 24801),
    (99001,),
)
DEMENTIA = Record(3704, ("Dementia", "Amentia"), "C10.228", (1927,), (544,))
TAUOPATHIES = Record(24801, ("Tauopathies",), "C10.228", (1927,), (544,))
EARLY_ONSET = Record(99001, ("Early Onset Alzheimer Disease",), "C10.228", (544,))
RECORDS = (METFORMIN, BIGUANIDES, ALZHEIMER, DEMENTIA, TAUOPATHIES, EARLY_ONSET)
LIBRARY = (
    *RECORDS,
    Record(8881, ("Migraine Disorders", "Migraine", "Migraines", "Sick Headache"), "C10.228.140"),
    Record(77236, ("Topiramate", "Topamax"), "D09.408.180"),
    Record(11433, ("Propranolol", "Inderal"), "D02.078.370"),
    Record(7010, ("Hyponatremia", "Hyponatremias"), "C18.452"),
    Record(20127, ("Thiazides", "Thiazide Diuretics"), "D03.383.663"),
    Record(6528, ("Carcinoma, Hepatocellular", "Hepatocellular Carcinoma", "Hepatoma"), "C04.588"),
    Record(3924, ("Gout", "Gouts"), "C05.550"),
    Record(493, ("Allopurinol", "Zyloprim"), "D03.383.663"),
    Record(69465, ("Febuxostat", "Uloric"), "D03.383.663"),
    Record(15994, ("Incidence", "Incidence Rate"), "E05.318.308"),
    Record(9026, ("Mortality", "Death Rate"), "E05.318.308"),
    Record(11788, ("Quality of Life", "Life Quality"), "I01.800"),
    Record(328, ("Adult", "Adults"), "M01.060"),
    Record(9726, ("Nurses", "Nurse", "Nursing Personnel"), "M01.526"),
    Record(2055, ("Burnout, Psychological", "Burnout"), "F01.145"),
    Record(7630, ("Kenya",), "Z01.058"),
    Record(10919, ("Placebos", "Sham Treatment"), "D26.660"),
    Record(12640, ("Seizures", "Seizure"), "C23.888.592"),
    Record(14965, ("X-Rays", "X-Ray", "Xray"), "G01.358"),
    Record(13909, ("Thorax", "Chest"), "A01.923"),
    Record(740, ("Anemia", "Anemias"), "C15.378"),
    Record(319, ("Adrenergic beta-Antagonists", "beta-Blockers", "Beta-Adrenergic Blocking Agents"), "D27.505"),
    Record(
        4001,
        ("Adrenergic beta-Antagonists [Pharmacological Action]", "beta-Blockers"),
        "",
        kind="R",
        substances=("DPropranolol", "DAtenolol", "Cbopindolol"),
    ),
    Record(10406, ("Penicillins", "Penicillin Antibiotics"), "D03.633", (0,), (667, 658)),
    Record(667, ("Ampicillin", "Penbritin"), "D03.633", (10406,)),
    Record(658, ("Amoxicillin", "Amoxil"), "D03.633", (10406,)),
    Record(10608, ("Pharyngitis", "Sore Throat", "Sore Throats"), "C07.550"),
)
"""Records for topics of all kinds."""

SPELLINGS = {"metfromin": "metformin", "alzhiemer": "alzheimer", "ampk": "amok", "tirzepatinib": "tirzepatide"}


@dataclass
class NcbiStandIn:
    """Answers espell, esearch (PubMed and MeSH), esummary and efetch; `requests` are (utility, parameters) as they
    came.

    Attributes:
        papers: the text of a paper, which may begin with its PMID -> how many there are of its kind; without any, every
            query finds 120.
        unknown: phrases that PubMed does not have in its index.
        faults: what replaces the answers of a utility ("espell", "esearch", "esearch mesh", "esummary").
    """

    records: Sequence[Record] = RECORDS
    spellings: Mapping[str, str] = field(default_factory=lambda: SPELLINGS)
    papers: Mapping[str, int] = field(default_factory=dict[str, int])
    unknown: Sequence[str] = ()
    faults: dict[str, Answer] = field(default_factory=dict[str, Answer])
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list[tuple[str, Mapping[str, str]]])

    def concepts(self, cache_dir: Path, *, transport: httpx.AsyncBaseTransport | None = None) -> PubMedVocabulary:
        """A vocabulary that asks this stand-in (or `transport`), once each time."""
        http = httpx.AsyncClient(transport=transport or httpx.MockTransport(self.answer))
        client = ApiClient(http, provider="pubmed", title="PubMed", retry=RetryPolicy(attempts=1))
        eutils = EUtilities(client, base_url="https://ncbi.test/entrez/eutils", email="", api_key=SecretStr(""))
        return PubMedVocabulary(eutils, cache_dir=cache_dir, origin="https://ncbi.test")

    @property
    def counted(self) -> list[str]:
        """The queries whose papers were counted."""
        return [params["term"] for name, params in self.requests if name == "esearch" and params["retmax"] == "0"]

    def answer(self, request: httpx.Request) -> httpx.Response:
        utility = request.url.path.rsplit("/", 1)[-1].removesuffix(".fcgi")
        params = dict(request.url.params) | dict(parse_qsl(request.content.decode()))
        name = f"{utility} mesh" if utility == "esearch" and params["db"] == "mesh" else utility
        self.requests.append((name, params))
        answers: dict[str, Answer] = {
            "espell": self._espell,
            "esearch": self._esearch,
            "esearch mesh": self._esearch_mesh,
            "esummary": self._esummary,
            "efetch": self._efetch,
        }
        return self.faults.get(name, answers[name])(params)

    def _espell(self, params: Mapping[str, str]) -> httpx.Response:
        corrected = " ".join(self.spellings.get(word, word) for word in params["term"].lower().split())
        corrected = "" if corrected == params["term"].lower() else corrected
        return httpx.Response(
            200,
            text="<?xml version='1.0'?><eSpellResult><Database>pubmed</Database>"
            f"<Query>{escape(params['term'])}</Query><CorrectedQuery>{corrected}</CorrectedQuery><SpelledQuery/><ERROR/></eSpellResult>",
        )

    def _esearch(self, params: Mapping[str, str]) -> httpx.Response:
        term, words = params["term"], re.findall(r"\w+", params["term"].lower())
        found = [text for text in self.papers if finds(term, text)]
        count = sum(self.papers[text] for text in found)
        if not self.papers:
            count = 0 if params["retmax"] != "0" or (term.endswith("[tiab]") and {*words} & {*self.spellings}) else 120
        result: dict[str, object] = {"count": str(count), "retmax": params["retmax"], "retstart": "0"}
        result |= {"idlist": [text.split()[0] for text in found][: int(params["retmax"])]}
        missing = [f'"{one}"[Title/Abstract]' for one in self.unknown if f'"{one}"' in term.lower()]
        result |= {"translationset": [], "warninglist": {"quotedphrasesnotfound": missing}}
        return _json("esearch", {"esearchresult": result | {"querytranslation": term}})

    def _esearch_mesh(self, params: Mapping[str, str]) -> httpx.Response:
        wanted = {name.lower() for name in re.findall(r'"([^"]+)"', params["term"])}
        ids = [one.uid for one in self.records if {re.sub(r" \[.*", "", name).lower() for name in one.names} & wanted]
        result = {"count": str(len(ids)), "retmax": "20", "retstart": "0", "idlist": ["67000001", *ids]}
        return _json("esearch", {"esearchresult": result | {"translationset": [], "querytranslation": ""}})

    def _esummary(self, params: Mapping[str, str]) -> httpx.Response:
        wanted = params["id"].split(",")
        found = {record.uid: record.summary() for record in self.records if record.uid in wanted}
        return _json("esummary", {"result": {"uids": list(found)} | found})

    def _efetch(self, params: Mapping[str, str]) -> httpx.Response:
        """The papers whose texts begin with these PMIDs; what stands after "/" are headings."""
        texts = {pmid: text for text in self.papers for pmid, _, _ in [text.partition(" ")]}
        wanted = [pmid for pmid in params["id"].split(",") if pmid in texts]
        return httpx.Response(200, content=efetch(*(_article(texts[pmid]) for pmid in wanted)).body)


def _article(text: str) -> str:
    pmid, _, said = text.partition(" ")
    title, _, headings = said.partition(" / ")
    named = "".join(
        f'<MeshHeading><DescriptorName UI="D1">{one.strip()}</DescriptorName></MeshHeading>'
        for one in filter(None, headings.split(" / "))
    )
    return article(pmid, title, citation=f"<MeshHeadingList>{named}</MeshHeadingList>" if named else "")


def _json(kind: str, body: Mapping[str, object]) -> httpx.Response:
    return httpx.Response(200, text=json.dumps({"header": {"type": kind, "version": "0.3"}} | dict(body)))
