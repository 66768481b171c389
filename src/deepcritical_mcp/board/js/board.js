// The board's state: all known evidence, and which of it is shown.

const board = {
  sessionId: "",
  query: "",
  total: 0,
  records: new Map(), // all known records by id
  given: [], // ids in the order in which results returned them
  found: null, // {query, ids} while results of a search from this page are shown
  places: new Map(), // id -> {x, y}
  related: [],
  chosen: new Set(),
  limit: 0,
  step: 30,
};

function addResult(result) {
  board.sessionId = result.sessionId || board.sessionId;
  board.total = result.total || board.total;
  for (const record of result.records) remember(record);
  for (const { record, x, y } of result.map) {
    board.places.set(record.id, { x, y });
    if (!board.records.has(record.id)) board.records.set(record.id, record);
  }
}

function remember(record) {
  board.records.set(record.id, merged(board.records.get(record.id), record));
  if (!board.given.includes(record.id)) board.given.push(record.id);
}

// The records to list, before filters, in the order in which they arrived.
function collection() {
  return (board.found ? board.found.ids : board.given).map((id) => board.records.get(id));
}

const ORDERS = {
  given: () => 0,
  relevance: (a, b) => b.relevance - a.relevance,
  newest: (a, b) => b.date.localeCompare(a.date),
  oldest: (a, b) => (a.date || "9999").localeCompare(b.date || "9999"),
};

function visible() {
  const filter = readFilters();
  return collection()
    .filter((record) => passes(record, filter))
    .sort(ORDERS[byId("sort").value] ?? ORDERS.given);
}

function readFilters() {
  return {
    words: byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean),
    sources: checkedIn("filter-source"),
    statuses: checkedIn("filter-status"),
    from: Number(byId("filter-from").value) || 0,
    to: Number(byId("filter-to").value) || 0,
  };
}

function resetFilters() {
  for (const id of ["filter-text", "filter-from", "filter-to"]) byId(id).value = "";
  for (const box of byId("filters").querySelectorAll("input:checked")) box.checked = false;
}

const checkedIn = (id) => new Set([...byId(id).querySelectorAll("input:checked")].map((input) => input.value));

function passes(record, { words, sources, statuses, from, to }) {
  if (sources.size && !sources.has(record.source)) return false;
  if (statuses.size && !statuses.has(record.status)) return false;
  if ((from || to) && !(record.year && record.year >= from && record.year <= (to || 9999))) return false;
  if (!words.length) return true;
  const text = [record.title, record.content, record.journal, record.id, ...record.authors].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

// Checkboxes for the values that occur; those that were checked stay checked.
function offerFilters() {
  offerChoices("filter-source", SOURCES, (record) => record.source);
  offerChoices("filter-status", STATUSES, (record) => record.status);
}

function offerChoices(id, names, valueOf) {
  const counts = {};
  for (const record of collection()) counts[valueOf(record)] = (counts[valueOf(record)] ?? 0) + 1;
  const checked = checkedIn(id);
  const group = byId(id);
  const choices = Object.keys(names)
    .filter((value) => counts[value])
    .map((value) => {
      const box = element("input", { type: "checkbox", value, checked: checked.has(value) });
      return element("label", { class: "choice" }, box, `${sentence(names[value])} (${counts[value]})`);
    });
  group.replaceChildren(group.querySelector("legend"), ...choices);
  group.hidden = choices.length < 2;
}

// "EXPRESSION OF CONCERN" in sentence case.
function sentence(name) {
  return name === name.toUpperCase() ? name[0] + name.slice(1).toLowerCase() : name;
}
