"""Closed lists of words: what PubMed ignores, what negates, what is too general to look up or to follow.

No word of a topic is dropped because it is on the list of general words; the ambiguous ones (lead, impact, near) are on
no list at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split("|"))


# Words that PubMed does not search for (NLM, PubMed Help, "Stopwords").
PUBMED_STOP_WORDS = _words(
    """a about again all almost also although always among an and another any are as at be because been before being
    between both but by can could did do does done due during each either enough especially etc for found from further
    had has have having here how however i if in into is it its itself just kg km made mainly make may mg might ml mm
    most mostly must nearly neither no nor obtained of often on our overall perhaps pmid quite rather really regarding
    seem seen several should show showed shown shows significantly since so some such than that the their theirs them
    then there therefore these they this those through thus to upon use used using various very was we were what when
    which while with within without would"""
)
NEGATIONS = _words("cannot neither never no non nor not without")
CONJUNCTIONS = _words("and or versus vs")
FUNCTION_WORDS = (
    PUBMED_STOP_WORDS
    | NEGATIONS
    | CONJUNCTIONS
    | _words(
        """across after against along amongst ever get he her him his i'm me my onto own per please she till together
        toward towards until us via whether where who whom whose why yet you your"""
    )
)

# What a question opens with, and a request for papers. "A", "in", "may" and "who" can begin a name.
QUESTION_WORDS = _words(
    """are can could did do does had has have how is should the there was were what when where whether which why
    would"""
)
REQUEST_OPENINGS = _words("find i i'm looking please show tell we")
REQUEST_WORDS = (
    QUESTION_WORDS
    | REQUEST_OPENINGS
    | _words(
        """a about all am an any article articles concerning evidence for in information interested know learn like
    literature me need on paper papers publications recent regarding research search some studies study to us want
    you"""
    )
)
REQUEST_ENDINGS = _words("about concerning for in on regarding")

# Too general to be looked up in MeSH or to be followed from one paper to the next.
GENERAL_WORDS = _words(
    """academic adult adults age aged analysis area areas article articles aspect aspects assessment associated
    association available care case cases cause caused causes center centers centre centres change changes
    characteristic characteristics children clinic clinical clinically common compared comparison concern conditions
    consequence consequences control current data dependent determine development difference differences different
    early effect effective effectiveness effects efficacy evaluation evidence experience factor factors female finding
    findings following form function general group groups high higher hospital hospitals human humans implication
    implications important improve improved improvement increase increased increases individuals initial issue level
    levels literature long-term low lower main male management marker measure measurement men method methods model
    models mortality necessary new normal number observation observed older outcome outcomes overview paper papers
    parameter parameters particular patient patients pattern people period population populations possible potential
    practice predictive predictor presence prevalence prevention primary problem process prospective quality question
    rate rates recent reduce reduced reduces reduction relation relationship report reported reports research response
    responses result results retrospective review risk role roles routine sample secondary setting settings severe
    short short-term significance significant single specific status strategy studied studies study subjects success
    support survival system technique term test testing therapeutic therapy time tool topic treatment treatments true
    type types understanding update useful valid validity value women work young"""
)

# What a search can do without, where its place in the topic shows that it is this (`dropping`).
OUTCOMES = _names(
    """complications|cost|costs|effectiveness|efficacy|hospitalisation|hospitalization|incidence|length of stay|
    mortality|mortality rate|mortality rates|outcome|outcomes|prevalence|prognosis|quality of life|readmission|
    readmission rates|readmissions|recurrence|relapse|remission|safety|survival|survival rate|survival rates|
    tolerability"""
)
SETTINGS = _names(
    """africa|asia|australia|bangladesh|brazil|canada|china|clinics|community|community settings|developing countries|
    egypt|emergency department|emergency departments|ethiopia|europe|france|general practice|germany|ghana|
    high-income countries|hospital|hospitals|icu|india|indonesia|intensive care|intensive care unit|
    intensive care units|iran|italy|japan|kenya|latin america|long-term care|low-income countries|malawi|mexico|
    middle-income countries|nepal|nigeria|north america|nursing homes|outpatients|pakistan|primary care|
    primary health care|rural areas|schools|south africa|south america|spain|sub-saharan africa|tanzania|uganda|uk|
    united kingdom|united states|urban areas|usa|vietnam|workplace|zambia"""
)
POPULATIONS = _names(
    """adult patients|adults|elderly|elderly patients|elderly people|individuals|older adults|older people|participants|
    patients|people|persons|subjects|the elderly"""
)
QUALIFIERS = _names(
    """advanced|asymptomatic|community-dwelling|critically ill|early-stage|elective|high-risk|hospitalised|hospitalized|
    late-stage|low-risk|moderate|moderate-to-severe|newly diagnosed|persistent|postmenopausal|premenopausal|recurrent|
    refractory|severe|symptomatic|treatment-resistant|uncomplicated|uncontrolled|untreated"""
)
DESIGNS = _names(
    """case report|case series|clinical trial|cohort study|cross-sectional study|pilot study|prospective study|
    qualitative study|randomised trial|randomized trial|retrospective study|survey"""
)
GENERAL_HEADS = _words(
    """association comparison effect effectiveness effects efficacy impact influence management relationship role
    treatment"""
)
VERBS_OF_EFFECT = _words(
    """affect affects decrease decreases improve improves increase increases influence influences lower lowers prevent
    prevents reduce reduces"""
)

# What a question is about, by its words; endings and drug names add to "treatment" (`filters`).
QUESTION_KINDS: Mapping[Literal["treatment", "diagnosis", "harm", "course", "views"], frozenset[str]] = {
    "treatment": _words(
        """acupuncture agonist agonists antagonist antagonists antibiotic antibiotics anticoagulant anticoagulants
        antidepressant antidepressants antiretroviral antiretrovirals aspirin bandage bandages bandaging biologics
        blocker blockers corticosteroid corticosteroids crystalloid crystalloids dialysis dressing dressings drug drugs
        efficacy implant implants inhibitor inhibitors insulin intervention interventions ketamine lithium medication
        medications opioids placebo probiotic probiotics prophylaxis psychotherapy rehabilitation saline statin statins
        stent stents steroid steroids stimulation supplement supplementation supplements surgery treat treating
        treatment treatments warfarin"""
    ),
    "diagnosis": _words(
        """accuracy biopsy detect detecting detection diagnose diagnosing diagnosis diagnostic mammography mri screening
        sensitivity specificity test testing tests ultrasound"""
    ),
    "harm": _words(
        """adverse aetiology cause causes etiology exposure harm harms levels pollution poisoning risk risks side
        smoking toxicity"""
    ),
    "course": _words(
        """course mortality outcome outcomes predict predicting prediction prognosis prognostic recurrence
        relapse remission survival"""
    ),
    "views": _words(
        """acceptability acceptance attitude attitudes barriers beliefs burnout coping experience experiences hesitancy
        perception perceptions perspectives preferences qualitative satisfaction stigma views"""
    ),
}
ANIMALS = _words(
    """animal animals canine cat cats cattle dog dogs drosophila equine feline fish horses mice monkeys mouse murine pig
    pigs poultry rabbit rabbits rat rats rodent rodents sheep swine veterinary zebrafish"""
)
# Words whose name goes on with a letter or a number: "vitamin A", "type 2", "factor VIII".
NAMED_WITH_A_LETTER = _words("factor grade group hepatitis influenza phase stage type types vitamin")

# Enough function words to notice that a text is not in English.
FOREIGN_STOP_WORDS: dict[str, frozenset[str]] = {
    "Spanish": _words(
        """al como con cuál de del el en entre es la las los más o para por que qué se sin sobre son su sus un
        una unas unos y"""
    ),
    "Portuguese": _words(
        """a ao as com como da das de do dos e em entre na nas no nos o os ou para por qual que se sem seu sobre
        são um uma é"""
    ),
    "French": _words(
        """au aux avec chez comme dans de des du en entre est et la le les ou par pour que qui sa sans se ses
        son sont sur un une"""
    ),
    "Italian": _words(
        """al alla che come con dei del della delle di e fra gli i il in la le lo nel nella o per senza si sono
        su tra un una è"""
    ),
    "German": _words(
        """auf bei das dem den der des die durch ein eine einer eines für im in ist mit nach oder sind und vom
        von wie zu zum zur"""
    ),
    "Dutch": _words("""aan als bij dat de die door een en het in is met naar of op over te van voor zijn zonder"""),
}

# Endings of drug names (WHO, "The use of stems in the selection of International Nonproprietary Names").
DRUG_ENDINGS = tuple(
    _words(
        """azepam azolam caine ciclib cillin conazole coxib cycline dipine dronate dronic floxacin formin gatran gepant
        gliflozin gliptin glitazone glutide lukast mab nidazole olol oxetine parib platin prazole pril profen rafenib
        rubicin sartan setron taxel thromycin tidine tinib triptan vastatin vir xaban zomib"""
    )
)

# MeSH headings that say who was studied and how, not what the paper is about.
CHECK_TAGS = _names(
    """adolescent|adult|age distribution|age factors|age of onset|aged|aged, 80 and over|algorithms|
    amino acid sequence|animal|animals|base sequence|biological transport|case report|case-control studies|cats|
    cattle|cell line|cell line, tumor|cells, cultured|child|child, preschool|china|clinical trial|
    clinical trials as topic|cohort studies|cohort study|comorbidity|cricetinae|cross-sectional studies|
    databases, factual|disease models, animal|dogs|dose-response relationship, drug|double-blind method|
    epidemiology|europe|evidence-based medicine|feasibility studies|female|follow-up studies|france|germany|
    guinea pigs|hospital mortality|hospitalization|human|humans|in vitro techniques|incidence|infant|
    infant, newborn|italy|japan|kaplan-meier estimate|kinetics|length of stay|logistic models|
    longitudinal studies|macaca mulatta|male|meta-analysis|meta-analysis as topic|mice|mice, inbred balb c|
    mice, inbred c57bl|mice, knockout|mice, nude|mice, transgenic|middle aged|models, animal|models, biological|
    models, molecular|models, statistical|models, theoretical|molecular sequence data|mortality|mouse|
    multivariate analysis|odds ratio|pilot projects|predictive value of tests|pregnancy|prevalence|prognosis|
    proportional hazards models|prospective studies|quality of life|rabbits|random allocation|
    randomized controlled trials as topic|rat|rats|rats, sprague-dawley|rats, wistar|reference values|
    registries|regression analysis|reproducibility of results|retrospective studies|review|
    review literature as topic|risk|risk assessment|risk factors|roc curve|sensitivity and specificity|
    sequence homology, amino acid|severity of illness index|sex distribution|sex factors|sheep|
    single-blind method|spain|surveys and questionnaires|survival analysis|survival rate|swine|
    systematic review|temperature|time factors|treatment outcome|united kingdom|united states|water|young adult"""
)
