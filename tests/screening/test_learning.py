"""What is learned from decisions, against its definitions, and the criterion of when to stop."""

import math
import random
from itertools import product

import numpy as np
import pytest

from deepcritical_mcp.screening.learner import Dense, Terms, trained
from deepcritical_mcp.screening.ranking import Records, learn
from deepcritical_mcp.screening.stopping import StopRule, hypergeometric_p, stop_estimate

WORDS = "zinc copper wound bone trial rat adult child dose pain".split()


def texts(count: int, seed: int = 1) -> dict[str, str]:
    choice = random.Random(seed)
    return {str(at): " ".join(choice.choices(WORDS, k=12)) for at in range(count)}


def test_the_terms_are_those_of_tf_idf_and_a_record_has_length_one() -> None:
    features = Terms().features({"a": "Zinc zinc wound", "b": "zinc bone", "c": "bone rat zinc", "d": "rat"})
    assert np.bincount(features.rows, features.values**2) - 1 == pytest.approx(np.ones(4))  # the constant column is 1
    terms = Terms()
    features = terms.features({"a": "Zinc zinc wound", "b": "zinc wound", "c": "bone"})
    assert {*terms.names} == {"zinc", "wound", "zinc wound"}
    rare = math.log(4 / 3) + 1
    weights = {"zinc": (1 + math.log(2)) * rare, "wound": rare, "zinc wound": rare, "zinc zinc": math.log(4 / 2) + 1}
    own = dict(zip(features.columns[:5].tolist(), features.values[:5].tolist(), strict=True))
    share = weights["wound"] / math.sqrt(sum(one**2 for one in weights.values()))
    assert own[list(terms.names).index("wound")] == pytest.approx(share)


@pytest.mark.parametrize("kind", ["words", "meaning"])
def test_training_reaches_the_minimum_and_a_row_left_out_is_foreseen(kind: str) -> None:
    count, cost = 60, 0.5
    vectors = np.random.default_rng(2).normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    features = Terms().features(texts(count)) if kind == "words" else Dense.of(vectors)
    included = np.arange(count) % 3 == 0
    found = trained(features, included, cost, 2.0)
    signs = np.where(included, 1.0, -1.0)
    costs = np.where(included, 1.0, included.sum() / (2.0 * (~included).sum()))
    costs *= 2 * cost * count / costs.sum()
    gradient = found.weights - features.sum(costs * np.maximum(0, 1 - signs * found.outputs) * signs)
    assert np.abs(gradient).max() < 1e-3
    rest = np.arange(1, count)
    without = trained(features.chosen(rest), included[rest], cost, 2.0)
    own = features.dot(without.weights)[0]
    assert found.left_out[0] < found.outputs[0]
    assert found.left_out[0] == pytest.approx(own, abs=0.4 if kind == "words" else 0.05)


def test_records_without_text_or_vector_take_part_and_each_order_is_the_same_again() -> None:
    some = {**texts(50), "bare": "", "title": "zinc"}
    vectors = {id: np.eye(4, dtype=np.float32)[at % 4] for at, id in enumerate(some) if id != "title"}
    records = Records(some, vectors, Terms())
    decided = {at: at % 4 == 0 for at in range(20)}
    ranking = learn(records, decided)
    assert sorted(ranking.order) == list(range(20, 52))
    assert learn(Records(some, vectors, Terms()), decided).order == ranking.order
    assert ranking.order[9] in ranking.uncertain
    assert sorted(learn(Records(some, {}, Terms()), {0: True}).order) == list(range(1, 52))


def test_the_hypergeometric_criterion_is_the_sum_of_its_definition() -> None:
    found = [True, False, True, True, False, False, False, False]
    total, relevant = 12, 3

    def of(start: int) -> float:
        pool, drawn, seen = total - start, len(found) - start, sum(found[:start])
        least, most = math.floor(relevant / 0.95) + 1 - seen, relevant - seen
        ways = (math.comb(least, k) * math.comb(pool - least, drawn - k) for k in range(min(most, drawn) + 1))
        return sum(ways) / math.comb(pool, drawn)

    assert hypergeometric_p(found, total) == pytest.approx(min(map(of, range(len(found)))))
    assert hypergeometric_p([False] * 5, 12) == 1.0
    assert hypergeometric_p([True] * 5, 5) == 0.0


def test_the_stop_rule_holds_when_all_would_have_been_found_at_three_looks_in_a_row() -> None:
    about = {str(at): f"{'zinc wound' if at < 40 else 'copper bone'} {' '.join(WORDS[at % 7 :])}" for at in range(200)}
    vectors = {id: np.eye(2, dtype=np.float32)[int(int(id) < 40)] for id in about}
    records = Records(about, vectors, Terms())
    order, held = [0, 40, *range(1, 40), *range(41, 160)], list[int]()
    rule = StopRule(records)
    for count in range(12, 160, 10):
        decided = {row: row < 40 for row in order[:count]}
        if stop_estimate(rule, learn(records, decided), decided).rule_met:
            held.append(count)
    assert held[0] == 62  # all are found after 41, so that the looks at 42, 52 and 62 are good
    assert held == list(range(62, 160, 10))
    decided = {row: row < 40 for row in order[:62]}
    assert stop_estimate(StopRule(records), learn(records, decided), decided).rule_met  # without what was remembered
    assert stop_estimate(StopRule(records), learn(records, decided), decided).missing == 0


def test_nothing_is_estimated_from_a_few_and_no_decisions_break_it() -> None:
    records = Records(texts(40), {}, Terms())
    for many, is_relevant in product((1, 4), (True, False)):
        decided = {at: is_relevant or at == 0 for at in range(many)}
        estimate = stop_estimate(StopRule(records), learn(records, decided), decided)
        assert estimate.missing == -1
        assert not estimate.rule_met
    decided = {at: at == 0 for at in range(39)}
    told = stop_estimate(StopRule(records), learn(records, decided), decided)
    assert told.says.startswith(f"Stop rule {'met' if told.rule_met else 'not met'}. How many remain cannot be")
    assert "cannot be estimated yet" in " ".join(told.not_met)
    decided = dict.fromkeys(range(39), True)
    assert stop_estimate(StopRule(records), learn(records, decided), decided).missing <= 1
