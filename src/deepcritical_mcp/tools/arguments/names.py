"""Names of arguments and tools as models write them, and which of ours they stand for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches


def rows(text: str, parts: Mapping[str, str] | None = None) -> dict[str, str]:
    """A table written as "name: pattern; name: pattern", with {parts} that several patterns have."""
    for part, pattern in (parts or {}).items():
        text = text.replace(f"{{{part}}}", f"(?:{pattern})")
    return dict(row.split(": ", 1) for row in " ".join(text.split()).split("; "))


_PARTS = {
    "query": "(user|pubmed|research)?(search|q|quer(y|ies)|question|terms?|keywords?|text|string|topic|input|prompt)+",
    "amount": "max(imum)?|limits?|n|num(ber)?|k|top|howmany|count|size|perpage|ret|results?|hits?",
    "things": "of|per|page|papers?|records?|articles?|items?|studies|documents?|quer(y|ies)|variants?",
    "dates": "(dates?|years?|pub(lication|lished)?|of|time)*",
    "ids": "(ids?|pmids?|uids?|identifiers?|dois?|urls?|links?|keys?)",
    "retracted": "retract(ed|ions?)(papers|articles|publications)?",
    "score": "(min(imum)?|threshold|score|relevance|similarity|cutoff)+",
    "find": "search|query|find|lookup",
    "get": "get|fetch|read|retrieve|show|view|open|load",
    "draft": "(text|draft|content|manuscript|document|paper|article|body|markdown|md|essay|report|thesis|section"
    "|paragraph|input|string|bib(liography|tex)?|ris|csl(json)?|reference|citation|ref|works?cited|claim|quot(e|ation)|sentence)",
    "paper": "(pubmed)?(abstract|paper|article|document|evidence|item|study|studies|record)(s|details|metadata)?",
}
# Our names: what models call them, without case and punctuation. If a tool has two matching ones, the first one wins.
_ALIASES = rows(
    """
    query: {query}; topic: {query}|theme; about: {query}|focus|regarding|aspect;
    max_results: {things}*{amount}({amount}|{things})*; count: {things}*{amount}({amount}|{things})*;
    content: text|body|abstract|note|quote|passage|snippet|summary|description|excerpt|message;
    variants: (query|search|alternative|other|additional|sub|re)*(variants?|variations?|synonyms|quer(y|ies)|phrasings);
    description: (additional)?(notes|context)|background;
    min_date: {dates}(from|since|after|start(ing)?|begin(ning)?|min(imum)?|earliest){dates};
    max_date: {dates}(to|till|until|before|end(ing)?|max(imum)?|latest(?=date|year)){dates};
    date: year|published|pub(lication)?(date|year)|publisheddate|datepublished; session_id: (current)?session(id|key)?;
    offset: (ret)?start(at|from|index)?|skip|fromindex|cursor|(next|result)offset|position;
    publication_types: (pub|publication|articles?|paper|study|doc|document)?(types?|design)s?|pt;
    abstracts: (include|return|with|show)*(full)?abstracts?; save: (save|write|export)*(to|as|in)*(file|disk|folder);
    fields: (include|export|only)?(fields?|columns?|attributes|properties)(names|list)?;
    style: (citation|csl|reference|bibliography)style|csl;
    has_abstract: (only|with|has|have|must|requires?)+abstracts?|abstracts?(only|required|available);
    include_retracted: (include|allow|with|show){retracted};
    only_new: onlyunseen|unseenonly|(exclude|skip|hide|omit)(already)?(seen|known|existing);
    include_domains: (allowed|include|only|restrictto)?(domains?|(web)?sites?)(filter|only)?;
    exclude_domains: (blocked|excluded?)(domains?|(web)?sites?); search_depth: depth|(search)?mode;
    servers: (preprint)?(servers?|platforms?|repositor(y|ies)|archives?|publishers?|sources?);
    unpublished_only: (only|is|not|still)*(un|not(yet)?)(yet)?published(only)?|exclude(already)?published;
    recency: freshness|timelimit|timefilter|since|(time|date)(range|frame|period)|period;
    min_score: {score}; min_relevance: {score}; sort: (sort|order)(ing|by|order)?;
    source: sources?(type)?|provider|database|origin; pmid: (evidence|pubmed|paper|article)?{ids}|papers?|articles?;
    pmcid: pmc(id|number)?s?; nct: nct(ids?|numbers?|no)?|(clinical)?trials?(id|number|registration)?s?;
    reference: (full)?(reference|citation)(text|string)?s?|refs?|bibliography|cited?;
    items: item|documents?|evidence|notes?|entries|records|(evidence)?items|docs|facts;
    ids: (evidence|doc(ument)?|paper|article|item|record)?{ids}|(reference|paper|article|record|result)s?|evidence;
    kind: (relation|link|text)?(types?|kinds?)|relation(ship)?|link(name)?|direction;
    status: (overall|recruitment|trial|recruiting)*(statusfilter|status(es)?|state);
    detail: details?(level)?|level|verbosity|mode;
    format: fmt|(output|export|file)?(format|type)|output|(citation)?style; url: link|uri|href|webaddress;
    id: (evidence|doc(ument)?|pubmed|pmc|paper|article|text)?{ids}|pmcids?|nct(id|number)?|href|paper|article;
    question: {query}|about|focus|ask(ing)?|aspect; sections: sections?(names?|titles?|ids?)?|parts?|anchors?|chapters?;
    author: authors?|(first)?author(name)?; journal: journals?(name|title)?|ta; language: lang(uage)?s?;
    humans_only: (only)?humans?; age_group: ages?(group|range)?; authors: author(list|s)?|creators?;
    title: name|heading|headline|subject; condition: cond(ition)?s?|diseases?|indications?|disorders?|diagnosis;
    intervention: intr|interventions?|drugs?|treatments?|therap(y|ies)|compounds?; phase: (trial|study)?phases?;
    study_type: (trial|study)?(types?|design)s?; country: countr(y|ies)|locations?|locn|place|region;
    has_results: (only|with|has|have)*results?(only|posted|available)?;
    read: (read|fetch|get|use|include|with)*(full|whole)texts?|(read|fetch)(papers|articles|sources);
    decision: (screening)?(decision|verdict|judge?ment|screening)s?|mark(ed)?(as)?; tags: tag|labels?|categor(y|ies);
    reason: (decision|exclusion|inclusion)?(reasons?|rationale|justification);
    text: (the|my|full|whole|draft|input|source)*{draft}(text|content|markdown|s|list)?|query
    """,
    _PARTS,
)
# Switches: the argument with its value when they are on.
_SWITCHES = rows(
    """
    include_retracted=false: (exclude|no|without|filter(out)?|remove|hide|skip|omit|drop){retracted};
    only_new=false: (include|show)(already)?(seen|known|existing); status=retracted: {retracted}(only)?|only{retracted};
    detail=full: (return)?(full|whole)(text)?; sort=date: (newest|mostrecent|latest)first|sortbydate
    """,
    _PARTS,
)
# Names that change nothing: what models tell themselves, and settings of other PubMed tools.
_IGNORED = re.compile(
    "reason(ing)?|thoughts?|thinking|explanation|explain|rationale|purpose|intent|goal|justification|dummy|meta|verbose"
    "|(toolcall|request|call|user)id|debug|stream|ret(mode|type)|usehistory|tool|email|apikey|(include|return)?abstracts?"
)
_FILE = re.compile("(draft|input|source|local)?(file|path|filename|filepath|url|uri|link|href|docx?|pdf|attachment)s?")
# What to add to a query of pubmed_search instead of an argument; the last row is for all others.
_IN_QUERY = rows(
    """
    NOT mice: (exclude|excluded|excluding|not|without|negative)(terms?|words?|keywords?|mesh)?;
    AND animals[mh]: .*(species|animals?).*; AND free full text[sb]: .*(free|full|openaccess).*; AND female[mh]:
    .*(sex|gender).*; AND retracted publication[pt]: (only)?{retracted}(only)?;
    AND Zinc[mh]: .*mesh.*; NOT Review[pt]: exclude.*types?;
    AND 2020:3000[dp]: (last|past).*(years?|months?|days?)|recency|freshness; AND Smith J[au]: .*
    """,
    _PARTS,
)
_TOOL_ALIASES = rows(
    """
    pubmed_search: ({find}|pubmed|ncbi|medline|entrez|literature|paper|article|studies|advanced|s)+|esearch;
    get_full_text: ({get}|download)+({paper}|pmc|the)*((full)?text|pdf|html|page|url)s?|fulltext|extract|scrape;
    get_evidence: {get}({paper}|(full)?text|details|pubmed)?|efetch|esummary;
    preprint_search: ({find}|s|preprints?|biorxiv|medrxiv|rxiv|arxiv|europe?pmc|papers?|articles?)+;
    web_search: ({find})?(google|bing|web|internet|duckduckgo|tavily|brave)({find})?;
    pubmed_related: ({find}|get)?(related|similar|citing|citations?|citedby|references?)(papers|articles)?|elink;
    semantic_search: (vector|similarity|embedding|memory|session)({find})|({find})(session|notes?|memory|evidence);
    list_sessions: (list|show|get|find|search|my|all|kept|saved|recent|previous|past)*(sessions?|projects|history);
    list_evidence: (list|show)(all|items|papers|results|notes|evidence)?|ls|inventory;
    export_evidence: (export|get|create|save|cite)+(bibtex|ris|csl|markdown|citations|references|bibliography|session)?;
    add_evidence: (add|save|store|create|write|insert|keep|upsert)(note|evidence|document|item|paper)?s?|notes?;
    expand_queries: (expand|generate|suggest|rewrite)(quer(y|ies))?|queryexpansion|(get)?mesh(lookup|search|terms)?;
    trial_search: ({find}|get|clinical)*(trials?|ct)({find}|gov|registry)*|clinicaltrials(gov)?;
    check_citations: (check|verify|validate|audit)(my|the|all)?{draft}s?|{draft}s?(check(er)?|verifier|validator);
    clear_session: (delete|clear)(all|(current)?sessions?)?|remove(all)?(current)?sessions?
    """,
    _PARTS,
)
_DELETING = frozenset({"clear", "delete", "remove"})
_NEW_SESSION = re.compile(r"(?:new|start|create|open|begin|init|reset|restart|make).*session|reset|restart")
_CONTINUE = re.compile(r"(?:continue|resume|open|load|switch|use|select|restore)(?:to)?(?:previous|last)?session")
_UNDO = re.compile(r"undo.*|undelete.*|restore.*|recover.*")
_DELETE_ITEM = re.compile("(?:delete|clear|remove)(?:evidence|items?|notes?|papers?|articles?|documents?|records?)")
# Words that turn an argument's meaning around: two names that differ in one of them never stand for each other.
_POLARITY = frozenset(
    "include exclude no not without with only min max hide skip allow omit before after start end from to".split()
)
TYPO, SIMILAR = 0.87, 0.75
"""How alike two names are, if one is the other with a typing error, and if it may stand for the other."""


def alias(name: str, known: Collection[str]) -> str:
    """The known name that is another name for the same; "" if there is none."""
    plain = plain_name(name) if name.isascii() else ""
    same = (one for one in known if plain_name(one) == plain)
    return next(same, "") or next((one for one, it in _ALIASES.items() if one in known and re.fullmatch(it, plain)), "")


def argument_named(name: str, known: Collection[str]) -> str:
    """The known name that can only be meant by `name`: another name for it, or a typing error; "" if in doubt."""
    return alias(name, known) or (_alike(name, {plain_name(one): one for one in known}, TYPO) if name.isascii() else "")


def nearest(name: str, known: Collection[str]) -> str:
    """The known name that `name` probably stands for; "" if none is close."""
    return argument_named(name, known) or _alike(name, {plain_name(one): one for one in known}, SIMILAR)


def switch(name: str, known: Collection[str]) -> tuple[str, object] | None:
    """The argument that the switch `name` sets, and its value when the switch is on."""
    found = next((target for target, it in _SWITCHES.items() if re.fullmatch(it, plain_name(name))), "")
    own, _, on = found.partition("=")
    return (own, False if on == "false" else on) if own in known else None


def instead(name: str, tool: str, known: Collection[str]) -> str:
    """The end of a sentence about an argument that `tool` lacks, if another way to the same is certain; else ""."""
    if tool in ("list_evidence", "export_evidence") and argument_named(name, ("status", "source", "kind", "query")):
        finder = "list_evidence" if argument_named(name, ["status"]) else "semantic_search"
        return f": {finder} finds the items{'; pass their ids' if tool == 'export_evidence' else ''}."
    if tool == "check_citations" and _FILE.fullmatch(plain_name(name)):
        return ": read the file and pass what it contains as text."
    if tool != "pubmed_search" or nearest(name, known):
        return ""
    added = next(text for text, it in _IN_QUERY.items() if re.fullmatch(it, plain_name(name)))
    return f'. Other filters are part of the query, e.g. query="(…) {added}".'


def is_ignorable(name: str, value: object) -> bool:
    """Whether an argument cannot change what a call means."""
    is_pubmed = str(value).lower() in ("pubmed", "medline")
    return bool(_IGNORED.fullmatch(plain_name(name))) or (is_pubmed and plain_name(name) in ("db", "database"))


def tool_hint(name: str, tools: Collection[str]) -> str:
    """What to call instead of the unknown tool `name`. `clear_session` only for a name that says "delete"."""
    own = re.split(r"__|[./:]", name[:200])[-1]
    plain = plain_name(own)
    if _UNDO.fullmatch(plain) and "clear_session" in tools:
        return "To bring back a session that was deleted within a day: clear_session with its session_id and undo=true."
    if _CONTINUE.fullmatch(plain) and "list_sessions" in tools:
        return "To continue a session pass its title or id as session_id; list_sessions lists yours."
    if _DELETE_ITEM.fullmatch(plain) or plain == "remove":
        remove = "To remove items: clear_session with session_id and their ids. " if "clear_session" in tools else ""
        return f'{remove}To only set them aside: add_evidence items=[{{"id": "…", "decision": "excluded"}}].'
    if _NEW_SESSION.fullmatch(plain):
        return 'To start a new session pass session_id="new" to a search or to add_evidence.'
    offered = tools if _DELETING & _words(own) else [tool for tool in tools if tool != "clear_session"]
    near = next((tool for tool in offered if plain.endswith(plain_name(tool))), "")
    near = near or next((tool for tool, it in _TOOL_ALIASES.items() if tool in offered and re.fullmatch(it, plain)), "")
    near = near or _alike(own, {plain_name(tool): tool for tool in offered}, 0.75)
    return f"Did you mean {near}?" if near else f"There are {', '.join(tools)}."


def plain_name(name: str) -> str:
    """A name without case and punctuation; "" if it is too long to be one."""
    return "".join(filter(str.isalnum, name.casefold())) if len(name) <= 80 else ""


def _alike(name: str, words: Mapping[str, str], cutoff: float) -> str:
    polarity = _POLARITY & _words(name)
    long = {word: known for word, known in words.items() if len(word) > len("sort")}  # which is not "short"
    same = [word for word, known in long.items() if polarity == _POLARITY & _words(known)]
    close = get_close_matches(plain_name(name[:80]), same, n=1, cutoff=cutoff)
    return words[close[0]] if close else ""


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name[:200])}
