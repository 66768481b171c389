// An evidence record as a card.

const EXCERPT = 300;
const MOST_NOTICES = 6;

function card(record) {
  const id = `card-${encodeURIComponent(record.id)}`;
  return element(
    "li",
    {},
    element(
      "article",
      { class: `card ${record.status} ${decisionOf(record)}`, id, tabindex: "-1", "aria-labelledby": `${id}-title` },
      facts(record),
      element("h3", { id: `${id}-title`, dir: "auto" }, titleOf(record)),
      byLine(record),
      decisionLine(record),
      ...notices(record),
      ...contentOf(record, id),
      sameAs(record),
      foundBy(record),
      acts(record),
    ),
  );
}

function facts(record) {
  const badge = !isMarked(record.status) ? null : element("strong", { class: `badge ${record.status}` }, STATUSES[record.status]);
  const paper = !isMarked(record.paperStatus) ? null : element("span", {}, `note on a paper marked ${STATUSES[record.paperStatus]}`);
  const source = element("span", { class: `source ${record.source}` }, SOURCES[record.source]);
  const date = element("span", {}, record.date || "no date");
  const asked = record.asked ? element("span", {}, `status last asked ${record.asked}`) : null;
  return element("p", { class: "facts" }, badge, source, paper, date, asked, relevance(record));
}

function relevance(record) {
  if (!record.relevance) return null;
  const bar = element("b");
  bar.style.width = `${Math.round(record.relevance * 100)}%`;
  const label = `relevance ${record.relevance.toFixed(2)}`;
  return element("span", { class: "relevance" }, element("i", { "aria-hidden": "true" }, bar), label);
}

function titleOf(record) {
  const [first] = linksOf(record);
  return first ? link(first[1], record.title) : record.title;
}

function byLine(record) {
  const shown = record.authors.slice(0, 3).join(", ") + (record.authors.length > 3 ? " et al." : "");
  const site = record.source === "web" && webAddress(record.url) ? new URL(record.url).hostname : "";
  const parts = [shown, record.journal || record.publisher || site].filter(Boolean);
  return parts.length ? element("p", { class: "by", dir: "auto" }, parts.join(" · ")) : null;
}

function notices(record) {
  const more = record.notices.length - MOST_NOTICES;
  const lines = record.notices.slice(0, more > 1 ? MOST_NOTICES : undefined).map(noticeLine);
  return more > 1 ? [...lines, element("p", { class: "note-line" }, `and ${more} more links`)] : lines;
}

function noticeLine(notice) {
  const kind = Object.hasOwn(NOTICES, notice.kind) ? NOTICES[notice.kind] : "Notice";
  const tone = { retraction: "bad-line", concern: "warn-line" }[notice.kind] ?? "note-line";
  const pmid = clean(notice.pmid);
  const address = `https://pubmed.ncbi.nlm.nih.gov/${encodeURIComponent(pmid)}/`;
  const reference = clean(notice.reference);
  const doi = clean(notice.doi);
  const where = pmid ? link(address, `PMID ${pmid}`) : doi ? link(doiAddress(doi), `doi:${doi}`) : null;
  return element("p", { class: tone, dir: "auto" }, `${kind}: `, reference, reference && where ? ", " : "", where);
}

function contentOf(record, id) {
  if (!record.whole) {
    return host.connected ? [element("p", { class: "said" }, button("Show text", () => fetchWhole(record), { class: "plain" }))] : [];
  }
  if (sameText(record.content, record.title)) return [];
  const isLong = record.content.length > EXCERPT;
  const text = element("p", { class: "said", id: `${id}-text`, dir: "auto" }, isLong ? excerpt(record.content) : record.content);
  if (isLong) {
    const more = button("Read more", () => toggleText(record, text, more), {
      class: "plain",
      "aria-expanded": "false",
      "aria-controls": `${id}-text`,
    });
    return [text, more];
  }
  const fetches = record.truncated && host.connected;
  return fetches ? [text, button("Read more", () => fetchWhole(record), { class: "plain" })] : [text];
}

const sameText = (one, other) => one.replace(/\.$/, "") === other.replace(/\.$/, "");

function excerpt(text) {
  const head = text.slice(0, EXCERPT);
  const end = head.lastIndexOf(" ");
  return `${end > EXCERPT / 2 ? head.slice(0, end) : head} …`;
}

function toggleText(record, text, more) {
  const opens = more.getAttribute("aria-expanded") === "false";
  if (opens && record.truncated && host.connected) {
    fetchWhole(record);
    return;
  }
  more.setAttribute("aria-expanded", String(opens));
  more.textContent = opens ? "Show less" : "Read more";
  text.textContent = opens ? record.content + (record.truncated ? " […]" : "") : excerpt(record.content);
}

function links(record) {
  const all = linksOf(record).map(([name, address]) => link(address, name, hidden(`: ${record.title}`)));
  if (record.url && !webAddress(record.url)) all.push(element("span", {}, record.url.slice(0, 200)));
  return all.length ? [element("span", { class: "links" }, ...between(all, " · "))] : [];
}

// Text for screen readers, which announce a link without its context.
function hidden(text) {
  return element("span", { class: "unseen" }, text.slice(0, 120));
}

function between(nodes, text) {
  return nodes.flatMap((node, position) => (position ? [text, node] : [node]));
}

function sameAs(record) {
  if (!record.similar.length) return null;
  const others = record.similar.map((id) => button(board.records.get(id)?.title ?? id, () => reveal(id), { class: "plain", dir: "auto" }));
  return element("p", { class: "same-as" }, "Nearly the same content: ", ...between(others, "; "));
}

// The queries that found it, except the one in the page's title.
function foundBy(record) {
  const queries = record.foundBy.filter((query) => query !== board.query);
  if (!queries.length) return null;
  return element("p", { class: "found", dir: "auto" }, `Found by: ${queries.map((query) => `“${query}”`).join(", ")}`);
}

function acts(record) {
  const parts = links(record);
  if (canSearch()) parts.push(button("More like this", () => searchByMeaning(record.title), { class: "plain" }));
  if (points.has(record.id)) parts.push(button("Show on map", () => showOnMap(record.id), { class: "plain" }));
  parts.push(...decisionButtons(record));
  if (canExport()) parts.push(chooser(record, "Select"));
  return parts.length ? element("div", { class: "acts" }, ...parts) : null;
}

// A checkbox that selects a record for the export; its visible label may be "".
function chooser(record, label = "") {
  const box = element("input", { type: "checkbox", checked: board.chosen.has(record.id) });
  box.addEventListener("change", () => choose(record.id, box.checked));
  return element("label", { class: "choice" }, box, label, hidden(label ? `: ${record.title}` : `Select: ${record.title}`));
}

// Fetches the complete text of evidence that was cut or of which only the title is known.
async function fetchWhole(record) {
  await withHost("get_evidence", { ids: [record.id], session_id: board.sessionId }, (result) => {
    for (const fresh of result.records) remember(fresh);
    draw();
    reveal(record.id, { opens: true });
  });
}
