// The session as a map: evidence on one topic mostly lies together.

const MAP_WIDTH = 400;
const MAP_EDGE = 18;
const TITLE_LETTER = 7; // about the width of one letter
const GROUP_LETTER = 7.8; // the same of a group's name, in bold
const points = new Map(); // id -> SVG group

function drawMap(shown) {
  const ids = [...board.places.keys()].filter((id) => board.records.has(id));
  byId("map-panel").hidden = ids.length < 2;
  points.clear();
  if (ids.length < 2) return;
  const place = scale(ids);
  const svg = byId("map");
  svg.setAttribute("viewBox", `0 0 ${MAP_WIDTH} ${place.height}`);
  const listed = new Set(collection().map((record) => record.id));
  const lit = new Set(shown.map((record) => record.id));
  const crowded = ids.length > 100 ? 0.75 : 1;
  const rank = (id) => 2 * lit.has(id) + (board.records.get(id).status === "retracted");
  // Draw listed and retracted evidence last, on top.
  const order = ids.sort((a, b) => rank(a) - rank(b));
  for (const id of order) {
    const record = board.records.get(id);
    points.set(id, pointOf(record, place(id), (5 + 3 * record.relevance) * crowded, listed.has(id), lit.has(id)));
  }
  svg.replaceChildren(...sameLines(place), ...points.values(), ...names(order.reverse(), place));
  svg.setAttribute("aria-label", `Map by meaning, ${plural(ids.length, "item")}; arrow keys move, Enter opens`);
  rove(points.values(), points.get(shown.find((record) => points.has(record.id))?.id ?? order.at(-1)));
  drawLegend(ids, listed);
}

// Maps ids to drawing coordinates. Both axes have the same scale; the height depends on the points.
function scale(ids) {
  const ys = ids.map((id) => board.places.get(id).y);
  const low = Math.min(...ys);
  const inner = MAP_WIDTH - 2 * MAP_EDGE;
  const spread = (Math.max(...ys) - low) * inner;
  const height = Math.max(150, Math.min(MAP_WIDTH, spread + 2 * MAP_EDGE));
  const at = ({ x, y }) => ({ x: MAP_EDGE + x * inner, y: height / 2 + spread / 2 - (y - low) * inner });
  const place = (id) => at(board.places.get(id));
  place.at = at;
  place.height = Math.round(height);
  return place;
}

function pointOf(record, { x, y }, size, isListed, isShown) {
  const away = isShown || !isListed ? "" : " away";
  const group = drawn(
    "g",
    {
      class: `point ${record.source} ${record.status}${away}${isListed ? "" : " absent"}`,
      transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
      role: "button",
      "aria-label": describe(record),
    },
    drawn("circle", { class: "hit", r: board.places.size > 40 ? size + 2 : 12 }),
    drawn("title", {}, describe(record)),
    mark(record.source, size),
    record.status === "retracted" ? drawn("path", { class: "cross", d: "M-6-6L6 6M-6 6L6-6" }) : null,
  );
  group.addEventListener("click", () => openPoint(record.id));
  group.addEventListener("keydown", (event) => moveOnMap(event, record.id));
  group.addEventListener("focus", () => caption(record));
  group.addEventListener("mouseenter", () => caption(record));
  return group;
}

// One shape per source, so that they differ by more than color.
function mark(source, size) {
  if (source === "web") return drawn("rect", { class: "mark", x: -size * 0.9, y: -size * 0.9, width: size * 1.8, height: size * 1.8, rx: 1 });
  if (source === "user") return drawn("path", { class: "mark", d: `M0 ${-size * 1.25}L${size * 1.25} 0L0 ${size * 1.25}L${-size * 1.25} 0Z` });
  if (source === "preprint") return drawn("path", { class: "mark", d: `M0 ${-size * 1.2}L${size * 1.15} ${size * 0.9}L${-size * 1.15} ${size * 0.9}Z` });
  if (source === "trial") return drawn("path", { class: "mark", d: `M0 ${size * 1.2}L${size * 1.15} ${-size * 0.9}L${-size * 1.15} ${-size * 0.9}Z` });
  if (source === "other") return drawn("rect", { class: "mark", x: -size * 1.2, y: -size * 0.6, width: size * 2.4, height: size * 1.2 });
  return drawn("circle", { class: "mark", r: size });
}

function describe(record) {
  const status = !isMarked(record.status) ? "" : `${STATUSES[record.status]}: `;
  return `${status}${record.title.slice(0, 200).replace(/\.$/, "")}, ${SOURCES[record.source]}, ${record.date || "no date"}`;
}

function caption(record) {
  byId("map-caption").textContent = describe(record);
}

// The names of the groups, then short titles next to their points, the uppermost points first, as far as there is room.
function names(ids, place) {
  const groups = groupNames(place);
  return [...groups.map(({ node }) => node), ...titles(ids, place, groups)];
}

// Each name over its group; one that would cover another moves up or down, or is left out.
function groupNames(place) {
  const taken = [];
  for (const group of board.groups) {
    const text = short(group.name, 40);
    const middle = place.at({ x: number(group.x), y: number(group.y) });
    const width = text.length * GROUP_LETTER;
    const left = Math.min(Math.max(middle.x - width / 2, 2), Math.max(2, MAP_WIDTH - width - 2));
    const rows = [0, -18, 18, -36, 36].map((step) => middle.y + step).filter((y) => y > 12 && y < place.height - 4);
    const y = rows.find((row) => taken.every((other) => Math.abs(other.y - row) > 16 || other.right < left || other.left > left + width));
    if (text && y !== undefined) taken.push({ left, right: left + width, y, node: drawn("text", { class: "group", x: left, y: y + 4 }, text) });
  }
  return taken;
}

function titles(ids, place, groups) {
  const spots = ids.map((id) => ({ left: place(id).x - 8, right: place(id).x + 8, y: place(id).y, id }));
  const taken = [...groups, ...spots];
  return ids.flatMap((id) => {
    const { x, y } = place(id);
    const text = short(board.records.get(id).title, 23);
    const width = text.length * TITLE_LETTER;
    const left = x + 9 + width < MAP_WIDTH ? x + 9 : x - 9 - width;
    const box = { left, right: left + width, y, id };
    const isFree = left > 0 && taken.every((other) => other.id === id || Math.abs(other.y - y) > 12 || other.right < left || other.left > box.right);
    if (!isFree) return [];
    taken.push(box);
    const side = left > x ? { x: left } : { x: x - 9, class: "before" };
    return [drawn("text", { ...side, y: y + 4, "aria-hidden": "true" }, text)];
  });
}

function sameLines(place) {
  const lines = [];
  for (const id of points.keys()) {
    for (const other of board.records.get(id).similar) {
      if (!points.has(other)) continue;
      const [from, to] = [place(id), place(other)];
      lines.push(drawn("line", { class: "same", x1: from.x, y1: from.y, x2: to.x, y2: to.y }));
    }
  }
  return lines;
}

function drawLegend(ids, listed) {
  const records = ids.map((id) => board.records.get(id));
  const sign = (source, ...marks) => drawn("svg", { viewBox: "-8 -8 16 16", class: source, "aria-hidden": "true" }, ...marks);
  const entries = Object.keys(SOURCES)
    .filter((source) => records.some((record) => record.source === source))
    .map((source) => element("span", {}, sign(source, mark(source, 6)), SOURCES[source]));
  if (records.some((record) => record.status === "retracted")) {
    entries.push(element("span", {}, sign("", drawn("path", { class: "cross", d: "M-6-6L6 6M-6 6L6-6" })), STATUSES.retracted.toLowerCase()));
  }
  if (ids.some((id) => !listed.has(id))) entries.push(element("span", {}, "pale: elsewhere in the session"));
  byId("map-legend").replaceChildren(...entries);
}

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function moveOnMap(event, id) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    openPoint(id);
  }
  const ids = [...points.keys()];
  const target = ARROWS[event.key] ? nearest(id, ...ARROWS[event.key]) : { Home: ids[0], End: ids.at(-1) }[event.key];
  if (!target) return;
  event.preventDefault();
  rove(points.values(), points.get(target));
  points.get(target).focus();
}

// The closest point in a direction; sideways distance counts double.
function nearest(id, dx, dy) {
  const here = board.places.get(id);
  let best = "";
  let least = Infinity;
  for (const other of points.keys()) {
    const there = board.places.get(other);
    const [right, down] = [there.x - here.x, here.y - there.y];
    const ahead = right * dx + down * dy;
    const aside = Math.abs(right * dy) + Math.abs(down * dx);
    if (other === id || ahead <= 0 || aside > 3 * ahead) continue;
    if (ahead + 2 * aside < least) [best, least] = [other, ahead + 2 * aside];
  }
  return best;
}

function openPoint(id) {
  if (collection().some((record) => record.id === id)) reveal(id);
  else if (host.connected) fetchWhole(board.records.get(id));
}

function highlight(id) {
  for (const [other, group] of points) group.classList.toggle("lit", other === id);
  if (points.has(id)) caption(board.records.get(id));
}

function showOnMap(id) {
  byId("map-panel").open = true;
  highlight(id);
  rove(points.values(), points.get(id));
  points.get(id).focus();
  byId("map-panel").scrollIntoView({ block: "nearest" });
}
