"""Words that say how a question is asked rather than what it is about."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split("|"))


STOP_WORDS = _words(
    """a about above across after against all along also although am among amongst an and any are aren't as at be
    because been before being below between both but by can can't cannot could couldn't did didn't do does doesn't
    doing don't done down due during each either else ever every few for from further get gets give given gives go
    goes got had has hasn't have haven't having he hence her here hers him his how however i i'd i'll i'm i've if in
    instead into is isn't it it's its itself just kind let let's lot made make makes many may me might more most
    much must my near need needs neither no nor not now of off often on once one only onto or other others our ours
    out over own per please rather really regarding s same several shall she should shouldn't since so some
    something such than that that's the their theirs them then there there's these they they're this those though
    through throughout thus till to together too toward towards under until up upon us usage use used uses using
    versus very via vs was wasn't way ways we we're well were what what's when where whereas whether which while who
    whom whose why will with within without won't would wouldn't yet you your"""
)

# Verbs, nouns and courtesies of asking. They carry no subject, so that leaving them out loses nothing.
FILLERS = _words(
    """act acts affect affected affecting affects answer article articles ask associate associated attempt available
    bad become becomes best better called cause caused causes causing certain compare compared comparing concept
    concerning consider current currently describe described details determine different discuss discussing effect
    effective effects efficacious evidence exist existing exists explain explore fact feasible find finding finds
    focus general generally good hello help helps hi idea identify impact impacts important improve improved
    improves influence influences info information interest interested interesting investigate investigating involve
    involved involves journal journals key know knowledge known latest lead leading leads learn like likely list
    literature look looking main mainly matter mean means method methods new note obtain overview paper papers
    particular particularly people play played playing plays possible possibly potential potentially predict
    predicts prove provide provides publication publications published purpose question questions recent recently
    reference references regard related relating relation relationship relevant report reported reports research
    role roles say says search searching see seem seems seen show showing shown shows significance significant
    specific specifically studied studies study studying suggest suggests summarise summarize summary superior tell
    text thank thanks there thing things think topic topics try trying understand understanding useful various versa
    vice want wanted work works"""
)

# Words too common in medicine to tell one question from another: the first to go when a query must be shorter.
GENERIC_WORDS = _words(
    """academic adult adults age aged analysis area areas assessment association care case cases center centers
    centre centres change changes characteristic characteristics children clinic clinical clinically common
    community comparison concern conditions consequence consequences control data development difference differences
    early effectiveness efficacy equal evaluation experience factor factors female following form function group
    groups high higher hospital hospitals human humans implication implications improvement increase increased
    increases individuals initial issue level levels long-term low lower male management marker measure measurement
    men model models mortality necessary normal number observation observed older outcome outcomes parameter
    parameters patient patients pattern period population populations practice predictive predictor presence
    prevalence prevention primary problem process prospective quality rate rates reality reduce reduced reduces
    reduction response responses result results retrospective review risk routine safe safety sample secondary
    setting settings severe short short-term significance single status strategy subjects success support survival
    system technique term test testing therapeutic therapy time tool treatment treatments true type types update
    valid validity value women worse young"""
)

# Enough function words to notice that a text is not English, and to leave them out.
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

# Words that a single letter may follow as part of the name: "vitamin a", "hepatitis B", "type I".
LETTERED_WORDS = _words(
    """angiotensin bipolar class coenzyme collagen complex factor grade hepatitis influenza interferon phase protein
    stage topoisomerase troponin type vitamin"""
)

# Endings and words by which a disease, a drug or a molecule is known; such words are kept longest.
DISEASE_ENDINGS = tuple(
    _words(
        """aemia algia cancer dementia ectasia emia iasis itis megaly oma omas oses osis pathies pathy penia plegia
        rrhage rrhea rrhoea sclerosis stenosis trophy uria"""
    )
)
DISEASE_WORDS = _words(
    """abscess addiction aids allergy anaemia anemia aneurysm anorexia anxiety arrhythmia asthma atrophy autism
    cancer cancers carcinoma cirrhosis covid-19 delirium dementia depression diabetes disease diseases disorder
    disorders eczema embolism epilepsy failure fever fibrosis fracture gout headache hypertension infarction
    infection infections injury insomnia insufficiency ischaemia ischemia leukaemia leukemia lupus lymphoma malaria
    melanoma migraine myeloma neoplasm neoplasms obesity ocd osteoporosis pain palsy pneumonia psoriasis sarcoma
    schizophrenia seizure seizures sepsis shock stroke syndrome syndromes toxicity trauma tuberculosis tumor tumors
    tumour tumours ulcer"""
)

# A disease named after a person -> its full name. Only names that stand for one disease.
EPONYMS: dict[str, str] = {
    "addison": "Addison's disease",
    "alzheimer": "Alzheimer's disease",
    "alzheimers": "Alzheimer's disease",
    "alzheimer's": "Alzheimer's disease",
    "behcet": "Behcet's syndrome",
    "crohn": "Crohn's disease",
    "crohns": "Crohn's disease",
    "crohn's": "Crohn's disease",
    "cushing": "Cushing's syndrome",
    "duchenne": "Duchenne muscular dystrophy",
    "graves": "Graves' disease",
    "hashimoto": "Hashimoto's thyroiditis",
    "hodgkin": "Hodgkin lymphoma",
    "huntington": "Huntington's disease",
    "huntington's": "Huntington's disease",
    "kawasaki": "Kawasaki disease",
    "marfan": "Marfan syndrome",
    "parkinson": "Parkinson's disease",
    "parkinsons": "Parkinson's disease",
    "parkinson's": "Parkinson's disease",
    "raynaud": "Raynaud's phenomenon",
    "sjogren": "Sjogren's syndrome",
    "tourette": "Tourette syndrome",
    "wilson's": "Wilson's disease",
}

# The stems by which international nonproprietary names tell a drug's class (WHO, "The use of stems in the selection of
# International Nonproprietary Names"); longest first where one ends with another.
DRUG_STEMS: tuple[tuple[str, str], ...] = (
    ("gliflozin", "SGLT2 inhibitors"),
    ("gliptin", "DPP-4 inhibitors"),
    ("glitazone", "thiazolidinediones"),
    ("glutide", "GLP-1 receptor agonists"),
    ("floxacin", "fluoroquinolones"),
    ("cycline", "tetracyclines"),
    ("thromycin", "macrolides"),
    ("cillin", "penicillins"),
    ("conazole", "azole antifungals"),
    ("nidazole", "nitroimidazoles"),
    ("ciclib", "CDK4/6 inhibitors"),
    ("tinib", "tyrosine kinase inhibitors"),
    ("rafenib", "RAF inhibitors"),
    ("zomib", "proteasome inhibitors"),
    ("parib", "PARP inhibitors"),
    ("xaban", "factor Xa inhibitors"),
    ("gatran", "thrombin inhibitors"),
    ("vastatin", "statins"),
    ("sartan", "angiotensin receptor blockers"),
    ("dipine", "calcium channel blockers"),
    ("prazole", "proton pump inhibitors"),
    ("setron", "5-HT3 antagonists"),
    ("triptan", "serotonin 5-HT1 agonists"),
    ("dronate", "bisphosphonates"),
    ("dronic", "bisphosphonates"),
    ("tidine", "H2 receptor antagonists"),
    ("gepant", "CGRP antagonists"),
    ("lukast", "leukotriene antagonists"),
    ("oxetine", "serotonin reuptake inhibitors"),
    ("azepam", "benzodiazepines"),
    ("azolam", "benzodiazepines"),
    ("caine", "local anesthetics"),
    ("profen", "anti-inflammatory agents"),
    ("coxib", "COX-2 inhibitors"),
    ("rubicin", "anthracyclines"),
    ("platin", "platinum compounds"),
    ("taxel", "taxanes"),
    ("vir", "antiviral agents"),
    ("mab", "monoclonal antibodies"),
    ("pril", "ACE inhibitors"),
    ("olol", "beta blockers"),
)

# Well-known groups of diseases, for the broader wording where no MeSH tree is at hand.
DISEASE_GROUPS: dict[str, str] = {
    "alzheimer": "neurodegenerative diseases",
    "parkinson": "neurodegenerative diseases",
    "huntington": "neurodegenerative diseases",
    "amyotrophic": "neurodegenerative diseases",
    "dementia": "neurodegenerative diseases",
    "crohn": "inflammatory bowel diseases",
    "colitis": "inflammatory bowel diseases",
    "asthma": "lung diseases",
    "copd": "lung diseases",
    "lupus": "autoimmune diseases",
    "psoriasis": "autoimmune diseases",
    "rheumatoid": "autoimmune diseases",
    "stroke": "cerebrovascular disorders",
    "infarction": "cardiovascular diseases",
    "angina": "cardiovascular diseases",
    "atherosclerosis": "cardiovascular diseases",
    "hypertension": "cardiovascular diseases",
    "diabetes": "metabolic diseases",
    "obesity": "metabolic diseases",
    "schizophrenia": "mental disorders",
    "depression": "mental disorders",
    "nephritis": "kidney diseases",
    "hepatitis": "liver diseases",
    "cirrhosis": "liver diseases",
    "leukemia": "hematologic neoplasms",
    "leukaemia": "hematologic neoplasms",
    "lymphoma": "hematologic neoplasms",
    "myeloma": "hematologic neoplasms",
    "carcinoma": "neoplasms",
    "melanoma": "neoplasms",
    "sarcoma": "neoplasms",
    "glioblastoma": "neoplasms",
}

# MeSH headings of nearly every record of a kind: who was studied and how, not what about.
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
