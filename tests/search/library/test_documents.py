"""A file is the full text of a paper only if it has its title, author and abstract; a letter about it has not."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import no_progress
from deepcritical_mcp.evidence.identity import conflict, identity_of
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.models import FILE, Text, merged
from deepcritical_mcp.reading.user_text import read_own_file
from deepcritical_mcp.search.library.documents import as_publication, recognized
from deepcritical_mcp.search.library.files import UserFiles
from deepcritical_mcp.search.library.importing import Importer
from deepcritical_mcp.search.record_finder import Lookup
from deepcritical_mcp.sources.lookup import Wanted
from tests.fakes import EMBEDDER
from tests.publications import published

TITLE = "Zinc for venous ulcers of the leg: a randomised trial"
ABSTRACT = " ".join(f"Of {n} patients with ulcers number {n * 7} healed within week {n * 3}." for n in range(20, 40))
RECORD = published(
    ABSTRACT, source="pubmed", pmid="31541001", doi="10.1000/z", title=TITLE, authors=("Berg, Jan",), date="2019"
)
HEAD = f"# {TITLE}\n\nJan Berg, Eri Oka\n\nPMID: 31541001\n\n"
HEADINGS = ("Methods", "Results", "Discussion", "References")
BODY = "\n\n".join(f"## {one}\n\n{'The ward of the hospital was visited again and again. ' * 40}" for one in HEADINGS)
LIST = "\n\n".join(f"## Part {n}\n\n{'The ward of the hospital was visited again and again. ' * 12}" for n in range(9))


class Records:
    async def find(self, wanted: Sequence[Wanted], seconds: float) -> list[Lookup]:
        return [Lookup(one, record=RECORD if one.ids.pmid else None) for one in wanted]


class References:
    async def find(self, references: Sequence[object], seconds: float) -> list[Any]:
        return [SimpleNamespace(accepted=(), nearest=(), failures=())]


TEXTS = cast("Any", SimpleNamespace(records=Records(), references=References()))


@pytest.mark.parametrize(
    ("text", "is_printed", "is_it"),
    [
        (f"{HEAD}## Abstract\n\n{ABSTRACT}\n\n{BODY}", False, True),
        (f"{HEAD}## Abstract\n\n{ABSTRACT}\n\n{LIST}", True, False),
        ("\n\n".join((HEAD, ABSTRACT, LIST, LIST, LIST, LIST, LIST)), True, True),
        ("\n\n".join((HEAD, ABSTRACT, LIST, LIST, LIST, LIST, LIST)), False, False),
        (f"medRxiv preprint doi: 10.1101/2018.01.02.123456\n\n{HEAD}## Abstract\n\n{ABSTRACT}\n\n{BODY}", True, False),
        (f"A thesis\n\n{HEAD}## Abstract\n\n{ABSTRACT}\n\n{BODY}", True, False),
        (f"{HEAD}My thoughts about this paper.\n\n{BODY}", False, False),
        (f"# Supplement to: {TITLE}\n\nJan Berg\n\nPMID: 31541001\n\n{BODY}", True, False),
        (f"# A draft of mine\n\n{BODY}\n\nBerg J. {TITLE}. 2019. PMID: 31541001\n\n{ABSTRACT}", True, False),
    ],
    ids=["paper", "handout", "review", "long notes", "preprint", "thesis", "notes", "supplement", "draft"],
)
async def test_a_document_is_recognized_by_its_title_author_and_abstract(
    text: str, is_printed: bool, is_it: bool
) -> None:
    reading = read_own_file(text.encode()).reading
    found = await recognized(reading, TEXTS, is_printed=is_printed)
    assert bool(found.record) is is_it
    assert as_publication(reading, "a.md", found.record).id.startswith("pubmed:" if is_it else "text:")


def test_a_file_replaces_no_other_text_of_its_paper() -> None:
    texts = [
        Text(kind="full_text", content=word * 90, provider=one) for word, one in (("a ", "europepmc"), ("b c ", FILE))
    ]
    both = merged(RECORD.but(texts=(*RECORD.texts, texts[0])), RECORD.but(texts=(*RECORD.texts, texts[1])))
    assert [text.provider for text in both.texts if text.kind == "full_text"] == ["europepmc", FILE]


@pytest.mark.parametrize(("journal", "is_one"), [("Research square", True), ("Nature", False)])
def test_a_preprint_and_its_number_in_pubmed_are_one_in_one_journal(journal: str, is_one: bool) -> None:
    preprint = RECORD.but(pmid="", doi="10.21203/rs.3.rs-2960606/v1", journal="Research square")
    assert conflict(identity_of(preprint), identity_of(RECORD.but(journal=journal, doi=""))) is not is_one


async def test_a_file_that_was_taken_for_a_paper_is_taken_back(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    registry = SessionRegistry(settings, cast("Any", EMBEDDER), open_backend(settings))
    try:
        store = await registry.open(title="zinc")
        text = f"{HEAD}## Abstract\n\n{ABSTRACT}\n\n{BODY}"
        reading = read_own_file(text.encode()).reading
        await store.add_evidence([RECORD, as_publication(reading, "a.md", RECORD)], embed=False)
        assert [*await store.ids()] == ["pubmed:31541001"]
        became = await store.take_apart("pubmed:31541001")
        assert [(one.id.partition(":")[0], [text.kind for text in one.texts]) for one in became] == [
            ("pubmed", ["abstract"]),
            ("text", ["note"]),
        ]
        own = became[1].id
        assert "visited again" in became[1].text.content
        importer = Importer(store, TEXTS, "", no_progress)
        told = [one async for one in importer.bring_in(UserFiles("a.md", text))]
        assert "you took it back" in told[0].detail
        assert len(await store.ids()) == 2
        assert "full_text" in [text.kind for text in (await store.declare_same([own, "pubmed:31541001"]))[0].texts]
        other = published("A copy under another name", title="Zinc for ulcers", source="library", date="1999")
        (kept,) = await store.add_evidence([other])
        await store.declare_same([kept.publication.id, "pubmed:31541001"])
        became = await store.take_apart("pubmed:31541001")
        assert sorted(len(one.texts) for one in became) == [1, 2]
        # Of a publication with two descriptions, one call takes the document back.
        await store.add_evidence([RECORD.but(journal="Wounds", source="library", pmid="", doi="10.1000/z")])
        await store.take_apart("pubmed:31541001")
        assert "full_text" in [text.kind for text in (await store.declare_same([own, "pubmed:31541001"]))[0].texts]
        assert len(await store.take_apart("pubmed:31541001")) == 2
    finally:
        await registry.aclose()
