from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.search.expansion.phrases import definitions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("In Alzheimer's disease (AD) and mild cognitive impairment (MCI),",
         {"AD": "Alzheimer's disease", "MCI": "mild cognitive impairment"}),
        ("We saw an effect (P < 0.05) in men (n = 12).", {}),
        ("the lace plant (Aponogeton madagascariensis)", {}),
        ("a gap (not closed [myocardial infarction (MI)]", {"MI": "myocardial infarction"}),
        (f"heart failure{' ' * 100}(HF)", {"HF": "heart failure"}),
    ],
)  # fmt: skip
def test_an_abbreviation_is_found_where_the_text_defines_it(text: str, found: dict[str, str]):
    assert definitions([text]) == found


def test_a_long_run_of_blanks_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch):
    steps = 0

    class Counted(str):
        __slots__ = ()

        def __getitem__(self, key: object) -> str:
            nonlocal steps
            steps += 1
            return str.__getitem__(self, key)  # pyright: ignore[reportArgumentType]

    assert definitions([Counted(f"metformin{' ' * 2_000}memory treatment in mice (" * 50)]) == {}
    assert steps <= 200


@given(st.text(alphabet=st.sampled_from("aA bB()[]-;,.1"), max_size=120))
def test_no_text_breaks_it(text: str):
    assert all(len(long) > len(short) for short, long in definitions([text]).items())
