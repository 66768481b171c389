// How the evidence was found: the flow diagram of PRISMA 2020 and the log of the searches. Reports of sessions have both.

const FLOW_LETTER = 6.4; // about the width of one letter
const FLOW_LINE = 17;
const FLOW_PAD = 10;
let flow = null;

function drawLog(data) {
  flow = isObject(data.flow) ? data.flow : null;
  const log = list(data.log).filter(isObject);
  byId("searches").hidden = !flow && !log.length && !clean(data.no_log);
  byId("no-log").textContent = clean(data.no_log);
  byId("no-log").hidden = !clean(data.no_log);
  byId("flow-part").hidden = !flow;
  if (flow) drawFlow();
  byId("log-part").hidden = !log.length;
  byId("log").tBodies[0].replaceChildren(...log.map(logRow));
}

function logRow(entry, index) {
  const queries = list(entry.queries).filter(isObject);
  const asked = queries.map((query) => element("li", { dir: "auto" }, ...askedOf(query)));
  const errors = texts(entry.errors).map((text) => element("p", { class: "bad-line", dir: "auto" }, short(text)));
  const when = clean(entry.at).replace("T", " ").replace("Z", " UTC");
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, String(index + 1)),
    element("td", {}, when),
    element("td", { dir: "auto" }, short(entry.title) || short(entry.source)),
    element("td", {}, element("ul", {}, ...asked), ...errors),
    element("td", { dir: "auto" }, texts(entry.filters).map((text) => short(text)).join("; ") || "none"),
    element("td", {}, entry.failed === true ? "failed" : String(number(entry.total))),
    element("td", {}, String(number(entry.examined))),
    element("td", {}, String(number(entry.new))),
    element("td", {}, String(number(entry.known))),
  );
}

function askedOf(query) {
  const failed = query.status === "failed" ? [element("strong", { class: "bad-line" }, `failed (${short(query.detail)}): `)] : [];
  return [...failed, short(query.sent, 5000) || short(query.query, 5000)];
}

// Boxes from top to bottom, each with what left the flow beside it, or below it where there is little room.
function drawFlow() {
  const width = narrow.matches ? 340 : 720;
  const parts = [];
  let bottom = 4;
  let before = null;
  const phases = new Map(); // name -> [top, bottom]
  for (const step of list(flow.steps).filter(isObject)) {
    const main = flowBox(texts(step.lines), narrow.matches ? 4 : 30, bottom, narrow.matches ? width - 8 : 330);
    const asideLines = texts(step.aside);
    const aside = asideLines.length
      ? flowBox(asideLines, narrow.matches ? 40 : 410, narrow.matches ? main.bottom + 14 : bottom, narrow.matches ? width - 44 : 306)
      : null;
    const phase = short(step.phase, 40);
    if (before) parts.push(flowArrow(before.left + 20, before.bottom, main.left + 20, main.top));
    parts.push(main.node);
    phases.set(phase, [phases.get(phase)?.[0] ?? main.top, Math.max(main.bottom, aside?.bottom ?? 0)]);
    if (aside && narrow.matches) parts.push(flowArrow(60, main.bottom, 60, aside.top), aside.node);
    else if (aside) parts.push(flowArrow(main.right, main.top + 18, aside.left, main.top + 18), aside.node);
    before = main;
    bottom = Math.max(main.bottom, aside?.bottom ?? 0) + 26;
  }
  if (!narrow.matches) parts.push(...[...phases].map(([phase, ends]) => phaseLabel(phase, ends)));
  const svg = byId("flow");
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom - 20}`);
  svg.style.maxWidth = `${width}px`;
  svg.replaceChildren(drawn("title", { id: "flow-title" }, "PRISMA 2020 flow diagram"), ...parts);
  const described = list(flow.steps).filter(isObject).map((step) =>
    element("li", {}, [short(step.phase, 40), texts(step.lines).join("; "), texts(step.aside).join("; ")].filter(Boolean).join(". ")),
  );
  byId("flow-text").replaceChildren(...described);
  byId("flow-notes").replaceChildren(...texts(flow.notes).map((note) => element("li", {}, note)));
}

function flowBox(lines, left, top, width) {
  const rows = lines.flatMap((line) => wrapped(line, Math.floor((width - 2 * FLOW_PAD) / FLOW_LETTER)));
  const height = rows.length * FLOW_LINE + 2 * FLOW_PAD - 4;
  const spots = rows.map((row, at) =>
    drawn("text", { x: left + FLOW_PAD, y: top + FLOW_PAD + 11 + at * FLOW_LINE, "font-size": 12, fill: "currentColor" }, row),
  );
  const frame = drawn("rect", { x: left, y: top, width, height, rx: 4, fill: "none", stroke: "currentColor" });
  return { node: drawn("g", {}, frame, ...spots), left, top, right: left + width, bottom: top + height };
}

function phaseLabel(phase, [top, bottom]) {
  const middle = (top + bottom) / 2;
  const turned = `rotate(-90 15 ${middle})`;
  return drawn("text", { x: 15, y: middle + 4, transform: turned, "text-anchor": "middle", "font-size": 11, fill: "currentColor" }, phase);
}

function flowArrow(x, y, endX, endY) {
  const [dx, dy] = [Math.sign(endX - x), Math.sign(endY - y)];
  const head = `M${endX - dx * 6 - dy * 4} ${endY - dy * 6 - dx * 4}L${endX} ${endY}L${endX - dx * 6 + dy * 4} ${endY - dy * 6 + dx * 4}`;
  return drawn("path", { d: `M${x} ${y}L${endX} ${endY}${head}`, fill: "none", stroke: "currentColor" });
}

// Lines of at most `limit` letters, broken between words where that is possible; wide letters count twice.
function wrapped(text, limit) {
  const rows = [];
  let row = "";
  let size = 0;
  for (const word of text.slice(0, 600).split(/\s+/).flatMap((one) => pieces(one, limit))) {
    const more = wide(word);
    if (row && size + 1 + more > limit) {
      rows.push(row);
      [row, size] = ["  ", 2];
    }
    size += more + (row.trim() ? 1 : 0);
    row += row.trim() ? ` ${word}` : word;
  }
  return [...rows, row];
}

const wide = (word) => [...word].reduce((sum, letter) => sum + (letter > "\u2e80" ? 2 : 1), 0);

function pieces(word, limit) {
  const letters = [...word];
  const size = Math.max(1, Math.floor(limit / 2) - 2);
  if (wide(word) < limit - 2) return [word];
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, at) => letters.slice(at * size, (at + 1) * size).join(""));
}

function saveFlow() {
  const copy = byId("flow").cloneNode(true);
  for (const [name, value] of Object.entries({ color: "#000", "font-family": "sans-serif" })) copy.setAttribute(name, value);
  saveFile("flow.svg", "image/svg+xml", new XMLSerializer().serializeToString(copy));
}
