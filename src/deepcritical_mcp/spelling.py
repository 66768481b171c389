"""British and American spelling, and Greek letters by their names."""

from __future__ import annotations

import re

_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega"
)
GREEK_NAMES = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _NAMES.split(), strict=True))
"""The name of each small Greek letter."""
_AMERICAN = (
    (re.compile(r"ae|oe"), "e"),
    (re.compile(r"our(?=$|s$|al|ed|ing|able)"), "or"),
    (re.compile(r"is(?=e$|es$|ed$|er$|ing$|ation)"), "iz"),
    (re.compile(r"ys(?=e$|es$|ed$|ing$)"), "yz"),
    (re.compile(r"(?<=[tbv])re(?=$|s$)"), "er"),
    (re.compile(r"ll(?=ed$|ing$|er$)"), "l"),
    (re.compile(r"mme(?=$|s$)"), "m"),
    (re.compile(r"ogue(?=$|s$)"), "og"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"leuco"), "leuko"),
    (re.compile(r"^mould"), "mold"),
    (re.compile(r"^ageing"), "aging"),
)


def one_spelling(word: str) -> str:
    """A word in small letters as Americans spell it, or nearly: what comes out need not be a word, so that only two
    results may be compared."""
    if word == "grey":
        return "gray"
    if len(word) > 4:
        for british, american in _AMERICAN:
            word = british.sub(american, word)
    return word


# American>British; "_" is the beginning or the end of a word.
_PAIRS = tuple(
    tuple(pair.replace("_", " ").split(">"))
    for pair in """_edema>_oedema lymphedema>lymphoedema _esophag>_oesophag _estrogen>_oestrogen _etiolog>_aetiolog
    anesthe>anaesthe _celiac>_coeliac _cesarean>_caesarean _gynecolog>_gynaecolog _fecal_>_faecal_ _feces_>_faeces_
    _orthopedic>_orthopaedic
    pediatric>paediatric _fetal_>_foetal_ _fetus>_foetus _hemo>_haemo _hemat>_haemat emia_>aemia_ emias_>aemias_
    glycemic_>glycaemic_ ischemic_>ischaemic_ uremic_>uraemic_ volemic_>volaemic_ rrhea>rrhoea pnea_>pnoea_
    tumor_>tumour_ tumors_>tumours_ color_>colour_ behavior>behaviour _fiber>_fibre _center_>_centre_
    _centers_>_centres_ _program_>_programme_ _programs_>_programmes_ _neuron_>_neurone_
    _neurons_>_neurones_ _sulf>_sulph leukocyt>leucocyt
    _aging_>_ageing_ labeling>labelling modeling>modelling signaling>signalling counseling>counselling
    _necrotiz>_necrotis mobiliz>mobilis sensitiz>sensitis fertiliz>fertilis steriliz>sterilis catheteriz>catheteris
    _flashes_>_flushes_ ization>isation randomiz>randomis hospitaliz>hospitalis immuniz>immunis""".split()
)
_SAME_IN_BOTH = frozenset({"academia", "hemolymph"})


def other_spelling(text: str) -> str:
    """A text in small letters with its words as the British spell them if they are American, or the other way round;
    unchanged if there is one spelling only."""
    return "".join(_other(part) if part.isalpha() else part for part in re.split("([ -])", text))


def _other(word: str) -> str:
    padded = f" {word} "
    for american, british in _PAIRS if word not in _SAME_IN_BOTH else ():
        if british in padded:
            return padded.replace(british, american).strip()
        if american in padded:
            return padded.replace(american, british).strip()
    return word
