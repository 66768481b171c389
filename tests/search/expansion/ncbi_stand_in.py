"""A stand-in for E-utilities that knows a few MeSH descriptors; answers in NCBI's wire form."""

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
from deepcritical_mcp.sources.pubmed.vocabulary import PubMedVocabulary

Answer = Callable[[Mapping[str, str]], httpx.Response]


@dataclass(frozen=True)
class Record:
    """A record of the MeSH database: its number (D000544 has 544), names with the heading first, and neighbors; `kind`
    is "C" for a supplementary concept."""

    number: int
    names: tuple[str, ...]
    tree: str
    parents: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    kind: str = "D"

    @property
    def uid(self) -> str:
        return f"{ord(self.kind)}{self.number:06d}"

    def summary(self) -> dict[str, object]:
        return {
            "uid": self.uid,
            "ds_yearintroduced": "",
            "ds_scopenote": f"What {self.names[0]} is.",
            "ds_meshterms": list(self.names),
            "ds_meshui": f"{self.kind}{self.number:06d}",
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


METFORMIN = Record(8687, ("Metformin", "Dimethylbiguanidine", "Glucophage", "Metformin Hydrochloride"), "D02", (1645,))
BIGUANIDES = Record(1645, ("Biguanides",), "D02", (0,), (8687,))
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

MAPPINGS = {
    "metformin": '"metformin"[MeSH Terms] OR "metformin"[All Fields] OR "metformin\'s"[All Fields]',
    "alzheimer": '"alzheimer disease"[MeSH Terms] OR ("alzheimer"[All Fields] AND "disease"[All Fields])',
    "apc": '"anaphase promoting complex"[Supplementary Concept] OR "acta pharmacol clin"[Journal] OR "apc"[All Fields]',
}
SPELLINGS = {"metfromin": "metformin", "alzhiemer": "alzheimer", "ampk": "amok", "tirzepatinib": "tirzepatide"}


@dataclass
class NcbiStandIn:
    """Answers espell, esearch (PubMed and MeSH) and esummary; `requests` are (utility, parameters) as they came.

    `faults` replace the answers of a utility ("espell", "esearch", "esearch mesh", "esummary").
    """

    records: Sequence[Record] = RECORDS
    mappings: Mapping[str, str] = field(default_factory=lambda: MAPPINGS)
    spellings: Mapping[str, str] = field(default_factory=lambda: SPELLINGS)
    faults: dict[str, Answer] = field(default_factory=dict[str, Answer])
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list[tuple[str, Mapping[str, str]]])

    def concepts(self, cache_dir: Path, *, transport: httpx.AsyncBaseTransport | None = None) -> PubMedVocabulary:
        """`PubMedVocabulary` that ask this stand-in (or `transport`), once each time."""
        http = httpx.AsyncClient(transport=transport or httpx.MockTransport(self.answer))
        client = ApiClient(http, provider="pubmed", title="PubMed", retry=RetryPolicy(attempts=1))
        eutils = EUtilities(client, base_url="https://ncbi.test/entrez/eutils", email="", api_key=SecretStr(""))
        return PubMedVocabulary(eutils, cache_dir=cache_dir, origin="https://ncbi.test")

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
            "efetch": lambda _: httpx.Response(200, text="<PubmedArticleSet></PubmedArticleSet>"),
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
        words = re.findall(r"\w+", params["term"].lower())
        translations = [{"from": word, "to": self.mappings[word]} for word in words if word in self.mappings]
        count = (
            "0"
            if params["retmax"] != "0" or (params["term"].endswith('"[tiab]') and set(words) & {*self.spellings})
            else "120"
        )
        result = {"count": count, "retmax": "0", "retstart": "0", "idlist": [], "translationset": translations}
        return _json("esearch", {"esearchresult": result | {"querytranslation": params["term"]}})

    def _esearch_mesh(self, params: Mapping[str, str]) -> httpx.Response:
        wanted = re.findall(r'"([^"]+)"\[MeSH Terms\]', params["term"])
        ids = [record.uid for record in self.records if {name.lower() for name in record.names} & set(wanted)]
        result = {"count": str(len(ids)), "retmax": "20", "retstart": "0", "idlist": ["67000001", *ids]}
        return _json("esearch", {"esearchresult": result | {"translationset": [], "querytranslation": ""}})

    def _esummary(self, params: Mapping[str, str]) -> httpx.Response:
        wanted = params["id"].split(",")
        found = {record.uid: record.summary() for record in self.records if record.uid in wanted}
        return _json("esummary", {"result": {"uids": list(found)} | found})


def _json(kind: str, body: Mapping[str, object]) -> httpx.Response:
    return httpx.Response(200, text=json.dumps({"header": {"type": kind, "version": "0.3"}} | dict(body)))
