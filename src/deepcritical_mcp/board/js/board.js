// What the board knows and which of it is shown.

const board = {
  sessionId: "",
  query: "",
  total: 0,
  records: new Map(), // everything known, by id
  given: [], // ids in the order of the results that brought them
  found: null, // {query, ids} while a search by meaning made from this page is shown
  places: new Map(), // id -> {x, y}
  related: [],
  chosen: new Set(),
  limit: 0,
  step: 30,
};

function take(result) {
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

// The records that the list holds before the filters, in the order that they came in.
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

// Check boxes for the values that occur; those that were ticked stay ticked.
function offerFilters() {
  offerChoices("filter-source", SOURCES, (record) => record.source);
  offerChoices("filter-status", STATUSES, (record) => record.status);
}

function offerChoices(id, names, valueOf) {
  const counts = {};
  for (const record of collection()) counts[valueOf(record)] = (counts[valueOf(record)] ?? 0) + 1;
  const ticked = checkedIn(id);
  const group = byId(id);
  const choices = Object.keys(names)
    .filter((value) => counts[value])
    .map((value) => {
      const box = element("input", { type: "checkbox", value, checked: ticked.has(value) });
      return element("label", { class: "choice" }, box, `${sentence(names[value])} (${counts[value]})`);
    });
  group.replaceChildren(group.querySelector("legend"), ...choices);
  group.hidden = choices.length < 2;
}

// "EXPRESSION OF CONCERN" as words in running text.
function sentence(name) {
  return name === name.toUpperCase() ? name[0] + name.slice(1).toLowerCase() : name;
}
