"""Negations in a topic: what is absent, excluded, or there in one way or the other."""

from __future__ import annotations

import re

from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.phrases import is_drug, is_symbol
from deepcritical_mcp.search.expansion.roles import is_adjective, is_filler, role_of_word
from deepcritical_mcp.search.expansion.word_lists import endings
from deepcritical_mcp.text import NEGATIONS, PUBMED_STOP_WORDS, QUERY_FUNCTION_WORDS

# How many words a negation covers at most, itself included: "without a diagnosis of type 2 diabetes".
_MAX_NEGATION_WORDS = 7
# What no negation covers ("migraine without aura children").
_BEYOND = ("group", "kind", "person", "place", "setting")

_IGNORED = rf"(?:{'|'.join(sorted(QUERY_FUNCTION_WORDS))})(?![^ ])"
# Nothing is negated in "with or without" or at the end of a clause; "of" continues a negation ("without a diagnosis of
# diabetes").
_CLAUSE = (
    "(?:admitted|although|attending|because|despite|exposed|given|living|receiving|taking|treated|undergoing)(?![^ ])"
)
_NEGATION = re.compile(
    r"(?<![^ ])(?<!\bor )(?<!\bversus )(?<!\bvs )(?:do )?"
    rf"(?P<negation>absence of|free of|lacking|unable to|{'|'.join(sorted(NEGATIONS))})"
    rf"(?:(?: {_IGNORED}){{0,6}}(?: (?:candidates|eligible|given|[^ ,]{{1,30}}(?:ed|en|ing)) "
    rf"(?:against|by|for|from|of|on|to|with)(?= (?!{_IGNORED})))?(?: (?:of )?(?!{_IGNORED})[^ ,;]++)"
    rf"(?: (?:of )?(?!{_IGNORED}|{_CLAUSE})[^ ,;]++){{0,5}}|(?: {_IGNORED}){{1,3}}(?= [,;]|$))",
    re.IGNORECASE,
)
_SOME_WORDS = rf"(?: (?:of )?(?!{_IGNORED})[^ ,;.?()]++){{1,6}}"
_FOR_WHOM = "(?: (?:among|during|for|in|of|patients|people|those|with)){0,3}"
# What may be there or not, and what is compared with nothing ("surgery vs no surgery"): no paper has to say so.
_EITHER_WAY = re.compile(
    r"(?<![^ ])(?:with (?:and|or) without|with/without|(?:apart|aside) from|other than|"
    r"(?:regardless|irrespective) of|"
    rf"(?:versus|vs\.?|or|compared (?:with|to)) (?:no|without)){_FOR_WHOM}"
    rf"{_SOME_WORDS}",
    re.IGNORECASE,
)
_POPULATION = (
    "(?:(?:older|pregnant|young) )?(?:adolescents|adults|animals|children|elderly|humans|infants|men|mice|neonates|"
    "newborns|older people|pregnancy|rats|women)"
)
_EXCLUDED = re.compile(
    rf"\(not ([^()]{{1,80}})\)|,? not (?:among|during|in) (?:the )?({_POPULATION})(?!\w)|"
    r"(?:,| although| and| but) not (?!even |just |known|less |more |only |yet )"
    r"([^,;:.?()]{1,80}?)(?=$|[,;:.?()]| (?:after|among|as|during|for|in|on|to|with) )|"
    r"(?<! by)(?<! for)(?<! in)(?<! of),? (?:excluding(?: (?:articles|papers|studies|trials))?|except(?: for)?|"
    rf"(?:apart from|aside from|other than)(?= (?:among|during|for|in) )){_FOR_WHOM}({_SOME_WORDS})",
    re.IGNORECASE,
)
_WORD = rf"(?!{_IGNORED}|{_CLAUSE})[^ ,;:.?()]++"
_ITEM = rf"(?:an? |any )?{_WORD}(?: {_WORD}){{0,3}}"
# What a negation says of all that follows: "not due to", "no history of", "without either".
_OF_ALL = (
    "(?: (?:an?|any|be|been|being|either|the|to)){0,3}"
    "(?: (?:(?:attributable|due|exposed|related|responding) to|(?:caused|explained) by|(?:candidates|eligible) for|"
    "had|has|have|having|for|given|in|on|receiv(?:e|ed|ing)|tak(?:en?|ing)|tolerat(?:e|ing)|treated with|us(?:ed?|ing)|"
    "vaccinated against|with))?"
    "(?:(?: (?:an?|any|clinical|known|previous|prior|the)){0,3}"
    " (?:diagnos[ie]s|evidence|history|presence|removal|risk|signs?|symptoms|use) of)?"
)
_NEGATED_LIST = re.compile(
    r"(?<![^ ])(?<!\bversus )(?<!\bvs )(?<!\bor )(?<!\bcompared with )(?<!\bcompared to )"
    rf"(?P<negation>(?:without|no|lacking|free of|absence of|neither|cannot|unable|not|never|"
    rf"(?P<excluding>excluding|except(?: for)?|but not)){_OF_ALL}) "
    rf"(?P<items>{_ITEM}(?:, {_ITEM}){{0,4}},? (?:or|nor|(?(excluding)and|nor)) {_ITEM})",
    re.IGNORECASE,
)
_NEXT_ITEM = re.compile(",? (?:or|nor|and) |, ", re.IGNORECASE)
# Other words for the same: pattern, replacement.
_WORDINGS = tuple(
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"(?<![^ (])((?-i:[a-z]{4,}))/((?-i:[a-z]{4,}))(?![^ ,;.?)])(?<!with/without)", r"\1 or \2"),
        (r"\bcan['’]t\b", "cannot"),
        (r"(?<=\w)n['’]t\b", " not"),
        (r"\b(?:w/o|with out)\b", "without"),
        (r"\bfree from\b", "free of"),
        (r"\b(break|check|drop|follow) (down|out|up)(?![\w-])", r"\1-\2"),
        (r"\bliving with\b", "with"),
        (
            r"\b(?:i|we) (?:am|are|do) not (?:interested in|want|need)(?: (?:articles|papers|studies|trials))?"
            r"(?: (?:about|in|on|with))?(?= )",
            ", excluding",
        ),
        (r"\bbarring(?= )|(?:^|(?<=[.,;:] ))(?:i |please |we )?exclude(?= )", "excluding"),
        (r"(?<=\w) -([a-z]{3,40})(?= |$)", r" excluding \1,"),
        (r"\b(all|any|anything|every|everything)( [^ ,;.?()]{1,40})? but(?= (?!not ))", r"\1\2 excluding"),
        (
            r"(?:[;:,.] |^)(?:patients |people |those )?(?:with )?((?:[^ ,;.:?()]{1,40} ){1,5}?)"
            r"(?:(?:is|are|was|were) )?(?<!\bbe )excluded(?= *(?:[,;.]|$))",
            r", excluding \1",
        ),
        (r"\b(without|excluding|no|not) \(([^()]{1,80})\)", r"\1 \2"),
        (r"\(((?:excluding|without) [^()]{1,80})\)", r", \1,"),
        (r"(?<![^ ])not (?:just|merely|only) ", ""),
        (r" but also(?= )", " and"),
        (r"\bnot (?:infrequent|uncommon|unusual)\b", "common"),
        (r" or not(?: to \w+)?(?![\w-])", ""),
    )
)
_NEXT_EXCLUDED = re.compile(",? (?:or|nor|and) |, ", re.IGNORECASE)
_PREPOSITION = re.compile("^(?:among|during|for|in|on|with) (?:the )?", re.IGNORECASE)
# "Not known not to tolerate aspirin", "no antibiotics unless fever": no query can say that.
_TANGLED = re.compile(
    r"(?<![^ ,(])(?:cannot|never|not)(?: [^ ,;.?()]++){0,3}? (?:never|not) (?:to be |to |been |be )?[^ ,;.?()]++|"
    r"(?<![^ ])(?:did|do|does|may|will) not (?:affect|cause|change|decrease|help|improve|increase|lower|prevent|reduce|"
    r"respond(?: \w{2,20}ly)?(?: to)?|worsen)(?![^ ])|"
    rf"(?<![^ ,(])not without [^ ,;.?()]++|(?<![^ ])(?:unless|only if|except (?:if|when))(?: {_WORD}){{1,3}}",
    re.IGNORECASE,
)

# What is often said of drugs that somebody does not or cannot take.
_UNTREATED = re.compile(
    r"(?:not|never) (?:given|receiving|taking|treated with) (?P<drug>[^ ]+(?: [^ ]+){0,2})", re.IGNORECASE
)
_INTOLERANT = re.compile(
    r"(?:cannot|unable to) (?:have|receive|take|tolerate|use) (?P<drug>[^ ]+(?: [^ ]+){0,2})", re.IGNORECASE
)
_NEVER_SMOKED = re.compile("(?:never|not) (?:been )?smok(?:ed|ers?|ing)", re.IGNORECASE)


def distributed(text: str) -> str:
    """`text` with one wording for each kind of negation, which is repeated for all that it negates: "without A or B" as
    "without A; without B"."""
    for wording, plain in _WORDINGS:
        text = wording.sub(plain, text)

    def repeated(found: re.Match[str]) -> str:
        negation, items = found["negation"], found["items"]
        if negation.isupper() and not text.isupper():  # "NO" is nitric oxide
            return found[0]
        again = re.sub("^neither", "without", negation, flags=re.IGNORECASE).replace(" either", "")
        return "; ".join(f"{again} {item}" for item in _NEXT_ITEM.split(items))

    return _NEGATED_LIST.sub(repeated, text)


def untangled(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` without the negations and conditions that no query can express, and these."""
    return _TANGLED.sub(" ,", text), tuple(found.strip() for found in _TANGLED.findall(text))


def without_exclusions(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` without what it excludes, and that."""
    found = ("".join(groups) for groups in _EXCLUDED.findall(text))
    parts = (_PREPOSITION.sub("", part.strip()) for one in found for part in _NEXT_EXCLUDED.split(one))
    found = (" ".join(part.split()) for part in parts if part.strip())
    return _EXCLUDED.sub(" ,", text), tuple(one for one in found if not all(map(is_adjective, one.split())))


def without_either_way(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` without what may be there or not, and that."""
    return _EITHER_WAY.sub(" ,", text), tuple(found.strip() for found in _EITHER_WAY.findall(text))


def quote_negations(text: str, *, all_caps: bool) -> str:
    """`text` with each negation and what it negates as a phrase in quotes; "NO" in mixed-case text is nitric oxide."""

    def quoted(match: re.Match[str]) -> str:
        words = match[0].split()
        if match["negation"].isupper() and not all_caps:
            return match[0]
        is_thing = match[0].lower().startswith(endings("not there"))
        end = whole = min(len(words), _MAX_NEGATION_WORDS + (words[0].lower() == "do"))
        names = [
            place
            for place, word in enumerate(words)
            if place > 1
            and (
                is_drug(word)
                or (is_thing and is_filler(word))
                or (is_symbol(word) and not all_caps)
                or role_of_word(word) in _BEYOND
            )
        ]
        end = whole = min([whole, *names])  # "non coeliac IBS" is about IBS, "no drugs help"
        while end and words[end - 1].lower() in PUBMED_STOP_WORDS | NEGATIONS:
            end -= 1
        end = end or whole  # "without being seen"
        return " ".join([pubmed_syntax.phrase(" ".join(words[:end])), *words[end:]])

    return _NEGATION.sub(quoted, text)


def negated_block(quoted: str) -> str:
    """A negation for PubMed: the phrase, or the other ways to say the same that papers have."""
    words = quoted.strip('"')
    others = ""
    if found := _UNTREATED.fullmatch(words):
        others = f"({pubmed_syntax.grouped(found['drug'])} AND (naive[tiab] OR untreated[tiab] OR unmedicated[tiab]))"
    elif found := _INTOLERANT.fullmatch(words):
        others = f"({pubmed_syntax.grouped(found['drug'])} AND (intoleran*[tiab] OR contraindicat*[tiab]))"
    elif _NEVER_SMOKED.fullmatch(words):
        others = '"never smokers"[tiab] OR "never smoker"[tiab] OR nonsmok*[tiab] OR "non-smok*"[tiab]'
    return f"({quoted} OR {others})" if others else quoted
