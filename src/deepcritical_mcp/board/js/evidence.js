// Parses tool results into records that the rest of the page can rely on.

// The labels come from the server; `other` is what this page's version of it does not know.
const SOURCES = { ...JSON.parse("@SOURCES@"), other: "Other source" };
const STATUSES = { ...JSON.parse("@STATUSES@"), other: "OTHER NOTICE" };
const NOTICES = JSON.parse("@NOTICES@");
const META_KEY = "deepcritical/board";

const list = (value) => (Array.isArray(value) ? value : []);
const texts = (value) => list(value).map(clean).filter(Boolean);
const number = (value) => (Number.isFinite(value) ? value : 0);
const short = (value, limit = 500) => {
  const text = clean(value);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
};
const isObject = (value) => typeof value === "object" && value !== null;

// From an Evidence value, an item of list_evidence or a point of the map; the last two have fewer fields. `queries` are
// the texts of the result's queries by number, `known` the fields of records by publication.
function readRecord(value, queries = new Map(), known = new Map()) {
  const record = known.get(publicationOf(clean(value.id)));
  const citation = { ...record, ...(isObject(value.citation) ? value.citation : value) };
  const date = clean(citation.date) || (value.year ? String(value.year) : "");
  // What is absent is usual.
  const given = citation.source ?? "pubmed";
  const source = Object.hasOwn(SOURCES, given) ? given : "other";
  const status = clean(citation.status) || (clean(citation.status_checked) ? "ok" : "unchecked");
  return {
    id: clean(value.id),
    title: short(citation.title) || "[No title]",
    source,
    date: /^\d{4}/.test(date) ? date : "",
    year: /^\d{4}/.test(date) ? Number(date.slice(0, 4)) : 0,
    // A note has the status of its paper, and no own.
    status: source === "user" ? "unchecked" : knownStatus(status),
    paperStatus: source === "user" ? knownStatus(status) : "unchecked",
    asked: clean(citation.status_checked),
    notices: list((record ?? citation).status_notices).filter(isObject),
    authors: texts(citation.authors).map((name) => short(name, 200)),
    journal: short(citation.journal),
    publisher: short(citation.publisher, 200),
    pmid: clean(citation.pmid),
    pmcid: clean(citation.pmcid),
    doi: clean(citation.doi),
    nct: clean(citation.nct),
    url: clean(citation.url),
    content: clean(value.content),
    truncated: value.content_truncated === true,
    relevance: Math.min(1, Math.max(0, number(value.relevance))),
    provider: clean(value.provider),
    similar: texts(value.similar),
    foundBy: list(value.found_by).map((number) => queries.get(number) ?? "").filter(Boolean),
    types: texts(citation.publication_types).map((type) => short(type, 100)),
    mark: readMark(value), // null if the value does not say
    whole: typeof value.content === "string",
  };
}

// The id of the publication that a text's id is of.
const publicationOf = (id) => id.replace(/~\d{1,4}$/, "");

// Whether something is known to have happened.
const isMarked = (status) => status !== "ok" && status !== "unchecked";
const knownStatus = (status) => (Object.hasOwn(STATUSES, status) ? status : "other");

// Whether it is only what the user wrote, which nobody screens.
const isNote = (record) => record.source === "user" && !(record.authors.length || record.journal || record.date || webAddress(record.url));

// {sessionId, query, records, related, problems: [[kind, text]], map: [{record, x, y}], groups, total} of a CallToolResult.
function readResult(result) {
  const data = isObject(result.structuredContent) ? result.structuredContent : {};
  const meta = isObject(result._meta) && isObject(result._meta[META_KEY]) ? result._meta[META_KEY] : {};
  host.key = clean(meta.key) || host.key;
  const known = new Map(list(meta.records).filter(isObject).map((one) => [publicationOf(clean(one.id)), one]));
  for (const one of list(data.evidence).filter((value) => isObject(value) && isObject(value.citation))) {
    const own = publicationOf(clean(one.id));
    known.set(own, { ...one.citation, ...known.get(own) });
  }
  const places = list(meta.map).filter((point) => isObject(point) && clean(point.id));
  const items = [...list(data.evidence), ...list(data.items)].filter((value) => isObject(value) && clean(value.id));
  const queries = new Map(list(data.queries).filter(isObject).map((query) => [query.index, clean(query.query)]));
  return {
    sessionId: clean(data.session_id) || clean(meta.session_id),
    query: short(data.query),
    records: items.map((item) => readRecord(item, queries, known)),
    related: list(data.related).filter((value) => isObject(value) && clean(value.id)),
    problems: problemsOf(result, data),
    map: places.map((point) => ({ record: readRecord(point), x: number(point.x), y: number(point.y) })),
    groups: list(meta.groups).filter(isObject),
    total: number(meta.total) || number(data.total),
  };
}

function problemsOf(result, data) {
  if (result.isError) {
    const error = isObject(data.error) ? clean(data.error.message) : "";
    return [["bad", short(error, 2000) || textOf(result) || "The tool failed without a message."]];
  }
  const problems = [...texts(data.errors).map((text) => ["bad", short(text)]), ...texts(data.warnings).map((text) => ["warn", short(text)])];
  if (!isObject(result.structuredContent)) problems.push(["warn", "This result contains no evidence to show."]);
  return problems;
}

function textOf(result) {
  return list(result.content).filter(isObject).map((block) => clean(block.text)).join("\n");
}

// Two records of the same evidence combined, the more complete values first.
function merged(old, fresh) {
  if (!old) return fresh;
  const mark = fresh.mark ?? old.mark;
  if (!fresh.whole) return { ...old, mark };
  const keepsText = old.whole && fresh.truncated && !old.truncated;
  const isEmpty = (value) => value === "" || value === 0 || (Array.isArray(value) && !value.length);
  const kept = Object.entries(old).filter(([name]) => isEmpty(fresh[name]));
  return { ...fresh, ...Object.fromEntries(kept), mark, content: keepsText ? old.content : fresh.content, truncated: keepsText ? false : fresh.truncated };
}

function doiAddress(doi) {
  return `https://doi.org/${encodeURI(doi).replace(/[#?]/g, encodeURIComponent)}`;
}

function linksOf(record) {
  const links = [];
  if (record.pmid) links.push(["PubMed", `https://pubmed.ncbi.nlm.nih.gov/${encodeURIComponent(record.pmid)}/`]);
  if (record.pmcid) links.push(["Full text", `https://pmc.ncbi.nlm.nih.gov/articles/${encodeURIComponent(record.pmcid)}/`]);
  if (record.doi) links.push(["DOI", doiAddress(record.doi)]);
  const isTrial = record.source === "trial";
  if (!record.pmid && webAddress(record.url)) links.push([isTrial ? record.nct || "Registry" : "Page", record.url]);
  return links;
}
