// Screening: the undecided records, the likeliest first, one at a time, decided with keys.

const BATCH = 10; // decisions after which the order is learned anew
const MOST_ASKED = 100; // records that one call gives at most
const MAYBE = "maybe"; // the tag of what is put off until the others are decided on
const NOT_SAVED = "Perhaps not saved";
const WORD = /[\p{L}\p{N}_]{2,}/gu;

const queue = {
  state: null, // how far screening has come, as list_evidence says
  records: [], // those to decide on; the first is shown
  words: new Map(), // id -> {for, against}: sets of words and pairs of words
  foundAt: [], // after how many decisions each relevant record was found
  made: [], // what was decided here, the latest last: {record, before, item}
  allPutOff: false, // whether all that is undecided is
  since: 0, // decisions since the order was learned
  busy: false,
  closed: false, // by the person
};

const isPutOff = (record) => markOf(record).tags.includes(MAYBE);

// Whether a result of list_evidence is the queue; if so, it is shown.
function takeQueue(callResult, opens = true) {
  const data = isObject(callResult.structuredContent) ? callResult.structuredContent : {};
  const meta = isObject(callResult._meta?.[META_KEY]?.queue) ? callResult._meta[META_KEY].queue : null;
  if (!isObject(data.screening) || !meta) return false;
  board.sessionId = clean(data.session_id) || board.sessionId;
  host.key = clean(callResult._meta[META_KEY].key) || host.key;
  queue.state = data.screening;
  queue.foundAt = list(meta.found_at).map(number);
  queue.since = 0;
  const given = list(meta.records).filter((value) => isObject(value) && clean(value.id));
  for (const value of given) {
    remember(readRecord(value));
    queue.words.set(clean(value.id), { for: new Set(texts(value.for)), against: new Set(texts(value.against)) });
  }
  const records = given.map((value) => board.records.get(clean(value.id)));
  queue.records = [...records.filter((record) => !isPutOff(record)), ...records.filter(isPutOff)];
  if (byId("queue").hidden) byId("notices").replaceChildren();
  if (!opens) return true;
  queue.closed = false;
  showQueue(true);
  return true;
}

function showQueue(shows) {
  byId("queue").hidden = !shows;
  byId("columns").hidden = shows;
  byId("screen").hidden = shows || !canDecide();
  byId("skip").href = shows ? "#queue-record" : "#list";
  if (shows) {
    drawQueue();
    if (!document.activeElement?.matches("#queue input")) byId("queue-record").focus({ preventScroll: true });
    byId("title").scrollIntoView({ block: "nearest" });
  } else draw();
}

// Gets the records to decide on next: more of them while all are put off.
async function askForQueue() {
  const putOff = [...board.records.values()].filter((record) => isPutOff(record) && decisionOf(record) === "undecided").length;
  const args = { sort: "likely", marked: "undecided", max_results: Math.min(MOST_ASKED, 2 * BATCH + putOff), session_id: board.sessionId };
  let first = null;
  for (let offset = 0; offset >= 0; ) {
    const page = await host.callTool("list_evidence", { ...args, offset });
    if (!takeQueue(page, !queue.closed)) throw new Error("The server gave no queue.");
    first ??= page;
    queue.allPutOff = queue.records.every(isPutOff);
    const next = number(page.structuredContent.next_offset);
    offset = queue.allPutOff && next > offset ? next : -1;
  }
  if (queue.allPutOff) takeQueue(first, !queue.closed); // the likeliest of them
}

// Whether to ask for others: the order is to be learned anew, or only what was put off is left of those that are here.
function isDue() {
  const [next] = queue.records;
  const hasOthers = !queue.allPutOff && queue.records.length < number(queue.state.undecided);
  return queue.since >= BATCH || !next || (isPutOff(next) && hasOthers);
}

// Decides on the record that is shown, or puts it off, and shows the next.
function screen(verdict) {
  const [record] = queue.records;
  if (!record) return;
  const before = markOf(record);
  const tags = before.tags.filter((tag) => tag !== MAYBE);
  const item = verdict === MAYBE ? { tags: [...tags, MAYBE] } : { decision: verdict };
  const reason = byId("queue-reason").value.trim();
  if (verdict === "excluded" && reason) item.reason = reason;
  if (verdict !== MAYBE && isPutOff(record)) item.tags = tags.length ? tags : [NO_TAGS];
  whileBusy(async () => {
    const { replaced } = await keep(record, item);
    if (byId("queue-reason").value.trim() === reason) byId("queue-reason").value = "";
    queue.made.push({ record, before, item });
    queue.records.shift();
    if (verdict === MAYBE) queue.records.push(board.records.get(record.id));
    else countDecision(verdict === "included");
    const said = verdict === MAYBE ? "Maybe, later" : DECISIONS[verdict];
    return replaced ? `${said} (before, by somebody else: ${replaced})` : said;
  }, record);
}

// Takes the latest decision back, and shows its record again.
function takeBack() {
  const last = queue.made.at(-1);
  if (!last) return;
  const { record, before, item } = last;
  const tags = item.tags ? { tags: before.tags.length ? before.tags : [NO_TAGS] } : {};
  whileBusy(async () => {
    await keep(record, { ...(item.decision ? { decision: "undecided" } : {}), ...tags });
    queue.made.pop();
    await askForQueue();
    queue.records = [board.records.get(record.id), ...queue.records.filter((one) => one.id !== record.id)];
    return "Taken back";
  }, record);
}

// Runs one step after another, says what became of it, and has the order learned anew when that is due.
async function whileBusy(step, record) {
  if (queue.busy) return;
  queue.busy = true;
  let failure = NOT_SAVED;
  byId("queue").setAttribute("aria-busy", "true");
  try {
    byId("queue-said").textContent = `${await step()}: ${record.title.slice(0, 120)}`;
    byId("notices").replaceChildren();
    failure = "The next records could not be fetched";
    if (isDue()) await askForQueue();
  } catch (error) {
    if (failure === NOT_SAVED) byId("queue-said").textContent = "";
    showNotice("bad", `${failure}: ${error.message}`);
  } finally {
    queue.busy = false;
    byId("queue").removeAttribute("aria-busy");
  }
  if (!queue.closed) showQueue(true);
}

function countDecision(isRelevant) {
  const state = queue.state;
  queue.since += 1;
  const decided = number(state.decided) + 1;
  if (isRelevant) queue.foundAt.push(decided);
  queue.state = {
    ...state,
    decided,
    undecided: number(state.undecided) - 1,
    relevant: number(state.relevant) + (isRelevant ? 1 : 0),
    since_relevant: isRelevant ? 0 : number(state.since_relevant) + 1,
  };
}

const BASES = {
  decisions: "The likeliest first, learned from the decisions so far.",
  criteria: "Nothing is included yet: the closest to the question and criteria first.",
  arrival: "Nothing is included yet: in the order in which they were found.",
};

function drawQueue() {
  const { question, criteria, basis, decided, relevant, undecided, since_relevant: row, stop } = queue.state;
  byId("queue-question").textContent = short(question);
  byId("summary").textContent = "";
  byId("queue-criteria").replaceChildren(...texts(criteria).map((one) => element("p", { class: "said", dir: "auto" }, one)));
  byId("queue-criteria-part").hidden = !texts(criteria).length;
  const all = number(decided) + number(undecided);
  byId("queue-progress").max = Math.max(1, all);
  byId("queue-progress").value = number(decided);
  byId("queue-counts").textContent =
    `${number(decided)} of ${plural(all, "record")} decided, ${number(relevant)} of them relevant; ` +
    `${number(row)} in a row since the last relevant one. ${number(undecided) ? (BASES[basis] ?? "") : ""}`;
  drawCurve(number(decided));
  const says = isObject(stop) ? short(stop.says, 3000) : "";
  byId("queue-stop").hidden = !says;
  const heuristics = [["Fulfilled", stop?.met], ["Not fulfilled", stop?.not_met]].flatMap(([label, some]) => texts(some).map((one) => `${label}: ${one}`));
  byId("queue-says").replaceChildren(element("p", {}, says), element("ul", {}, ...heuristics.map((one) => element("li", {}, one))));
  drawRecord();
}

function drawRecord() {
  const [record] = queue.records;
  const place = byId("queue-record");
  for (const id of ["queue-include", "queue-exclude", "queue-maybe", "queue-reason"]) byId(id).disabled = !record;
  byId("queue-undo").disabled = !queue.made.length;
  if (!record) {
    place.replaceChildren(element("p", {}, "No undecided record is left in this session."));
    return;
  }
  const words = queue.words.get(record.id) ?? { for: new Set(), against: new Set() };
  const more = record.truncated ? button("Read the rest", () => readRest(record), { class: "plain" }) : null;
  place.replaceChildren(
    facts(record),
    element("h3", { dir: "auto" }, ...spoken(record.title, words)),
    ...[byLine(record), decisionLine(record)].filter(Boolean),
    ...notices(record),
    element("p", { class: "said", dir: "auto" }, ...spoken(record.content || "[No abstract]", words)),
    ...[more, element("div", { class: "acts" }, ...links(record))].filter(Boolean),
  );
}

function readRest(record) {
  whileBusy(async () => {
    for (const fresh of readResult(await host.callTool("get_evidence", { ids: [record.id], session_id: board.sessionId })).records) remember(fresh);
    queue.records[0] = board.records.get(record.id);
    return "Read";
  }, record);
}

// The text with the words marked that speak for the record, and those that speak against it.
function spoken(text, words) {
  const found = [...text.matchAll(WORD)].map((match) => ({ word: match[0].toLowerCase(), start: match.index, end: match.index + match[0].length }));
  const kindOf = (word) => (words.for.has(word) ? "for" : words.against.has(word) ? "against" : "");
  const marks = found.map(({ word }) => kindOf(word));
  for (let at = 0; at + 1 < found.length; at += 1) {
    const pair = kindOf(`${found[at].word} ${found[at + 1].word}`);
    if (pair) marks[at] = marks[at + 1] = pair;
  }
  const parts = [];
  let last = 0;
  for (const [at, { start, end }] of found.entries()) {
    if (!marks[at]) continue;
    const label = marks[at] === "for" ? "speaks for it" : "speaks against it";
    parts.push(text.slice(last, start), element("mark", { class: marks[at], title: label }, text.slice(start, end)));
    last = end;
  }
  return [...parts, text.slice(last)].filter(Boolean);
}

// How many relevant records were found after how many decisions.
function drawCurve(decided) {
  const [width, height, found] = [300, 70, queue.foundAt.length];
  const x = (count) => (width * count) / Math.max(1, decided);
  const y = (count) => height - (height * count) / Math.max(1, found);
  const steps = queue.foundAt.map((at, count) => `H${x(at).toFixed(1)}V${y(count + 1).toFixed(1)}`);
  const label = `${found} relevant after ${plural(decided, "decision")}`;
  byId("queue-curve").setAttribute("viewBox", `-2 -4 ${width + 4} ${height + 8}`);
  byId("queue-curve").setAttribute("aria-label", `Relevant records found: ${label}`);
  byId("queue-curve").replaceChildren(drawn("path", { class: "axes", d: `M0 0V${height}H${width}` }), drawn("path", { class: "curve", d: `M0 ${height}${steps.join("")}H${width}` }));
  byId("queue-curve-part").hidden = !found;
  byId("queue-curve-label").textContent = label;
}

// A letter decides while the focus is in the queue, unless it is typed.
function decideByKey(event) {
  const act = { i: "queue-include", e: "queue-exclude", m: "queue-maybe", u: "queue-undo" }[event.key.toLowerCase()];
  const types = event.target.matches("input");
  if (event.isComposing || (event.repeat && !types)) return; // a key that is held decides once
  if (queue.busy && event.key === "Enter" && types) return;
  if (event.key === "Enter" && types) byId("queue-exclude").click();
  if (["Enter", "Escape"].includes(event.key) && types) byId("queue-record").focus();
  if (!act || types || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  byId(act).click();
}

function listenToQueue() {
  byId("screen").addEventListener("click", () => {
    queue.closed = false;
    whileBusy(async () => (await askForQueue(), "Screening"), { title: board.query });
  });
  byId("queue-close").addEventListener("click", () => {
    queue.closed = true;
    showQueue(false);
  });
  byId("queue-include").addEventListener("click", () => screen("included"));
  byId("queue-exclude").addEventListener("click", () => screen("excluded"));
  byId("queue-maybe").addEventListener("click", () => screen(MAYBE));
  byId("queue-undo").addEventListener("click", takeBack);
  byId("queue").addEventListener("keydown", decideByKey);
}
