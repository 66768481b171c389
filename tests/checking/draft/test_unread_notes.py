"""Notes that name a work in a few words, or point at another note: they are told as unread."""

import pytest

from deepcritical_mcp.checking.draft import read_draft

WHOLE = "Anna Berg and Ken Oka, “Zinc in Wounds of the Elderly,” *Journal of Traces* 11 (2001): 4–9."


@pytest.mark.parametrize(
    "note",
    [
        "Miller and Stone, 299.",
        "Miller and Stone, ‘Copper in Ships’, p. 299.",
        "Miller and Stone, supra note 12, at 299.",
        "Miller, J., Stone, K.: Copper in Ships, S. 299.",
        "Miller J, Lancet 351:12.",
        "See note 9 above.",
        "Ibid., 47.",
        "Ebd., S. 12.",
        "Berg, op. cit., p. 3.",
    ],
)
@pytest.mark.parametrize("form", ["Zinc heals.[^1] It is cheap.[^2]\n\n[^1]: {}\n[^2]: {}\n"])
def test_a_note_that_may_name_a_work_is_told_as_unread(form: str, note: str) -> None:
    draft = read_draft(form.format(WHOLE, note))
    assert [one.text for one in draft.unread] == [note]
    assert all(one.reason for one in draft.unread)
    assert [one.label for one in draft.references] == ["^1"]


@pytest.mark.parametrize(
    "note", ["Mean of 12 patients.", "Emphasis added.", "All doses are in mg.", "Berg was ill in 1999."]
)
def test_a_note_that_explains_is_no_reference(note: str) -> None:
    draft = read_draft(f"Zinc heals wounds.[^1] It is cheap, too.[^2]\n\n[^1]: {WHOLE}\n[^2]: {note}\n")
    assert not draft.remarks
    assert not draft.unread


def test_what_only_repeats_an_entry_of_a_list_is_unread() -> None:
    draft = read_draft(f"Zinc [1]. Copper [2].\n\n## Notes\n\n1. {WHOLE}\n2. Ibid., 47.\n")
    assert (len(draft.references), [one.text for one in draft.unread]) == (1, ["Ibid., 47."])


def test_what_stands_among_references_and_is_none_is_unread() -> None:
    draft = read_draft(
        f"Zinc [1]. Iron [2].\n\n## References\n\n1. {WHOLE}\n\nAll of these were read in 2019 by us.\n\n"
        "2. Oka E, et al. Iron in mice. BMJ. 2005;330:55.\n"
    )
    assert [one.label for one in draft.references] == ["1", "2"]
    assert [one.text for one in draft.unread] == ["All of these were read in 2019 by us."]


def test_a_row_that_may_be_a_reference_and_is_not_read_is_unread() -> None:
    rows = (("Study", "Year", "Journal"), ("Berg A", "1991", "BMJ"), ("Oka E", "2005", "Lancet"))
    table = "\n".join(
        f"| {' | '.join(one)} |{chr(10) + '|---|---|---|' if at == 0 else ''}" for at, one in enumerate(rows)
    )
    draft = read_draft(f"Zinc heals [1].\n\n{table}\n\n## References\n\n1. {WHOLE}\n")
    assert [one.text.replace("\t", " ").split()[0] for one in draft.unread] == ["Berg", "Oka"]
    assert len(draft.references) == 1
