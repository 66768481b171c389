"""What people write around a topic: a request, the labels of PICO, several questions in one."""

from __future__ import annotations

import re

from deepcritical_mcp.search.expansion.phrases import phrases
from deepcritical_mcp.search.expansion.word_lists import word_list
from deepcritical_mcp.text import QUESTION_WORDS, REQUEST_WORDS, clean_line

# What asks, and what stands around it in a request.
_ASKING = word_list("asking")
_AROUND = REQUEST_WORDS | _ASKING | word_list("around a request")
# "As a nurse, I want to know whether …", "The clinician wants to know if …", "Is there good evidence for …".
_LEAD_IN = re.compile(
    r"^(?:(?:as an?|i am|i'm|we are) [^.?!]{1,150}?(?:,|\.| and|;) )?"
    r"(?:(?:an?|my|our|the) (?:[\w-]+ ){1,2}(?=(?:asks?|explores?|is|are|looks?|needs?|wants?|wonders?) ))?"
    rf"(?=(?:[\w']+ ){{0,8}}?(?:{'|'.join(sorted(_ASKING))}) )(?:(?:{'|'.join(sorted(_AROUND))}) )+"
    r"(?:about|at|concerning|for|how|if|in|on|regarding|what|whether|why) (?=\S)",
    re.IGNORECASE,
)
# "Hi, I'm a nursing student.": who asks.
_WHO = re.compile(
    r"^(?:(?:hi|hello|hey|dear \w+)[,!. ]+)?(?:(?:as|i am|i'm|we are) (?:an? )?(?:[\w-]+ ){0,3}?"
    rf"(?:{'|'.join(sorted(word_list('who asks')))})\b[^.?!,;]{{0,60}}[.,;!] )?",
    re.IGNORECASE,
)
_SPAN = re.compile(
    r" (?:during|from|in|over|within) the (?:last|past) (?:[\w-]+ )?(?:decades?|months|years?)\b", re.IGNORECASE
)
_MAY_I = re.compile("^(?:can|could|do|may|must|should) (?:i|one|we|you) (?=.)", re.IGNORECASE)
_WISH = re.compile(
    "[,.;?!] (?:if possible|ideally|please|preferably|thanks|thank you)(?![^ ,.!]).{0,200}$", re.IGNORECASE
)
_WHETHER = re.compile("^(?:if|whether) (?=.)", re.IGNORECASE)
_PICO_LABEL = re.compile(
    r"(?<!\w)(?P<label>[PICOTS]|[Pp]opulation|[Pp]atients?|[Pp]roblem|[Ii]ntervention|[Ee]xposure|"
    r"[Cc]ompar(?:ison|ator)|[Cc]ontrol|[Oo]utcomes?) ?[:=] ?"
)
# "In adults with low back pain, does yoga compared with physiotherapy improve pain?"
_PICO_SENTENCE = re.compile(
    r"(?:in|among|for) (?P<P>[^,]++), (?:does|do|is|are|can|will|should) (?P<I>.{1,300}?),? "
    r"(?:compared (?:with|to)|versus|vs\.?|rather than) (?P<C>.{1,300}?),? "
    r"(?:affects?|changes?|decreases?|improves?|increases?|leads? to|lowers?|prevents?|reduces?|results? in) (?P<O>.+)",
    re.IGNORECASE,
)
# "Adults with asthma (P), yoga (I)": the letters are no words.
_PICO_LETTER = re.compile(r" \((?P<letter>[PICOT])\)")
_PICO_SLASHES = re.compile(r"PICO\b[: -]*+(?P<P>[^/]++)/(?P<I>[^/]++)/(?P<C>[^/]++)/(?P<O>[^/]++)", re.IGNORECASE)
# Where a second question begins: after a question mark, or after "and" or a semicolon before a question word.
_NEXT_QUESTION = re.compile(
    r"\?[ ,;]+(?=\w)|(?:;|,? and) (?=(?:how|what|which|why|when|does|do|is|are|can|should) )", re.IGNORECASE
)


def without_letters(text: str) -> str:
    """`text` with the letters of PICO in parentheses, if it has several of them, as labels before its parts."""
    parts = [*_PICO_LETTER.finditer(text)]
    if len({found["letter"] for found in parts}) < 2:
        return text
    starts = [0, *(found.end() for found in parts)]
    said = (text[start : found.start()].strip(" ,;") for start, found in zip(starts, parts, strict=False))
    listed = (f"{found['letter']}: {part}" for found, part in zip(parts, said, strict=True))
    return "; ".join((*listed, text[starts[-1] :].strip(" ,;."))).strip(" ;")


def subject_of(text: str) -> str:
    """`text` without the labels of PICO, or without a request that ends in "papers about" and the like."""
    labeled = clean_line("; ".join(part.strip(" ;.,") for part in pico_parts(text).values()))
    asked = _LEAD_IN.sub("", _WHO.sub("", _SPAN.sub("", _WISH.sub("", text))))
    return labeled or _WHETHER.sub("", _MAY_I.sub("", asked))


def pico_parts(text: str) -> dict[str, str]:
    """The parts of a PICO question by their labels in capitals; {} if `text` is none."""
    if written := _PICO_SENTENCE.fullmatch(text.rstrip(" ?.")) or _PICO_SLASHES.fullmatch(text):
        return written.groupdict()
    labels = list(_PICO_LABEL.finditer(text)) if _PICO_LABEL.match(text) else []
    ends = [label.start() for label in labels[1:]] + [len(text)]
    parts = [(label["label"].upper(), text[label.end() : end]) for label, end in zip(labels, ends, strict=False)]
    return {name: " ; ".join(part for label, part in parts if label == name) for name, _ in parts} if parts[1:] else {}


def questions_in(text: str) -> tuple[str, ...]:
    """The questions of a text that asks several."""
    found = [part.strip(" ?,;") for part in _NEXT_QUESTION.split(text)]
    is_question = text.split()[0].lower() in QUESTION_WORDS or "?" in text
    return tuple(found) if is_question and len(found) > 1 and all(any(phrases(one)) for one in found) else ()
