"""The same word written otherwise: spelling, Greek letters, hyphens, possessives, plurals, a drug's two names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deepcritical_mcp.search.expansion.topic import is_drug
from deepcritical_mcp.search.expansion.vocabulary import EPONYMS

_VERBS = "(random|hospital|character|optim|minim|standard|local|immun|sensit|visual|stabil|steril|util|general|neutral)"

# Rules on single words in lower case, each safe within the words that medicine uses.
_TO_AMERICAN: tuple[tuple[str, str], ...] = (
    (r"aemi(a|as|c)\b", r"emi\1"),
    (r"haem", "hem"),
    (r"oedema", "edema"),
    (r"oesoph", "esoph"),
    (r"\bfoet", "fet"),
    (r"paediatr", "pediatr"),
    (r"gynaec", "gynec"),
    (r"orthopaed", "orthoped"),
    (r"rrhoea", "rrhea"),
    (r"pnoea", "pnea"),
    (r"\b(tum|col|behavi)our", r"\1or"),
    (r"\bfibre", "fiber"),
    (r"\bcentre", "center"),
    (r"anaesth", "anesth"),
    (r"caesar", "cesar"),
    (r"\bfaec", "fec"),
    (r"oestr", "estr"),
    (r"coeliac", "celiac"),
    (r"\bcaec", "cec"),
    (r"aetiol", "etiol"),
    (r"sulph", "sulf"),
    (r"leucocyt", "leukocyt"),
    (r"isation", "ization"),
    (rf"{_VERBS}is(e|ed|es|ing)\b", r"\1iz\2"),
    (r"\bageing\b", "aging"),
    (r"(signal|label|model)ling", r"\1ing"),
)
_TO_BRITISH: tuple[tuple[str, str], ...] = (
    (r"(?<=an|uk|ch|yc|ur|er|ir|ol|ot|id|al|tr|ox)emia", "aemia"),
    (r"(?<=an|uk|ch|yc)emic\b", "aemic"),
    (r"\bhem(o|at)", r"haem\1"),
    (r"(?<!o)edema", "oedema"),
    (r"(?<!o)esoph", "oesoph"),
    (r"\bfet(us|al|uses)\b", r"foet\1"),
    (r"(?<!a)pediatr", "paediatr"),
    (r"gynec", "gynaec"),
    (r"orthoped", "orthopaed"),
    (r"rrhea", "rrhoea"),
    (r"pnea\b", "pnoea"),
    (r"\b(tum|col|behavi)or(s|al)?\b", r"\1our\2"),
    (r"\bfiber", "fibre"),
    (r"\bcenter(s?)\b", r"centre\1"),
    (r"(?<=an)esthe", "aesthe"),
    (r"\bcesar", "caesar"),
    (r"\bfec(al|es)\b", r"faec\1"),
    (r"(?<!o)estr(ogen|adiol|one)", r"oestr\1"),
    (r"(?<!o)celiac", "coeliac"),
    (r"\bcec(um|al)\b", r"caec\1"),
    (r"(?<!a)etiolog", "aetiolog"),
    (r"sulf(ate|ide|on)", r"sulph\1"),
    (r"ization", "isation"),
    (rf"{_VERBS}iz(e|ed|es|ing)\b", r"\1is\2"),
    (r"\baging\b", "ageing"),
    (r"(signal|label|model)ing\b", r"\1ling"),
)

# A drug's international name and the one used in the United States.
_NAMES = (
    ("paracetamol", "acetaminophen"),
    ("adrenaline", "epinephrine"),
    ("noradrenaline", "norepinephrine"),
    ("salbutamol", "albuterol"),
    ("pethidine", "meperidine"),
    ("glibenclamide", "glyburide"),
    ("rifampicin", "rifampin"),
    ("ciclosporin", "cyclosporine"),
    ("isoprenaline", "isoproterenol"),
    ("phenobarbitone", "phenobarbital"),
    ("lignocaine", "lidocaine"),
    ("frusemide", "furosemide"),
    ("acetylsalicylic acid", "aspirin"),
    ("ascorbic acid", "vitamin c"),
)
_OTHER_NAME = {name: other for pair in _NAMES for name, other in (pair, pair[::-1])}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "ζ": "zeta",
    "θ": "theta",
    "κ": "kappa",
    "λ": "lambda",
    "σ": "sigma",
    "ω": "omega",
}
_GREEK_LETTER = {name: letter for letter, name in _GREEK.items()}
_NO_PLURAL = ("ss", "us", "is", "as", "os")
_NO_SINGULAR = re.compile(
    "ascites|biceps|caries|diabetes|faeces|feces|herpes|measles|mumps|rabies|scabies|series|species"
)


@dataclass(frozen=True)
class Rewording:
    """A text in another form, and what changed."""

    text: str
    change: str


def rewordings(text: str) -> list[Rewording]:
    """The forms in which `text` may be written instead, most useful first; none equals `text`."""
    rules: Sequence[tuple[str, Callable[[str], str]]] = (
        ("the other name of the drug", other_drug_names),
        ("the disease's full name", full_eponyms),
        ("Greek letters as words", greek_as_words),
        ("American spelling", american_spelling),
        ("British spelling", british_spelling),
        ("Greek letters", greek_as_letters),
        ("hyphens as they are also set", other_hyphens),
        ("without possessives", without_possessives),
    )
    found = {text.casefold(): Rewording(text, "")}
    for change, rule in rules:
        reworded = rule(text)
        found.setdefault(reworded.casefold(), Rewording(reworded, change))
    return [rewording for rewording in found.values() if rewording.change]


def other_drug_names(text: str) -> str:
    """`text` with every drug of two names under its other one."""
    pattern = r"\b(" + "|".join(map(re.escape, sorted(_OTHER_NAME, key=len, reverse=True))) + r")\b"
    return re.sub(pattern, lambda match: _OTHER_NAME[match[0].lower()], text, flags=re.IGNORECASE)


def full_eponyms(text: str) -> str:
    """`text` with "alzheimer" and its like in full, unless "disease" or the like follows already."""
    words = text.split()
    full: list[str] = []
    for index, word in enumerate(words):
        name = EPONYMS.get(word.lower().replace("’", "'"), "")
        following = words[index + 1].lower() if index + 1 < len(words) else ""
        is_named = following.startswith(("disease", "syndrome", "lymphoma", "dementia", "thyroiditis", "phenomenon"))
        full.append(word if not name or is_named or "muscular" in following else name)
    return " ".join(full)


def american_spelling(text: str) -> str:
    """`text` as it is spelled in the United States: "haemorrhage" -> "hemorrhage"."""
    return _by_word(text, _TO_AMERICAN)


def british_spelling(text: str) -> str:
    """`text` as it is spelled in Britain: "tumor" -> "tumour"."""
    return _by_word(text, _TO_BRITISH)


def greek_as_words(text: str) -> str:
    """`text` with each Greek letter as its name: "TNF-α" -> "TNF-alpha"."""
    text = text.replace("ß", "β") if re.search(r"(^|[\s-])ß|ß($|[\s-])", text) else text
    return re.sub(f"[{''.join(_GREEK)}]", lambda match: _GREEK[match[0]], text.replace("µ", "μ"))


def greek_as_letters(text: str) -> str:
    """`text` with each name of a Greek letter as the letter: "TNF-alpha" -> "TNF-α"."""
    pattern = rf"(?<![^\W\d_])({'|'.join(_GREEK_LETTER)})(?![^\W\d_])"
    return re.sub(pattern, lambda match: _GREEK_LETTER[match[0].lower()], text, flags=re.IGNORECASE)


def other_hyphens(text: str) -> str:
    """`text` with "IL-6" as "IL6" and back, and with other hyphens as spaces."""

    def change(match: re.Match[str]) -> str:
        word = match[0]
        if re.fullmatch(r"[^\W\d_]{1,5}-\d{1,3}[^\W\d_]?", word):
            return word.replace("-", "")
        if re.fullmatch(r"[A-Z]{2,5}\d{1,2}", word):
            return re.sub(r"(?<=[A-Z])(?=\d)", "-", word)
        return word.replace("-", " ") if re.fullmatch(r"[^\W\d_]{3,}(-[^\W\d_]{3,})+", word) else word

    return re.sub(r"[^\s]+", change, text)


def natural_order(heading: str) -> str:
    """An inverted heading in natural order: "Diabetes Mellitus, Type 2" -> "Type 2 Diabetes Mellitus"."""
    return " ".join(reversed(heading.split(", "))) if heading.count(", ") in (1, 2) else heading


def without_possessives(text: str) -> str:
    """`text` with "Crohn's" as "Crohn"."""
    return re.sub(r"(?<=\w)['’]s\b|(?<=s)['’](?=\s|$)", "", text)


def other_number(text: str) -> str:
    """`text` with its last noun in the plural where it is singular, and in the singular where it is plural."""
    head, _, last = text.rpartition(" ")
    if not re.fullmatch(r"[a-z]{4,}", last) or is_drug(last) or last in EPONYMS or _NO_SINGULAR.fullmatch(last):
        return text
    if last.endswith("ies"):
        other = last[:-3] + "y"
    elif last.endswith("s") and not last.endswith(_NO_PLURAL):
        other = last[:-1]
    elif last.endswith("is"):
        other = last[:-2] + "es"
    elif last.endswith("s"):
        return text
    else:
        other = last[:-1] + "ies" if re.search(r"[^aeiou]y$", last) else last + "s"
    return f"{head} {other}".strip()


def _by_word(text: str, rules: Sequence[tuple[str, str]]) -> str:
    """`text` with each word changed by every rule that fits it; a leading capital stays, words in capitals are left."""
    return " ".join(word if word.isupper() else _respelled(word, rules) for word in text.split())


def _respelled(word: str, rules: Sequence[tuple[str, str]]) -> str:
    lower = word.lower()
    for pattern, replacement in rules:
        lower = re.sub(pattern, replacement, lower)
    if lower == word.lower():
        return word
    return lower[0].upper() + lower[1:] if word[0].isupper() else lower
