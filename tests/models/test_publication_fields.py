"""Every field of a publication: merged by one rule, written down, sent to clients (exports: tests/export)."""

from deepcritical_mcp.evidence.storage.stored_items import dumped, restored
from deepcritical_mcp.models import Bibliography, Citation, Evidence, Publication
from deepcritical_mcp.models.publication import MergeRule
from tests.publications import FULL


def test_each_field_has_a_value_in_these_tests() -> None:
    bare = Publication(id="x", texts=FULL.texts, source="web", title="T")
    for name in Publication.model_fields:
        assert getattr(FULL, name) != getattr(bare, name) or name == "texts"


def test_every_field_but_the_id_has_exactly_one_merge_rule() -> None:
    rules = {
        name: sum(isinstance(part, MergeRule) for part in field.metadata)
        for name, field in Publication.model_fields.items()
    }
    assert rules == {name: int(name != "id") for name in Publication.model_fields}


def test_every_field_survives_storage() -> None:
    assert restored(dumped(FULL)) == FULL
    for name in Publication.model_fields:
        assert type(getattr(restored(dumped(FULL)), name)) is type(getattr(FULL, name))
    assert restored(dumped(FULL)).authors[0].given == "Given"
    assert restored(dumped(FULL)).status_notices[0].doi == "10.1000/notice"


def test_every_field_of_the_bibliography_is_on_the_wire() -> None:
    assert {*Bibliography.model_fields} <= {*Citation.model_fields}
    evidence = Evidence.of(FULL)
    wire = evidence.model_dump(mode="json")["citation"]
    stored = FULL.model_dump(mode="json")
    assert {name: wire[name] for name in Bibliography.model_fields} == {
        name: stored[name] for name in Bibliography.model_fields
    }
    assert wire["authors"] == ["Family-name Given Jr", "Group-name"]
    assert Evidence.model_validate(evidence.model_dump()) == evidence
