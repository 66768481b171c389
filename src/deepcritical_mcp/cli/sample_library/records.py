"""The made-up records. Written for this library, after no real study; names of people are those of no authors."""

from __future__ import annotations

from dataclasses import dataclass

from deepcritical_mcp.models import PublicationStatus

JOURNAL = "Sample data of deepcritical-mcp"
MARK = "[sample data]"
FIRST_PMID = 900_000_001


@dataclass(frozen=True)
class Article:
    """A record such as PubMed holds; `title` without the mark."""

    title: str
    abstract: tuple[tuple[str, str], ...]
    authors: tuple[str, ...]
    date: str
    mesh: tuple[str, ...]
    types: tuple[str, ...] = ("Journal Article",)
    group: str = ""
    status: PublicationStatus = "ok"


@dataclass(frozen=True)
class SamplePage:
    """A page as a web search would list it."""

    title: str
    address: str
    snippet: str


def _plain(text: str) -> tuple[tuple[str, str], ...]:
    return (("", text),)


def _structured(background: str, methods: str, results: str, conclusions: str) -> tuple[tuple[str, str], ...]:
    return (("BACKGROUND", background), ("METHODS", methods), ("RESULTS", results), ("CONCLUSIONS", conclusions))


_TRIAL = ("Journal Article", "Randomized Controlled Trial")
_REVIEW = ("Journal Article", "Review")
_META = ("Journal Article", "Meta-Analysis", "Systematic Review")

ARTICLES: tuple[Article, ...] = (
    # Metformin and the heart
    Article(
        "Metformin and death from cardiovascular causes in type 2 diabetes: a trial that was never run",
        _structured(
            "Whether metformin lowers cardiovascular mortality in people with type 2 diabetes is asked in this "
            "invented trial.",
            "In this made-up study 3,210 imaginary adults took metformin or placebo for six years.",
            "Cardiovascular death was noted in 4.1% with metformin and in 5.0% with placebo, numbers that "
            "somebody typed.",
            "In our imagination metformin lowered cardiovascular mortality a little; no conclusion can be drawn "
            "from it.",
        ),
        ("Placeholder, Ada", "Mustername, Bo", "Inventado, Carla", "Fictif, Denis"),
        "2023-05-02",
        ("Metformin", "Diabetes Mellitus, Type 2", "Cardiovascular Diseases", "Humans"),
        _TRIAL,
    ),
    Article(
        "Metformin against other first drugs for type 2 diabetes: cardiovascular outcomes in an imaginary register",
        _plain(
            "From a register that does not exist we compared metformin with sulfonylureas as the first drug for type 2 "
            "diabetes. Heart attacks and strokes were rarer among the invented users of metformin, yet they were also "
            "younger and leaner when they began, so that confounding by indication would explain the whole difference."
        ),
        ("Mustername, Bo", "Exemplar, Fay"),
        "2021-11",
        ("Metformin", "Diabetes Mellitus, Type 2", "Cardiovascular Diseases", "Stroke"),
    ),
    Article(
        "Metformin and mortality in diabetes: a systematic review of studies nobody did",
        _structured(
            "Reviews of metformin and mortality disagree.",
            "We pooled twelve made-up trials and nineteen made-up cohorts with a random-effects model.",
            "The pooled risk ratio for death from any cause was 0.93 in trials and 0.78 in cohorts; the gap "
            "between the "
            "two hints at immortal time bias.",
            "Trials of metformin, were they real, would leave its effect on cardiovascular death uncertain.",
        ),
        ("Inventado, Carla", "Placeholder, Ada", "Sinnombre, Gil"),
        "2024-02-15",
        ("Metformin", "Diabetes Mellitus, Type 2", "Cardiovascular Diseases"),
        _META,
    ),
    Article(
        "Metformin triples the lifespan of hearts: a result too good to be true",
        _plain(
            "We claim that metformin abolished cardiovascular mortality in people with type 2 diabetes. The claim was "
            "withdrawn in this story because the data had been drawn by hand."
        ),
        ("Hochstapler, Hugo",),
        "2019-09",
        ("Metformin", "Cardiovascular Diseases"),
        ("Journal Article", "Retracted Publication"),
        status="retracted",
    ),
    Article(
        "How metformin might protect blood vessels: AMPK, endothelium and a good deal of guessing",
        _plain(
            "This invented review walks from AMPK in the liver to nitric oxide in the endothelium. Metformin may lower "
            "insulin resistance, inflammation and the stiffness of arteries; which of these would matter for "
            "cardiovascular disease is left open."
        ),
        ("Fictif, Denis", "Exemplar, Fay"),
        "2020-01",
        ("Metformin", "Cardiovascular Diseases"),
        _REVIEW,
    ),
    Article(
        "Metformin in heart failure with diabetes: safety in a cohort made of paper",
        _structured(
            "Doctors long avoided metformin in heart failure for fear of lactic acidosis.",
            "A paper cohort of 980 people with type 2 diabetes and heart failure was followed for two years.",
            "Admissions for heart failure were no more frequent with metformin; lactic acidosis was not seen.",
            "Nothing here speaks against metformin in stable heart failure, and nothing here happened.",
        ),
        ("Sinnombre, Gil", "Placeholder, Ada"),
        "2022-07-20",
        ("Metformin", "Heart Failure", "Diabetes Mellitus, Type 2"),
        group="Paper Cohort Study Group",
        status="corrected",
    ),
    Article(
        "Metformin and the heart: a letter without an abstract",
        (),
        ("Exemplar, Fay",),
        "2021-12",
        ("Metformin",),
        ("Letter",),
    ),
    Article(
        "SGLT2 inhibitors or metformin first in type 2 diabetes with cardiovascular disease: an invented comparison",
        _plain(
            "Empagliflozin, dapagliflozin and metformin met in a network of imaginary trials. For heart failure the "
            "SGLT2 inhibitors led; for the cost of a year of treatment metformin did. Kidney function was not modelled."
        ),
        ("Placeholder, Ada", "Nadie, Ines"),
        "2024-06-01",
        ("Metformin", "Sodium-Glucose Transporter 2 Inhibitors", "Diabetes Mellitus, Type 2", "Heart Failure"),
        _META,
    ),
    # The gut and Parkinson's disease
    Article(
        "Gut microbiome in Parkinson's disease: a case-control study of stools that were never sampled",
        _structured(
            "Constipation comes years before the tremor of Parkinson's disease.",
            "We compared the gut microbiome of 120 imaginary patients and their imaginary spouses.",
            "Bacteria that make butyrate were fewer in Parkinson's disease and mucin eaters more, after diet and "
            "laxatives were allowed for.",
            "A made-up gut differs in made-up Parkinson's disease; cause and consequence cannot be told apart.",
        ),
        ("Nadie, Ines", "Fictif, Denis"),
        "2022-03-11",
        ("Parkinson Disease", "Gastrointestinal Microbiome"),
    ),
    Article(
        "Faecal transplantation for Parkinson's disease: a pilot trial on paper",
        _structured(
            "Could changing the gut microbiome ease Parkinson's disease?",
            "Forty patients of our invention received a donor's stool or their own.",
            "Constipation improved in both groups; the motor score moved by less than its error.",
            "On paper, faecal transplantation was safe and did not help movement.",
        ),
        ("Inventado, Carla", "Mustername, Bo"),
        "2023-10",
        ("Parkinson Disease", "Gastrointestinal Microbiome"),
        _TRIAL,
    ),
    Article(
        "Alpha-synuclein from the gut to the brain along the vagus nerve: a story in mice of ink",
        _plain(
            "Mice drawn in ink were given alpha-synuclein fibrils in the duodenum. In the drawing it climbed the vagus "
            "nerve and reached the brain within seven pages, unless the nerve had been cut."
        ),
        ("Sinnombre, Gil",),
        "2020-08",
        ("Parkinson Disease",),
    ),
    Article(
        "Gut bacteria that eat levodopa: why a Parkinson's medicine might run out early",
        _plain(
            "Some gut bacteria turn levodopa into dopamine before it is absorbed. In this fiction a tyrosine "
            "decarboxylase of enterococci explained half of the difference between patients in the dose they needed."
        ),
        ("Exemplar, Fay", "Nadie, Ines"),
        "2021-02-18",
        ("Parkinson Disease", "Gastrointestinal Microbiome"),
        _REVIEW,
    ),
    # Gene therapy of sickle cell disease
    Article(
        "CRISPR editing of BCL11A for sickle cell disease: two years with thirty imaginary patients",
        _structured(
            "Fetal haemoglobin dilutes sickle haemoglobin.",
            "Thirty people in our minds had their blood stem cells edited with CRISPR-Cas9 at the BCL11A enhancer.",
            "Fetal haemoglobin rose to 40% and pain crises stopped in twenty-eight; platelets came back late.",
            "If any of this had taken place, gene editing would have freed most patients from crises for two years.",
        ),
        ("Fictif, Denis", "Placeholder, Ada", "Inventado, Carla", "Nadie, Ines"),
        "2024-01-09",
        ("Anemia, Sickle Cell", "Gene Editing", "CRISPR-Cas Systems"),
        _TRIAL,
    ),
    Article(
        "Base editing or a lentiviral vector in sickle cell disease: a decision model without data",
        _plain(
            "We set base editing against gene addition by lentivirus in a model of sickle cell disease. Insertional "
            "leukaemia and busulfan drove the harms; the price drove everything else. No input of the model is real."
        ),
        ("Mustername, Bo",),
        "2023-08",
        ("Anemia, Sickle Cell", "Gene Editing"),
    ),
    Article(
        "Off-target cuts after gene editing of blood stem cells: a catalogue of errors that did not occur",
        _plain(
            "Guide RNAs cut elsewhere too. In this catalogue of things that did not occur, chromosome loss after "
            "CRISPR-Cas9 was rarer than background mutation in edited blood stem cells, and base editors left no "
            "breaks."
        ),
        ("Nadie, Ines", "Sinnombre, Gil"),
        "2022-12",
        ("Gene Editing", "CRISPR-Cas Systems"),
    ),
    Article(
        "Hydroxyurea in children with sickle cell anaemia: adherence by text message in an unwritten trial",
        _structured(
            "Hydroxyurea prevents pain crises, when it is taken.",
            "Daily text messages were compared with none in 200 children who do not exist.",
            "Adherence rose from 61% to 74%; fetal haemoglobin did not follow.",
            "Messages reached the telephone rather than the child.",
        ),
        ("Placeholder, Ada", "Fictif, Denis"),
        "2021-05",
        ("Anemia, Sickle Cell",),
        _TRIAL,
    ),
    # Long COVID
    Article(
        "Graded activity or pacing for fatigue in long COVID: a trial in an imaginary clinic",
        _structured(
            "Exercise helps some people with long COVID and harms others.",
            "In a clinic without an address 164 invented people were given graded activity or pacing.",
            "Fatigue fell by as much in both arms; crashes after exertion were twice as frequent with graded activity.",
            "Pacing would be the kinder default wherever post-exertional malaise is present.",
        ),
        ("Inventado, Carla", "Exemplar, Fay"),
        "2023-03-30",
        ("Post-Acute COVID-19 Syndrome", "Fatigue", "Exercise"),
        _TRIAL,
    ),
    Article(
        "How common is long COVID after vaccination? A survey among people we made up",
        _plain(
            "Of 5,000 people we made up, 6% of the vaccinated and 11% of the others told of symptoms three "
            "months after "
            "COVID-19: fatigue, loss of smell, breathlessness. Those with symptoms were more eager to answer."
        ),
        ("Sinnombre, Gil", "Mustername, Bo"),
        "2022-09",
        ("Post-Acute COVID-19 Syndrome", "COVID-19"),
    ),
    Article(
        "Microclots, mast cells or mitochondria: a tour of theories of long COVID",
        _plain(
            "This tour visits viral persistence, microclots, autoantibodies, mast cells and tired mitochondria. Each "
            "theory explains some fatigue in long COVID; none of the biomarkers on the tour was measured."
        ),
        ("Fictif, Denis",),
        "2024-04",
        ("Post-Acute COVID-19 Syndrome", "Fatigue"),
        _REVIEW,
    ),
    Article(
        "Nirmatrelvir for established long COVID: fifteen days that did not take place",
        _structured(
            "Viral persistence might feed long COVID.",
            "One hundred and fifty volunteers of our invention took nirmatrelvir-ritonavir or placebo for "
            "fifteen days.",
            "Fatigue, brain fog and breathlessness were the same at ten weeks.",
            "A short course did not help those whom we invented.",
        ),
        ("Nadie, Ines", "Placeholder, Ada"),
        "2024-05-22",
        ("Post-Acute COVID-19 Syndrome",),
        _TRIAL,
        status="concern",
    ),
    # Statins and muscle
    Article(
        "Muscle pain on statins and on placebo: an n-of-1 trial with sixty volunteers from a novel",
        _structured(
            "Muscle symptoms make people stop statins.",
            "Sixty characters of a novel took atorvastatin, placebo and nothing, month by month, without knowing "
            "which.",
            "Pain scores were alike with statin and placebo and lower with no tablet at all.",
            "Nine tenths of the muscle symptoms in this novel were nocebo.",
        ),
        ("Exemplar, Fay", "Sinnombre, Gil", "Nadie, Ines"),
        "2021-01-14",
        ("Hydroxymethylglutaryl-CoA Reductase Inhibitors", "Muscular Diseases"),
        _TRIAL,
    ),
    Article(
        "Coenzyme Q10 for muscle symptoms of statins: a pooled analysis of empty tables",
        _plain(
            "Eight empty tables were pooled. Coenzyme Q10 changed muscle pain under statins by nothing that a patient "
            "would feel, and creatine kinase not at all."
        ),
        ("Mustername, Bo", "Inventado, Carla"),
        "2020-10",
        ("Hydroxymethylglutaryl-CoA Reductase Inhibitors", "Muscular Diseases"),
        _META,
    ),
    Article(
        "SLCO1B1 and simvastatin: a gene that might warn of muscle damage",
        _plain(
            "Carriers of a slow SLCO1B1 transporter keep more simvastatin in their blood. In this thought experiment a "
            "genetic test before the first tablet prevented one case of muscle damage per 2,400 people tested."
        ),
        ("Fictif, Denis", "Exemplar, Fay"),
        "2019-06-05",
        ("Hydroxymethylglutaryl-CoA Reductase Inhibitors", "Muscular Diseases"),
    ),
    Article(
        "Statins for people over 75 without heart disease: benefits and harms in a model world",
        _plain(
            "In a model world of 10,000 people over 75 without cardiovascular disease, five years of a statin spared "
            "140 heart attacks and cost 60 new cases of diabetes. The model knows no frailty and no wishes."
        ),
        ("Placeholder, Ada",),
        "2022-05",
        ("Hydroxymethylglutaryl-CoA Reductase Inhibitors", "Cardiovascular Diseases"),
    ),
)

PAGES: tuple[SamplePage, ...] = (
    SamplePage(
        "Metformin and heart disease: guideline of an agency that does not exist",
        "guidelines.sample.example/diabetes/metformin",
        "An invented guideline: begin with metformin in type 2 diabetes unless kidney function forbids it; add "
        "an SGLT2 "
        "inhibitor where heart failure or cardiovascular disease is known.",
    ),
    SamplePage(
        "Metformin and death from cardiovascular causes in type 2 diabetes: a trial that was never run",
        "preprints.sample.example/2023/metformin-trial",
        "A preprint of our own invention: 3,210 imaginary adults with type 2 diabetes, metformin or placebo, and "
        "cardiovascular mortality after six years.",
    ),
    SamplePage(
        "Can metformin prevent heart attacks? Questions and answers for patients",
        "patients.sample.example/metformin-heart",
        "In plain words, and made up: what metformin does for blood sugar, what is and is not known about heart "
        "attacks, "
        "and when to ask a doctor.",
    ),
    SamplePage(
        "Parkinson's disease and the gut: a news story nobody wrote",
        "news.sample.example/parkinson-gut",
        "Researchers who do not exist found other bacteria in the gut of people with Parkinson's disease; they warn "
        "against probiotics bought on the internet.",
    ),
    SamplePage(
        "Gene editing for sickle cell disease: who may get it, and where",
        "patients.sample.example/sickle-cell-gene-editing",
        "A made-up leaflet about CRISPR gene therapy for sickle cell disease: hospital stays, chemotherapy before the "
        "infusion, fertility, costs.",
    ),
    SamplePage(
        "Agency statement on gene editing medicines: long follow-up demanded",
        "agency.sample.example/statements/gene-editing",
        "An agency of our invention asks for fifteen years of follow-up after gene editing of blood stem cells.",
    ),
    SamplePage(
        "Long COVID clinics: pacing guide",
        "clinics.sample.example/long-covid-pacing",
        "How to pace with long COVID fatigue: plan, rest before you must, keep a diary. Sample text, no medical "
        "advice.",
    ),
    SamplePage(
        "Long COVID in numbers: the dashboard of a country on no map",
        "statistics.sample.example/long-covid",
        "Invented counts of people with long COVID by age, month and vaccination.",
    ),
    SamplePage(
        "Statins and muscle pain: what to ask before you stop",
        "patients.sample.example/statins-muscle-pain",
        "Muscle pain on a statin may have other causes. A made-up list of questions for your next visit.",
    ),
    SamplePage(
        "Guideline on statins for prevention, edition zero",
        "guidelines.sample.example/lipids/statins",
        "Invented thresholds of risk for starting a statin, and what to do when creatine kinase rises.",
    ),
)


def pmid_of(article: Article) -> str:
    """A number as PMIDs are, but far above any that PubMed has given out (they have eight digits)."""
    return str(FIRST_PMID + ARTICLES.index(article))


def doi_of(article: Article) -> str:
    """A DOI below 10.5555, the prefix that is kept for examples."""
    return f"10.5555/deepcritical-sample.{ARTICLES.index(article) + 1}"
