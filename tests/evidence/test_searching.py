"""A search goes on while another call changes the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.passage_quotes import FIRST_PAGE
from deepcritical_mcp.evidence.searching import Scope, Search
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.sqlite_space import SqliteSpace
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, SessionInfo
from deepcritical_mcp.evidence.text_index import Layout
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import long_sections, paper, piece

SHORT = piece("Zinc closed the wounds of 12 of 20 people.", "Zinc in wounds", pmid="7")
NOTE = piece("Read the zinc trial again.", source="user", pmid="7")
LONG = paper(long_sections("zinc", 3), "Zinc in twelve steps", pmid="8", abstract="Zinc was weighed in twelve steps.")
BRIEF = paper(long_sections("zinc", 1)[:1], "Zinc in twelve steps", pmid="8", abstract="Zinc was weighed once.")
QUERY = np.asarray([[1.0, 0.0]], np.float32)


class InterruptedSpace(SqliteSpace):
    """A place in which something else happens after the vectors have been read."""

    meanwhile: Callable[[], None] | None = None

    def vectors(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        found = super().vectors(parts)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return found


def stored(publication: Publication, order: int) -> KeptItem:
    return KeptItem(publication, order, len(Layout.of(publication).passages), embedded=True, written=order + 1)


@pytest.mark.parametrize("scope", [Scope(), Scope(kind="full_text"), Scope(source="user")])
@pytest.mark.parametrize("change", ["removed", "shortened"])
def test_a_search_goes_on_while_what_it_found_is_removed_or_changed(change: str, scope: Scope) -> None:
    info, catalogue = SessionInfo("", "test"), Catalogue()
    space = InterruptedSpace("rs_0", info, file=SessionFile.create(None, info))
    for order, one in enumerate((SHORT, NOTE, LONG)):
        item = stored(one, order)
        space.write([(item, [QUERY[0]] * item.parts)])
        catalogue.put(item)

    def meanwhile() -> None:
        for id in catalogue.ids():
            if change == "removed":
                catalogue.remove(id)
            elif id == LONG.id:
                catalogue.put(stored(BRIEF, 2))

    space.meanwhile = meanwhile
    found = Search(space, catalogue, None, scope).best(
        "zinc", catalogue.by_words(["zinc in twelve steps"]), QUERY, 0.0, FIRST_PAGE
    )
    assert space.meanwhile is None, "it has happened"
    assert found.evidence
    if change == "removed":
        catalogue.forget_gone()
        assert (
            not Search(space, catalogue, None, scope)
            .best("", catalogue.by_words(["zinc"]), QUERY, 0.0, FIRST_PAGE)
            .evidence
        )
    space.close()
