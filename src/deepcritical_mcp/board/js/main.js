// Draws the page and handles its controls.

const canCallTools = () => host.connected && Boolean(host.capabilities.serverTools);
const canSearch = () => canCallTools() && Boolean(board.sessionId);

function draw() {
  offerFilters();
  drawHead();
  drawShown();
  drawRelated();
}

// Draws everything that depends on the filters.
function drawShown() {
  const shown = visible();
  board.limit = Math.max(board.limit, stepNow());
  drawMap(shown);
  const isTable = board.view === "table";
  byId("list").replaceChildren(...(isTable ? [] : shown.slice(0, board.limit).map(card)));
  byId("table").replaceChildren();
  if (isTable && shown.length) drawTable(shown);
  byId("list").hidden = isTable;
  byId("table-part").hidden = !isTable || !shown.length;
  byId("more").hidden = shown.length <= board.limit;
  byId("more").textContent = `Show ${Math.min(stepNow(), shown.length - board.limit)} more`;
  const all = collection().length;
  byId("count").textContent = shown.length === all ? plural(all, "item") : `${shown.length} of ${plural(all, "item")}`;
  byId("empty").hidden = shown.length > 0;
  byId("empty").textContent = all ? "No evidence matches these filters." : "There is no evidence to show.";
  drawTimeline(shown);
  labelExport();
}

function drawHead() {
  const query = board.found ? board.found.query : board.query;
  byId("title").textContent = board.title || (query ? `Evidence for “${query}”` : "Evidence board");
  byId("list-title").textContent = board.found ? "Closest in meaning" : "Evidence";
  byId("back").hidden = !board.found;
  const records = collection();
  byId("tools").hidden = !records.length;
  byId("filter-panel").hidden = records.length < 2;
  byId("summary").textContent = records.length ? counted(records) : "";
  byId("ask").hidden = !canSearch();
  byId("screen").hidden = !canDecide();
  byId("footer").textContent = [board.sessionId && `Session ${board.sessionId}`, board.created].filter(Boolean).join(" · ");
  byId("footer").hidden = !byId("footer").textContent;
}

const PLACES = { pubmed: SOURCES.pubmed, web: "the web" };

function counted(records) {
  const count = (passing) => records.filter(passing).length;
  const sources = Object.entries(SOURCES)
    .map(([source, name]) => [count((record) => record.source === source), PLACES[source], name])
    .filter(([found]) => found)
    .map(([found, place, name]) => (place ? `${found} from ${place}` : plural(found, name.toLowerCase())));
  const flagged = [["retracted", ""], ["concern", "with an "]]
    .map(([status, before]) => [count((record) => record.status === status), before + STATUSES[status].toLowerCase()])
    .filter(([found]) => found)
    .map(([found, words]) => `${found} ${words}`);
  const sum = (sources.length > 1 ? `${plural(records.length, "item")}: ` : "") + sources.join(" + ");
  const decided = Object.keys(DECISIONS)
    .map((decision) => [count((record) => decisionOf(record) === decision), decision])
    .filter(([found]) => found);
  const marks = decided.some(([, decision]) => decision !== "undecided") ? ` · ${decided.map((pair) => pair.join(" ")).join(", ")}` : "";
  const session = board.total > records.length ? ` · ${board.total} in the session` : "";
  return sum + (flagged.length ? `, of these ${flagged.join(" and ")}` : "") + session + marks;
}

function drawRelated() {
  const related = board.found ? [] : board.related.filter((value) => !board.given.has(clean(value.id)));
  byId("related").replaceChildren(
    ...related.map((value) =>
      element(
        "li",
        { class: "card" },
        element("p", { class: "facts" }, `relevance ${number(value.relevance).toFixed(2)}`),
        element("h3", { dir: "auto" }, link(value.url, clean(value.title) || clean(value.id))),
        element("p", { class: "by", dir: "auto" }, clean(value.snippet)),
        canSearch() ? button("Show here", () => reveal(clean(value.id)), { class: "plain" }) : null,
      ),
    ),
  );
  for (const id of ["related", "related-title"]) byId(id).hidden = related.length === 0;
}

// A row of the table takes little room.
const stepNow = () => (board.view === "table" ? Math.max(100, board.step) : board.step);

function filtered() {
  board.limit = stepNow();
  drawShown();
}

// Scrolls to a card and focuses it; changes filters if they hide it.
function reveal(id, { opens = false } = {}) {
  if (!board.records.has(id) || !board.given.has(id)) {
    if (host.connected && board.sessionId) fetchWhole(board.records.get(id) ?? readRecord({ id, title: id }));
    else showNotice("note", `${id} is not on this page.`);
    return;
  }
  if (board.view !== "cards") showView("cards");
  if (!collection().some((record) => record.id === id)) showAllEvidence();
  if (!visible().some((record) => record.id === id)) {
    resetFilters();
    filtered();
  }
  const position = visible().findIndex((record) => record.id === id);
  if (position >= board.limit) {
    board.limit = position + 1;
    drawShown();
  }
  const node = byId(`card-${encodeURIComponent(id)}`);
  if (opens) node.querySelector('[aria-expanded="false"]')?.click();
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
  highlight(id);
}

function showNotice(tone, text) {
  const close = button("Dismiss", () => note.remove(), { class: "plain" });
  const note = element("p", { class: `notice ${tone}`, dir: "auto" }, text, " ", close);
  byId("notices").append(note);
}

// Calls a tool; passes the result to `use` or shows the error.
async function withHost(name, args, use) {
  document.body.setAttribute("aria-busy", "true");
  try {
    const result = readResult(await host.callTool(name, args));
    for (const [tone, text] of result.problems) showNotice(tone, text);
    use(result);
  } catch (error) {
    showNotice("bad", error.message);
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

async function searchByMeaning(text) {
  const query = text.trim();
  const submit = byId("ask-button");
  if (!query || submit.disabled) return;
  byId("question").value = query;
  submit.disabled = true;
  const args = { query: query.slice(0, 1000), max_results: 10, session_id: board.sessionId };
  await withHost("semantic_search", args, (result) => {
    addResult(result);
    board.found = { query, ids: result.records.map((record) => record.id) };
    byId("sort").value = "given";
    board.column = null;
    resetFilters();
    draw();
    byId("list").focus({ preventScroll: true });
    byId("title").scrollIntoView({ block: "nearest" });
  });
  submit.disabled = false;
}

function showAllEvidence() {
  board.found = null;
  draw();
}

function showResult(callResult) {
  if (takeQueue(callResult)) return;
  const result = readResult(callResult);
  byId("notices").replaceChildren();
  for (const [tone, text] of result.problems) showNotice(tone, text);
  board.given.clear();
  board.chosen.clear();
  addResult(result);
  board.query = result.query || board.query;
  board.related = result.related;
  board.found = null;
  draw();
}

function listen() {
  byId("filters").addEventListener("input", filtered);
  byId("reset").addEventListener("click", () => {
    resetFilters();
    filtered();
  });
  byId("sort").addEventListener("change", () => {
    board.column = null;
    filtered();
  });
  for (const view of ["cards", "table"]) byId(`view-${view}`).addEventListener("click", () => showView(view));
  byId("flow-save").addEventListener("click", saveFlow);
  byId("more").addEventListener("click", showMore);
  listenToQueue();
  byId("back").addEventListener("click", showAllEvidence);
  byId("fullscreen").addEventListener("click", toggleFullscreen);
  byId("file-copy").addEventListener("click", copyFile);
  byId("file-close").addEventListener("click", () => byId("file").close());
  // No forms: a sandboxed frame may block their submission, and with it the event.
  byId("ask-button").addEventListener("click", () => searchByMeaning(byId("question").value));
  byId("question").addEventListener("keydown", (event) => {
    if (event.key === "Enter") searchByMeaning(byId("question").value);
  });
  byId("export-button").addEventListener("click", exportFile);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("list").focus();
  });
  byId("list").addEventListener("focusin", (event) => {
    const within = event.target.closest(".card");
    if (within) highlight(decodeURIComponent(within.id.slice("card-".length)));
  });
  window.addEventListener("beforeprint", () => {
    board.limit = Infinity;
    drawShown();
  });
}

function showMore() {
  const first = board.limit;
  board.limit += stepNow();
  drawShown();
  const next = board.view === "table" ? byId("table").rows[first + 1]?.querySelector(".details") : byId("list").children[first]?.querySelector(".card");
  next?.focus();
}

const narrow = window.matchMedia("(max-width: 759px)");

// On small screens the evidence comes first; the panels are closed.
function fitPanels() {
  if (flow) drawFlow();
  for (const panel of document.querySelectorAll(".panel")) panel.open = !narrow.matches;
}

async function openInHost() {
  board.step = 6;
  host.handlers["ui/notifications/tool-result"] = showResult;
  host.handlers["ui/notifications/host-context-changed"] = (change) => {
    applyContext(change);
    board.step = host.context.displayMode === "fullscreen" ? 30 : 6;
  };
  host.handlers["ui/notifications/tool-cancelled"] = () => {
    byId("summary").textContent = "The call was cancelled.";
  };
  try {
    await host.connect();
  } catch (error) {
    byId("summary").textContent = error.message;
    return;
  }
  applyContext(host.context);
  offerFormats();
  reportSize();
}

function openReport(data) {
  document.documentElement.setAttribute("data-scrolls", "");
  board.title = clean(data.title);
  board.created = clean(data.created);
  ownExports = isObject(data.exports) ? data.exports : {};
  offerFormats();
  drawLog(data);
  showResult(data.result);
}

listen();
// A host may show the frame before it has its final size.
narrow.addEventListener("change", fitPanels);
fitPanels();
const carried = JSON.parse(byId("data").textContent);
if (carried) openReport(carried);
else if (window.parent !== window) openInHost();
else byId("summary").textContent = "Open this page in an MCP host that supports MCP Apps.";
