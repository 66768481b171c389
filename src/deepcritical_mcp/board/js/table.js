// The evidence as a table that is sorted by its columns.

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const PLAIN_TYPES = /^(Journal Article|Research Support,.*|English Abstract)$/;

// key -> [title, the text of its cell, what it is sorted by if that is another]
const COLUMNS = {
  title: ["Title", (record) => record.title],
  author: ["First author", (record) => record.authors[0] ?? ""],
  year: ["Date", (record) => record.date],
  source: ["Source", (record) => SOURCES[record.source]],
  type: ["Type", typeOf],
  status: ["Status", (record) => (isMarked(record.status) ? sentence(STATUSES[record.status]) : "")],
  decision: ["Decision", (record) => [DECISIONS[markOf(record).decision], markOf(record).reason].filter(Boolean).join(": ")],
  tags: ["Tags", (record) => markOf(record).tags.join(", ")],
  relevance: ["Relevance", (record) => (record.relevance ? record.relevance.toFixed(2) : ""), (record) => record.relevance],
};

// The publication types as the source has them, without those that nearly all have.
function typeOf(record) {
  const telling = record.types.filter((type) => !PLAIN_TYPES.test(type));
  return telling.slice(0, 3).join(", ") || (record.types.length ? "Article" : "");
}

// Compares two records by a column; those without a value come last in both directions.
function byColumn({ key, down }) {
  const [, text, value = text] = COLUMNS[key];
  return (a, b) => {
    const [one, other] = [value(a), value(b)];
    if (!one || !other) return Number(!one) - Number(!other);
    return (down ? -1 : 1) * (typeof one === "number" ? one - other : collator.compare(one, other));
  };
}

function drawTable(shown) {
  const all = collection();
  const always = ["title", "year", "source"];
  const keys = Object.keys(COLUMNS).filter((key) => always.includes(key) || all.some(COLUMNS[key][1]));
  byId("table").replaceChildren(
    element("caption", { class: "unseen" }, "Evidence; the buttons in the first row sort by their columns"),
    element("thead", {}, element("tr", {}, canExport() ? element("td") : null, ...keys.map(columnHead))),
    element("tbody", {}, ...shown.slice(0, board.limit).map((record) => tableRow(record, keys))),
  );
}

function columnHead(key) {
  const isSorted = board.column?.key === key;
  const direction = board.column?.down ? "descending" : "ascending";
  const sign = element("span", { "aria-hidden": "true" }, isSorted ? (board.column.down ? " ▼" : " ▲") : "");
  const control = button(COLUMNS[key][0], () => sortBy(key), { class: "plain", id: `sort-${key}` });
  control.append(sign);
  return element("th", { scope: "col", class: `c-${key}`, "aria-sort": isSorted ? direction : undefined }, control);
}

function sortBy(key) {
  const isSame = board.column?.key === key;
  board.column = { key, down: isSame ? !board.column.down : key === "relevance" };
  byId("sort").value = "column";
  filtered();
  byId(`sort-${key}`).focus();
}

function tableRow(record, keys) {
  const box = canExport() ? element("td", {}, chooser(record)) : null;
  const cells = keys.map((key) => {
    if (key === "title") return element("th", { scope: "row", dir: "auto" }, titleOf(record), " ", detailsOf(record));
    return element("td", { class: `c-${key}`, dir: "auto" }, COLUMNS[key][1](record));
  });
  return element("tr", { class: `${record.status} ${decisionOf(record)}` }, box, ...cells);
}

function detailsOf(record) {
  return button("Details", () => reveal(record.id), { class: "plain details", "aria-label": `Details: ${record.title.slice(0, 120)}` });
}

function showView(view) {
  board.view = view;
  board.limit = 0;
  byId("columns").dataset.view = view;
  for (const name of ["cards", "table"]) byId(`view-${name}`).setAttribute("aria-pressed", String(name === view));
  drawShown();
}
