"""How many people a study included, and a review how many studies, where its abstract says so without any doubt."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from deepcritical_mcp.export.study_design import NOT_STUDIES, SECONDARY

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_WORDS = {word: value for value, word in enumerate(f"{_UNITS} seventeen eighteen nineteen".split())}
_TENS = {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_NUMBER = (
    rf"(?<![\w.,/±<>=≤≥-])(?P<number>[0-9]{{1,3}}(?:[,  ][0-9]{{3}}){{1,3}}|[0-9]{{1,8}}"
    rf"|(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_WORDS)}))?|{'|'.join(_WORDS)})(?![\w%]|[.,/:][0-9])"
)
_WORD = r"(?:(?!(?:of|in|to|and|or|with|from|were|was|per|for|than|by|studies|trials)\b)[^\W\d][\w'’-]{0,24},? )"
_PEOPLE = (
    r"(?:patients|participants|subjects|adults|children|women|men|individuals|people|persons|volunteers|infants|"
    r"neonates|newborns|adolescents|students|nurses|physicians|veterans|survivors|mothers|girls|boys|males|females|"
    r"respondents|residents|controls|cases)\b"
)
_STUDIES = r"(?:studies|trials|rcts|articles|papers|reports|publications)\b"
_ENROLLED = (
    r"(?:enrolled|included|randomi[sz]ed|recruited|randomly (?:assigned|allocated|selected)|analy[sz]ed|studied)"
)
_MENTIONED = re.compile(rf"{_NUMBER} {_WORD}{{0,5}}?{_PEOPLE}")
_CONTROLS = re.compile(rf"{_NUMBER} {_WORD}{{0,3}}?(?:healthy|normal|controls?)\b")
_BEFORE = re.compile(rf"\b{_ENROLLED} (?:data (?:from|on|of) )?(?:a total of )?{_NUMBER} {_WORD}{{0,5}}?{_PEOPLE}")
_AFTER = re.compile(
    rf"{_NUMBER} {_WORD}{{0,5}}?{_PEOPLE}(?:,? [^\s;:]{{1,25}}){{0,12}}? (?:were|was) (?:\w{{1,20}}ly )?{_ENROLLED}\b"
    rf"|(?P<took>{_NUMBER.replace('number', 'other')} {_WORD}{{0,5}}?{_PEOPLE}(?: [^\s;:]{{1,25}}){{0,8}}? "
    r"(?:participated in the|took part in the))"
)
_STUDIES_INCLUDED = re.compile(
    rf"{_NUMBER} {_WORD}{{0,4}}?{_STUDIES}(?:,? [^\s;:]{{1,25}}){{0,8}}? (?:were|was) (?:\w{{1,20}}ly )?included\b"
    rf"|{_NUMBER.replace('number', 'other')} {_WORD}{{0,4}}?{_STUDIES} met (?:the |our )?(?:inclusion|eligibility)"
)
_ANY_NUMBER = re.compile(rf"[0-9]|\b(?:{'|'.join((*_TENS, *list(_WORDS)[2:]))})\b")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9])|\n")
_IN_BRACKETS = re.compile(r" ?\([^()]{0,300}\)| ?\[[^\[\]]{0,300}\]")
_OTHERS_STUDY = re.compile(
    r"\b(?:previous|prior|earlier|another|recent)(?:ly)? (?:stud|trial|report|work|publi)|\b(?:will|have) be|\bper\b"
    r"|\b(?:hundred|thousand|million|dozen|in addition|additionally|database included|registry included)"
)
_TELLING = ("enrol", "includ", "random", "recruit", "analy", "studied", "participated", "took part", "met ")
_PART = re.compile(
    r"\b(?:group|arm|subgroup|subset|validation|training|replication|additional|further|other|remaining|excluded)\b"
)
_IN_GROUP = re.compile(r" in(?:to)? (?:[\w-]{1,20} ){0,4}(?:group|arm|cohort|subset)\b")
_HARMLESS = re.compile(
    r"\b(?:19|20)[0-9]{2}\b"
    rf"|(?:(?<![0-9.,])[0-9.,]{{1,12}}|\b(?:{'|'.join(_WORDS)})) ?"
    r"(?:%|mg|g|kg|ml|years?|weeks?|months?|days?|hours?|min|cent(?:er|re)s|hospitals|sites|countries|clinics)\b"
    r"|(?<![0-9])[0-9]{1,8}(?:-| to )[0-9]{1,8}"
)


def people_included(abstract: str, designs: Collection[str]) -> str:
    """The number of people in digits; "" if the abstract does not say it, or if more than one number could be meant.

    Of a review it is the number in the studies that were included.
    """
    if NOT_STUDIES & {*designs} or ("review" in designs and len(designs) == 1):
        return ""
    is_review = bool(SECONDARY & {*designs})
    found = {value for one in _sentences(abstract) for value in _included(one, is_review=is_review)}
    if len(found) != 1:
        return ""
    (value,) = found
    whole = _IN_BRACKETS.sub("", abstract).casefold()
    others = (_value(one["number"]) for one in _CONTROLS.finditer(whole))
    mentioned = (_value(one["number"]) for one in _MENTIONED.finditer(whole))
    return "" if max(mentioned, default=0) > value or any(one != value for one in others) else str(value)


def studies_included(abstract: str, designs: Collection[str]) -> str:
    """The number of studies that a systematic review included; "" as for `people_included`."""
    if not (SECONDARY - {"review"}) & {*designs}:
        return ""
    hits = [found for one in _sentences(abstract) for found in _STUDIES_INCLUDED.finditer(one)]
    found = {_value(one["number"] or one["other"]) for one in hits}
    return str(found.pop()) if len(found) == 1 else ""


def _sentences(abstract: str) -> list[str]:
    """Those that may say who or what was included, in lower case and without what stands in brackets."""
    split = (one.casefold() for one in _SENTENCE.split(abstract))
    return [_IN_BRACKETS.sub("", one) for one in split if any(word in one for word in _TELLING)]


def _included(sentence: str, *, is_review: bool) -> Iterator[int]:
    """The number of people that were included by this sentence; none if it has another number that could be meant."""
    if _OTHERS_STUDY.search(sentence) or (is_review and not re.search(_STUDIES, sentence)):
        return
    for found in (*_BEFORE.finditer(sentence), *_AFTER.finditer(sentence)):
        name = "number" if found["number"] else "other"
        rest = _HARMLESS.sub("", f"{sentence[: found.start(name)]} {sentence[found.end(name) :]}")
        rest = re.sub(rf"{_NUMBER} {_WORD}{{0,4}}?{_STUDIES}", "", rest) if is_review else rest
        if not (_ANY_NUMBER.search(rest) or _PART.search(found[0]) or _IN_GROUP.match(sentence, found.end())):
            yield _value(found[name])


def _value(number: str) -> int:
    if number[0].isdigit():
        return int(re.sub(r"[^0-9]", "", number))
    return sum(_WORDS.get(word, 0) + _TENS.get(word, 0) for word in re.split("[- ]", number))
