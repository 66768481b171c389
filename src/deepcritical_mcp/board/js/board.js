// The board's state: all known evidence, and which of it is shown.

const board = {
  sessionId: "",
  query: "",
  total: 0,
  records: new Map(), // all known records by id
  given: new Set(), // ids in the order in which results returned them
  found: null, // {query, ids} while results of a search from this page are shown
  places: new Map(), // id -> {x, y}
  groups: [], // of the map: {x, y, name}
  related: [],
  chosen: new Set(),
  view: "cards",
  column: null, // {key, down} while a column sorts
  limit: 0,
  step: 30,
};

function addResult(result) {
  board.sessionId = result.sessionId || board.sessionId;
  board.total = result.total || board.total;
  for (const record of result.records) remember(record);
  if (result.map.length) board.groups = result.groups;
  for (const { record, x, y } of result.map) {
    board.places.set(record.id, { x, y });
    if (!board.records.has(record.id)) board.records.set(record.id, record);
  }
}

function remember(record) {
  board.records.set(record.id, merged(board.records.get(record.id), record));
  board.given.add(record.id);
}

// The records to list, before filters, in the order in which they arrived.
function collection() {
  return [...(board.found ? board.found.ids : board.given)].map((id) => board.records.get(id));
}

const ORDERS = {
  given: () => 0,
  relevance: (a, b) => b.relevance - a.relevance,
  newest: (a, b) => collator.compare(b.date, a.date),
  oldest: (a, b) => collator.compare(a.date || "9999", b.date || "9999"),
};

function visible() {
  const filter = readFilters();
  return collection()
    .filter((record) => passes(record, filter))
    .sort(board.column ? byColumn(board.column) : (ORDERS[byId("sort").value] ?? ORDERS.given));
}

function readFilters() {
  return {
    words: byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean),
    sources: checkedIn("filter-source"),
    statuses: checkedIn("filter-status"),
    decisions: checkedIn("filter-decision"),
    tags: checkedIn("filter-tag"),
    from: Number(byId("filter-from").value) || 0,
    to: Number(byId("filter-to").value) || 0,
  };
}

function resetFilters() {
  for (const id of ["filter-text", "filter-from", "filter-to"]) byId(id).value = "";
  for (const box of byId("filters").querySelectorAll("input:checked")) box.checked = false;
}

const checkedIn = (id) => new Set([...byId(id).querySelectorAll("input:checked")].map((input) => input.value));

function passes(record, { words, sources, statuses, decisions, tags, from, to }) {
  if (sources.size && !sources.has(record.source)) return false;
  if (statuses.size && !statuses.has(record.status)) return false;
  if (decisions.size && !decisions.has(decisionOf(record))) return false;
  if (tags.size && !markOf(record).tags.some((tag) => tags.has(tag))) return false;
  if ((from || to) && !(record.year && record.year >= from && record.year <= (to || 9999))) return false;
  if (!words.length) return true;
  const text = searchable(record);
  return words.every((word) => text.includes(word));
}

const searchTexts = new WeakMap(); // record -> its words in lower case

function searchable(record) {
  if (!searchTexts.has(record)) {
    const { reason, tags } = markOf(record);
    const parts = [record.title, record.content, record.journal, record.id, ...record.authors, reason, ...tags];
    searchTexts.set(record, parts.join("\n").toLowerCase());
  }
  return searchTexts.get(record);
}

const MOST_TAGS = 30;

function offerFilters() {
  offerChoices("filter-source", SOURCES, (record) => [record.source]);
  offerChoices("filter-status", STATUSES, (record) => [record.status]);
  offerChoices("filter-decision", DECISIONS, (record) => [decisionOf(record)]);
  const tags = [...new Set(collection().flatMap((record) => markOf(record).tags))].sort(collator.compare);
  offerChoices("filter-tag", Object.fromEntries(tags.slice(0, MOST_TAGS).map((tag) => [tag, tag])), (record) => markOf(record).tags, 1);
}

// Checkboxes for the values that occur, if there are at least `least`; those that were checked stay checked.
function offerChoices(id, names, valuesOf, least = 2) {
  const counts = Object.create(null);
  for (const value of collection().flatMap(valuesOf)) counts[value] = (counts[value] ?? 0) + 1;
  const checked = checkedIn(id);
  const group = byId(id);
  const choices = Object.keys(names)
    .filter((value) => counts[value])
    .map((value) => {
      const box = element("input", { type: "checkbox", value, checked: checked.has(value) });
      return element("label", { class: "choice" }, box, `${id === "filter-tag" ? value : sentence(names[value])} (${counts[value]})`);
    });
  group.replaceChildren(group.querySelector("legend"), ...choices);
  group.hidden = choices.length < least;
}

// "EXPRESSION OF CONCERN" in sentence case.
function sentence(name) {
  return name === name.toUpperCase() ? name[0] + name.slice(1).toLowerCase() : name;
}
