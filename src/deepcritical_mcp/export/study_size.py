"""How many people a study included, and a review how many studies, where its abstract says so without any doubt."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

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


def _some(what: str, *, adjectives: int = 5, name: str = "number") -> str:
    """A pattern of a number, adjectives, and what there is so many of."""
    return rf"{_NUMBER.replace('number', name)} {_WORD}{{0,{adjectives}}}?{what}"


_SOME_PEOPLE, _OTHER_PEOPLE = _some(_PEOPLE), _some(_PEOPLE, name="other")
_MENTIONED = re.compile(_SOME_PEOPLE)
_CONTROLS = re.compile(_some(r"(?:healthy|normal|controls?)\b", adjectives=3))
_MEETING = re.compile(rf"{_SOME_PEOPLE} (?:met|fulfilled|satisfied|remained)\b")
_MORE = r"(?:,? [^\s;:]{1,25})"
_WERE = r"(?:were|was) (?:\w{1,20}ly )?"
_ENROLLED = (
    r"(?:enrolled|included|randomi[sz]ed|recruited|analy[sz]ed|studied"
    r"|randomly (?:assigned|allocated|selected|divided))"
)
_INCLUDED = (
    re.compile(rf"\b{_ENROLLED} (?:data (?:from|on|of) )?(?:a total of )?{_SOME_PEOPLE}"),
    re.compile(
        rf"{_SOME_PEOPLE}{_MORE}{{0,12}}? {_WERE}{_ENROLLED}\b"
        rf"|{_OTHER_PEOPLE}{_MORE}{{0,8}}? (?:participated in|took part in) (?:the|this|our)\b"
    ),
)
"""How a sentence says whom a study included."""
_SEEN = (
    r"(?:treated|evaluated|examined|assessed|interviewed|surveyed|selected|followed|tested|reviewed|assigned|allocated)"
)
_SEEN_IN = (
    r"(?:investigated|evaluated|examined|assessed|compared|measured|estimated|tested|collected|gathered|conducted|"
    r"performed|undertaken|done|carried out)"
)
_EXAMINED = (
    re.compile(
        rf"\b{_SEEN_IN}{_MORE}{{0,20}}? (?:in|on|from|for|among) (?:a (?:total|cohort|sample) of )?{_SOME_PEOPLE}"
    ),
    re.compile(rf"\bwe (?:\w{{1,20}}ly )?{_SEEN} (?:data (?:from|on|of) )?(?:a total of )?{_SOME_PEOPLE}"),
    re.compile(
        rf"{_SOME_PEOPLE}{_MORE}{{0,14}}? {_WERE}{_SEEN}\b"
        rf"|{_OTHER_PEOPLE} met (?:the |our |all )?(?:inclusion|eligibility|study) criteria"
    ),
    re.compile(rf"{_SOME_PEOPLE}{_MORE}{{0,8}}? (?:participated|took part|volunteered)\b"),
    re.compile(
        r"\b(?:this|our|(?:conducted|performed|was) an?) (?:[\w-]{1,20},? ){0,6}(?:trial|study) "
        rf"(?:of|involving|in|with) (?:a total of )?{_SOME_PEOPLE}"
    ),
    re.compile(rf"^(?:participants|patients|subjects|study population):+ ?(?:a total of )?{_SOME_PEOPLE}"),
    re.compile(rf"\b(?:sample|cohort|participants|study population) (?:comprised|consisted of|were) {_SOME_PEOPLE}"),
)
"""How one says whom a study examined, which may be a part of those included."""
_COUNT = r"[0-9]{1,3}(?:,[0-9]{3}){1,2}|[0-9]{2,7}"
_SAMPLE = re.compile(
    rf"{_PEOPLE} ?[(\[]N ?= ?(?P<number>{_COUNT})[)\]]"
    rf"|[(\[]N ?= ?(?P<other>{_COUNT})[)\]] {_WORD}{{0,3}}{_PEOPLE}"
)
_IN_ALL = re.compile(
    rf"\b(?:of|from|among) (?:the )?(?:a total of )?{_SOME_PEOPLE} (?:who were )?{_ENROLLED} in (?:the|this|our) "
    r"(?:trial|study)\b"
)
_AMBIGUOUS = re.compile(
    r"\b(?:mice|mouse|rats?|rabbits?|monkeys?|cats?|dogs?|pigs?|sheep|cows?|cattle|heifers?|horses?|birds?|animals?)\b"
    r"|\bstud(?:y|ies) (?:1|2|one|two)\b|\bexperiments? (?:1|2|one|two)\b|\bhundred\b|\bthousand\b|\bmillion\b"
    r"|\b(?:were|was) (?:then |later )?excluded\b|\bafter excluding\b|\bthe initial [0-9]|\bwithdr[ae]wn?\b"
    r"|\bdropped out\b"
)
"""Words of abstracts with animals, with several studies, with people who left, or with a number that is not read."""
_STUDIES_INCLUDED = re.compile(
    rf"{_some(_STUDIES, adjectives=4)}{_MORE}{{0,8}}? {_WERE}included\b"
    rf"|{_some(_STUDIES, adjectives=4, name='other')} met (?:the |our )?(?:inclusion|eligibility)"
)
_LONGEST = 2_000
"""Characters of a sentence that is read."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_INTEGER = re.compile(r"(?<![\w.])(?:[0-9]{1,3}(?:[, ][0-9]{3}){1,3}|[0-9]{1,7})(?![\w%]|[.,/][0-9])")
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
_OF_A_GROUP = re.compile(r"(?<!study )(?<!patient )\b(?:group|arm)\b[^.;:]{0,30}$")
_IN_GROUP = re.compile(r" in(?:to)? (?:[\w-]{1,20} ){0,4}(?:group|arm|cohort|subset)\b")
_HARMLESS = re.compile(
    r"\b(?:19|20)[0-9]{2}\b"
    rf"|(?:(?<![0-9.,])[0-9.,]{{1,12}}\+?|\b(?:{'|'.join(_WORDS)})) ?"
    r"(?:%|[mµμ]?g|mcg|kg|m?l|iu|m?mol|[mc]m|years?|weeks?|months?|days?|hours?|h|min|cent(?:er|re)s|hospitals|sites"
    r"|countries|clinics|groups|arms|conditions|treatments|periods|sessions|doses|times)\b"
    r"|(?<![0-9])[0-9]{1,8}(?:[-–]| to )[0-9]{1,8}|\b[a-z]{2,10}-?[0-9][a-z0-9]{0,12}\b|[<>≤≥] ?[0-9.]{1,8}"
    r"|\b(?:phase|stage|grade|type|group|class) [0-9]\b"
)


def people_included(abstract: str, designs: Collection[str]) -> str:
    """The number of people in digits; "" if the abstract does not say it, or if more than one number could be meant.

    Of a review it is the number in the studies that were included.
    """
    if NOT_STUDIES & {*designs} or ("review" in designs and len(designs) == 1):
        return ""
    is_review = bool(SECONDARY & {*designs})
    found = {value for one in _sentences(abstract) for value in _numbers(one, _INCLUDED, is_review=is_review)}
    if not found and not is_review:
        found = _examined(abstract)
    if len(found) != 1:
        return ""
    (value,) = found
    whole = _IN_BRACKETS.sub("", abstract).casefold()
    others = [_value(one["number"]) for pattern in (_CONTROLS, _MEETING) for one in pattern.finditer(whole)]
    mentioned = (_value(one["number"]) for one in _MENTIONED.finditer(whole))
    return "" if max(mentioned, default=0) > value or any(one != value for one in others) else str(value)


def _examined(abstract: str) -> set[int]:
    """The numbers of people who were examined; none if any number of the abstract is larger, of which these may be a
    part."""
    text = abstract.casefold()
    if _AMBIGUOUS.search(text):
        return set()
    sentences = [_IN_BRACKETS.sub("", one) for one in _SENTENCE.split(abstract)]
    found = {value for one in sentences for value in _numbers(one.casefold(), _EXAMINED, is_review=False)}
    found |= {_value(one["number"] or one["other"]) for one in _SAMPLE.finditer(abstract)}
    found |= {_value(one["number"]) for sentence in sentences for one in _IN_ALL.finditer(sentence.casefold())}
    largest = max((_value(one) for one in _INTEGER.findall(_HARMLESS.sub(" ", text))), default=0)
    return found if largest <= max(found, default=0) else set()


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


def _numbers(sentence: str, patterns: Iterable[re.Pattern[str]], *, is_review: bool) -> Iterator[int]:
    """The number of people that `patterns` find; none if the sentence has another number that could be meant."""
    if len(sentence) > _LONGEST or _OTHERS_STUDY.search(sentence) or (is_review and not re.search(_STUDIES, sentence)):
        return
    for found in (found for pattern in patterns for found in pattern.finditer(sentence)):
        name = "number" if found["number"] else "other"
        if _YEAR.fullmatch(found[name]) or _OF_A_GROUP.search(sentence, max(0, found.start() - 60), found.start()):
            continue
        rest = _HARMLESS.sub("", f"{sentence[: found.start(name)]} {sentence[found.end(name) :]}")
        rest = re.sub(rf"{_NUMBER} {_WORD}{{0,4}}?{_STUDIES}", "", rest) if is_review else rest
        if not (_ANY_NUMBER.search(rest) or _PART.search(found[0]) or _IN_GROUP.match(sentence, found.end())):
            yield _value(found[name])


def _value(number: str) -> int:
    if number[0].isdigit():
        return int(re.sub(r"[^0-9]", "", number))
    return sum(_WORDS.get(word, 0) + _TENS.get(word, 0) for word in re.split("[- ]", number))
