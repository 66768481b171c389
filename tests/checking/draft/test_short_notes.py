"""Notes that name a work of an earlier note, or one of which the draft says no more."""

from __future__ import annotations

import pytest

from deepcritical_mcp.checking.draft import read_draft

WHOLE = "Anna Berg and Ken Oka, “Zinc in Wounds of the Elderly,” *Journal of Traces* 11 (2001): 4–9."


@pytest.mark.parametrize(
    "note",
    [
        "Berg and Oka, 7.",
        "Berg and Oka, ‘Zinc in Wounds’, p. 7.",
        "Berg and Oka, 'Zinc in Wounds', 7.",
        "Berg and Oka, supra note 1, at 7.",
        "Berg and Oka, op. cit. (note 1), p. 7.",
        "Berg y Oka, ob. cit., p. 7.",
        "Berg and Oka, “Zinc in Wounds,” passim.",
        "Berg and Oka, “Zinc in Wounds,” fig. 2.",
        "Berg and Oka, “Zinc in Wounds,” 7n12.",
        "Berg and Oka, “Zinc in Wounds,” p. 7 f.",
        "Berg and Oka, “Zinc in Wounds,” 7 (my translation).",
        "Berg and Oka, “Zinc in Wounds.”",
        "Ibid., emphasis added.",
        "Ibid., table 2.",
        "Ibid. (emphasis in the original).",
        "Ibíd., p. 7.",
        "Ivi, p. 7.",
    ],
)
def test_a_short_note_means_the_work_of_the_note_before(note: str) -> None:
    draft = read_draft(f"Zinc heals wounds.[^1] It is cheap, too.[^2]\n\n[^1]: {WHOLE}\n[^2]: {note}\n")
    assert [one.references for one in draft.sentences] == [(1,), (1,)]
    assert not draft.remarks


@pytest.mark.parametrize(
    "note",
    [
        "Miller and Stone, 299.",
        "Miller and Stone, ‘Copper in Ships’, p. 299.",
        "Miller and Stone, supra note 12, at 299.",
        "Miller, J., Stone, K.: Copper in Ships, S. 299.",
        "Miller J, Lancet 351:12.",
        "See note 9 above.",
    ],
)
def test_a_note_that_may_name_a_work_is_named_as_not_checked(note: str) -> None:
    draft = read_draft(f"Zinc heals wounds.[^1] It is cheap, too.[^2]\n\n[^1]: {WHOLE}\n[^2]: {note}\n")
    assert any("not checked" in one and note.rstrip(".") in one for one in draft.remarks)


@pytest.mark.parametrize(
    "note", ["Mean of 12 patients.", "Emphasis added.", "All doses are in mg.", "Berg was ill in 1999."]
)
def test_a_note_that_explains_needs_no_remark(note: str) -> None:
    draft = read_draft(f"Zinc heals wounds.[^1] It is cheap, too.[^2]\n\n[^1]: {WHOLE}\n[^2]: {note}\n")
    assert not draft.remarks
