from __future__ import annotations

import pytest

from deepcritical_mcp.search.expansion.topic import fit_web, is_drug, is_symbol, language_of, read_topic


@pytest.mark.parametrize(
    ("topic", "pubmed"),
    [
        ("Does metformin slow cognitive decline?", "metformin slow cognitive decline"),
        ("Please find me recent papers about the gut microbiome in autism", "gut microbiome in autism"),
        ("research on prisoners", "research on prisoners"),
        ("find of the century", "find of the century"),
        ("sensitivity and specificity of FIT", "sensitivity and specificity of FIT"),
        ("antibiotics versus appendectomy", "antibiotics appendectomy"),
        ("EFFECT OF METFORMIN AND INSULIN", "EFFECT OF METFORMIN and INSULIN"),
        ("length of stay: IL-6/IL-10 [sepsis]", "length of stay IL-6 IL-10 sepsis"),
        ("A beta 42", "A beta 42"),
        ("vitamin A", "vitamin A"),
        ("WHO guidelines", "WHO guidelines"),
        ("blood lead levels", "blood lead levels"),
        ("impact factor", "impact factor"),
        ("near miss reporting", "near miss reporting"),
        ("side effects of statins", "side effects of statins"),
    ],
)
def test_every_word_of_the_topic_is_kept_but_the_request(topic: str, pubmed: str):
    assert read_topic(topic).pubmed == pubmed


@pytest.mark.parametrize(
    ("topic", "pubmed"),
    [
        ("SGLT2 inhibitors kidney function without diabetes", 'SGLT2 inhibitors kidney function "without diabetes"'),
        ("do not resuscitate orders", '"do not resuscitate orders"'),
        ("DO NOT RESUSCITATE", '"DO NOT RESUSCITATE"'),
        ("infants who were never breastfed", 'infants who were "never breastfed"'),
        ("patients not on dialysis, on statins", 'patients "not on dialysis" on statins'),
        ("surgery without a diagnosis of cancer", 'surgery "without a diagnosis of cancer"'),
        ("no reflow and stents", '"no reflow" stents'),
        ("NO donors in asthma", "NO donors in asthma"),
        ("metformin with or without insulin", "metformin"),
        ("surgery vs no surgery for knees", "surgery for knees"),
        ("stroke in the absence of atrial fibrillation", 'stroke in the "absence of atrial fibrillation"'),
        ("infected or not", "infected"),
    ],
)
def test_a_negation_stays_with_what_it_negates(topic: str, pubmed: str):
    assert read_topic(topic).pubmed == pubmed


@pytest.mark.parametrize(
    "topic",
    [
        "P: adults with sepsis; I: balanced crystalloids; C: normal saline; O: 90-day mortality",
        "Population: adults with sepsis. Intervention: balanced crystalloids. Control: normal saline. Outcome: 90-day "
        "mortality",
    ],
)
def test_the_labels_of_pico_are_no_words(topic: str):
    read = read_topic(topic)
    assert (read.pubmed, read.outcome) == ("adults with sepsis balanced crystalloids normal saline", "90-day mortality")


def test_what_a_question_says_of_an_effect_is_not_required():
    read = read_topic("Does tamoxifen reduce recurrence in reduced ovarian reserve?")
    assert (read.pubmed, read.verbs) == ("tamoxifen recurrence in reduced ovarian reserve", ("reduce",))
    assert read_topic("Do they improve?").pubmed == "they improve"


@pytest.mark.parametrize(
    ("topic", "questions"),
    [
        ("What causes preeclampsia and how is it treated?", ("What causes preeclampsia", "how is it treated")),
        ("Is aspirin safe? Does it prevent stroke?", ("Is aspirin safe", "Does it prevent stroke")),
        ("Is aspirin safe and effective?", ()),
        ("causes of preeclampsia and how it is treated", ()),
    ],
)
def test_two_questions_are_told_apart(topic: str, questions: tuple[str, ...]):
    assert read_topic(topic).questions == questions


def test_a_single_label_is_a_word():
    assert read_topic("Outcome: death").pubmed == "Outcome death"


def test_what_is_too_long_for_pubmed_is_counted():
    topic = read_topic("mitochondria " * 100)
    assert len(topic.pubmed) <= 1_000
    assert topic.left_out == 100 - len(topic.parts) > 0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("metformin alzheimer", ""),
        ("the role of de novo mutations in autism", ""),
        ("efectos de la metformina en los ancianos con demencia", "Spanish"),
        ("effets de la metformine sur les patients et leur famille", "French"),
        ("Wirkung von Metformin auf die Demenz bei älteren Menschen", "German"),
        ("二甲双胍", "another script"),
        ("метформин", "another script"),
        ("TNF-α β-catenin", ""),
    ],
)
def test_the_language_is_noticed(text: str, language: str):
    assert language_of(text) == language


def test_drugs_and_symbols_are_told_from_other_words():
    assert is_drug("metformin")
    assert is_drug("pembrolizumab")
    assert not is_drug("outcome")
    assert is_symbol("AMPK")
    assert is_symbol("p53")
    assert not is_symbol("Crohn")


def test_a_web_query_is_cut_to_what_the_narrowest_provider_takes():
    assert len(fit_web("word " * 100).split()) == 50
    assert len(fit_web("w" * 1_000)) == 400
