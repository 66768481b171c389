// What the user decided about evidence, and its tags. Where the host lets the page call tools, they can be set.

const DECISIONS = { included: "Included", excluded: "Excluded", cited: "Cited", undecided: "Undecided" };
const MAX_TAGS = 20;
const MAX_TAG = 60;
const MAX_REASON = 500;
const NO_TAGS = "none"; // the tag that takes all others away
const NO_MARK = { decision: "", reason: "", tags: [] };

const markOf = (record) => record.mark ?? NO_MARK;
const decisionOf = (record) => markOf(record).decision || (isNote(record) ? "" : "undecided");
const canDecide = () => canSearch();

// From Evidence.decision, "excluded: no control group; tags: rct, adults"; null if the value says nothing of decisions.
function readMark(value) {
  if (isObject(value.screening)) return checkedMark(value.screening);
  if (typeof value.decision !== "string") return null;
  const line = short(value.decision, 5000);
  const end = line.startsWith("tags: ") ? 0 : line.lastIndexOf("; tags: ");
  const head = end < 0 ? line : line.slice(0, end);
  const colon = head.indexOf(": ");
  const listed = end < 0 ? [] : line.slice(line.indexOf("tags: ", end) + 6).split(", ");
  return checkedMark({
    decision: colon < 0 ? head : head.slice(0, colon),
    reason: colon < 0 ? "" : head.slice(colon + 2),
    tags: Array.isArray(value.tags) ? value.tags : listed,
  });
}

function checkedMark({ decision, reason, tags }) {
  const isKnown = Object.hasOwn(DECISIONS, clean(decision)) && decision !== "undecided";
  return {
    decision: isKnown ? clean(decision) : "",
    reason: isKnown ? short(reason) : "",
    tags: [...new Set(texts(tags).map((tag) => short(tag, MAX_TAG)))].slice(0, 100),
  };
}

// The decision with its reason, and the tags; null if there is neither.
function decisionLine(record) {
  const { decision, reason, tags } = markOf(record);
  if (!decision && !tags.length) return null;
  const verdict = decision ? [element("strong", { class: `verdict ${decision}` }, DECISIONS[decision]), reason && `: ${reason}`] : [];
  return element("p", { class: "decided", dir: "auto" }, ...verdict.filter(Boolean), ...tags.map(tagOf));
}

const tagOf = (tag) => element("span", { class: "tag", dir: "auto" }, hidden("tag: "), tag);

// Buttons on a card that set the decision; none where nothing could be set.
function decisionButtons(record) {
  if (!canDecide()) return [];
  const include = button("Include", () => decide(record, { decision: "included" }, include), { class: "plain" });
  const edit = button("Decide …", () => toggleEditor(record, edit), { class: "plain", "aria-expanded": "false" });
  for (const control of [include, edit]) control.append(hidden(`: ${record.title}`));
  return decisionOf(record) === "included" ? [edit] : [include, edit];
}

function toggleEditor(record, opener) {
  const article = opener.closest(".card");
  const open = article.querySelector(".editor");
  if (open) {
    closeEditor(article);
    return;
  }
  opener.setAttribute("aria-expanded", "true");
  article.append(editor(record, () => closeEditor(article)));
  article.querySelector(".editor select").focus();
}

function closeEditor(article) {
  article.querySelector(".editor")?.remove();
  const opener = article.querySelector(".acts [aria-expanded]");
  opener?.setAttribute("aria-expanded", "false");
  opener?.focus();
}

function editor(record, close) {
  const mark = markOf(record);
  const options = Object.entries(DECISIONS).map(([value, label]) => element("option", { value, selected: value === (mark.decision || "undecided") }, label));
  const verdict = element("select", {}, ...options);
  const reason = element("input", { type: "text", maxlength: MAX_REASON, value: mark.reason, autocomplete: "off", dir: "auto" });
  const tags = element("input", { type: "text", value: mark.tags.join(", "), autocomplete: "off", dir: "auto" });
  const save = button("Save", () => saveEdited(record, { decision: verdict.value, reason: reason.value, tags: tags.value }, save, close), { class: "main" });
  const box = element(
    "div",
    { class: "editor", role: "group", "aria-label": `Decision: ${record.title.slice(0, 120)}` },
    element("label", {}, "Decision", verdict),
    element("label", {}, "Reason", reason),
    element("label", {}, "Tags, separated by commas", tags),
    element("div", { class: "row" }, save, button("Cancel", close)),
    element("p", { class: "bad-line", role: "alert" }),
  );
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && event.target.matches("input")) save.click();
  });
  return box;
}

function saveEdited(record, edited, save, close) {
  const mark = markOf(record);
  if (mark.reason && !edited.reason.trim() && edited.decision === mark.decision) {
    sayFailure(save, "A reason goes with its decision. To drop it, save Undecided first.");
    return;
  }
  decide(record, changes(mark, edited), save, close);
}

// The fields of an add_evidence item that differ from `mark`.
function changes(mark, { decision, reason, tags }) {
  const item = {};
  const wanted = [...new Set(tags.split(/[,;]/).map((tag) => clean(tag).trim()).filter(Boolean))];
  const isNew = decision !== (mark.decision || "undecided");
  if (isNew || (decision !== "undecided" && reason.trim() !== mark.reason)) {
    item.decision = decision;
    if (decision !== "undecided" && reason.trim()) item.reason = reason.trim();
  }
  if (wanted.join("\n") !== mark.tags.join("\n")) item.tags = wanted.length ? wanted : [NO_TAGS];
  return item;
}

// Asks the server to keep a decision. The page changes only after the server has said that it did.
async function decide(record, item, control, done = () => {}) {
  const long = list(item.tags).find((tag) => tag.length > MAX_TAG);
  if (long || list(item.tags).length > MAX_TAGS) {
    sayFailure(control, `At most ${MAX_TAGS} tags of ${MAX_TAG} characters.`);
    return;
  }
  if (!Object.keys(item).length) {
    done();
    return;
  }
  control.disabled = true;
  try {
    const mark = await keep(record, item);
    draw();
    reveal(record.id);
    byId("decided").textContent = `${DECISIONS[mark.decision || "undecided"]}: ${record.title.slice(0, 120)}`;
  } catch (error) {
    sayFailure(control, `Not saved: ${error.message}`);
  } finally {
    control.disabled = false;
  }
}

// Has the server keep a decision or tags, and gives what is decided then.
async function keep(record, item) {
  const args = { items: [{ id: record.id, ...item }], session_id: board.sessionId };
  const { structuredContent: data } = await host.callTool("add_evidence", args);
  const rejected = list(data?.rejected).filter(isObject)[0];
  const decided = list(data?.decided).filter(isObject)[0];
  if (rejected || !decided) throw new Error(short(rejected?.reason) || "The server did not keep the decision.");
  const mark = readMark({ decision: clean(decided.decision) });
  for (const [id, one] of board.records) {
    if (publicationId(id) === publicationId(record.id)) board.records.set(id, { ...one, mark });
  }
  const isNews = decisionOf(record) === "undecided" && !clean(decided.replaced).startsWith("tags: ");
  return { ...mark, replaced: isNews ? short(decided.replaced) : "" };
}

// A decision is about the publication: "pubmed:1~2" is a text of "pubmed:1".
const publicationId = (id) => id.replace(/~\d{1,4}$/, "");

function sayFailure(control, text) {
  const place = control.closest(".editor")?.querySelector("[role=alert]");
  if (place) place.textContent = text;
  else showNotice("bad", text);
}
