"""Short articles in JATS, written for the tests."""

from deepcritical_mcp.models import own_spans
from deepcritical_mcp.reading.jats import Reading, read_jats

NAMESPACES = (
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" '
    'xmlns:oasis="http://docs.oasis-open.org/ns/oasis-exchange/table" xmlns:tp="http://www.plazi.org/taxpub"'
)


def article(body: str = "", *, meta: str = "", journal: str = "", after: str = "", attributes: str = "") -> bytes:
    """An article with that body; `after` follows the body."""
    front = f"<front><journal-meta>{journal}</journal-meta><article-meta>{meta}</article-meta></front>"
    inner = f"<body>{body}</body>" if body else ""
    return f"<article {NAMESPACES} {attributes}>{front}{inner}{after}</article>".encode()


def read(body: str = "", *, meta: str = "", after: str = "", attributes: str = "") -> Reading:
    """What is read of such an article."""
    (reading,) = read_jats(article(body, meta=meta, after=after, attributes=attributes))
    return reading


def paragraphs(body: str) -> list[str]:
    """The paragraphs of an article with that body."""
    return read(body).content.split("\n\n")


def text_of(reading: Reading, anchor: str) -> str:
    """The own text of one part."""
    spans = own_spans(reading.parts, len(reading.content))
    return next(reading.content[start:end].strip() for part, start, end in spans if part.anchor == anchor)


def outline(reading: Reading) -> list[tuple[str, str]]:
    """The anchor and the path of each part, e.g. ("s1.2", "Methods > Patients")."""
    return [(part.anchor, " > ".join(part.path)) for part in reading.parts]
