// Exporting evidence: through the server's export_evidence, or from the records in a report.

const FORMATS = {
  ris: ["RIS", "ris", "application/x-research-info-systems"],
  bibtex: ["BibTeX", "bib", "application/x-bibtex"],
  "csl-json": ["CSL-JSON", "json", "application/json"],
  markdown: ["Markdown", "md", "text/markdown"],
  jsonl: ["JSON Lines", "jsonl", "application/jsonl"],
};
let ownExports = {}; // format -> {id: record}

const canExport = () => canCallTools() || Object.keys(ownExports).length > 0;

function offerFormats() {
  const formats = canCallTools() ? Object.keys(FORMATS) : Object.keys(FORMATS).filter((format) => ownExports[format]);
  byId("format").replaceChildren(...formats.map((format) => element("option", { value: format }, FORMATS[format][0])));
  byId("export").hidden = formats.length === 0;
}

// The ids to export: those selected, else those shown; [] means the whole session.
function exportIds() {
  const all = collection().length;
  if (board.chosen.size) return [...board.chosen];
  const shown = visible().map((record) => record.id);
  return board.found || shown.length < all || !canCallTools() ? shown : [];
}

function labelExport() {
  const ids = exportIds();
  const what = board.chosen.size ? `${ids.length} selected` : ids.length ? `${ids.length} shown` : "the session";
  byId("export-button").textContent = `Export ${what}`;
  byId("export-button").disabled = !board.chosen.size && visible().length === 0;
}

function choose(id, isChosen) {
  if (isChosen) board.chosen.add(id);
  else board.chosen.delete(id);
  labelExport();
}

async function exportFile() {
  const format = byId("format").value;
  const ids = exportIds();
  if (!canCallTools()) {
    const records = ids.map((id) => ownExports[format][id]).filter(Boolean);
    saveFile(fileName(format), FORMATS[format][2], records.join("\n"));
    return;
  }
  const control = byId("export-button");
  control.disabled = true;
  try {
    const text = joined(format, await exportedParts(format, ids));
    await deliverFile(format, text);
  } catch (error) {
    showNotice("bad", `The export failed: ${error.message}`);
  } finally {
    control.disabled = false;
  }
}

// Long exports arrive in parts.
async function exportedParts(format, ids) {
  const parts = [];
  let offset = 0;
  while (offset >= 0) {
    const result = await host.callTool("export_evidence", { format, ids, offset, session_id: board.sessionId });
    const data = result.structuredContent ?? {};
    parts.push(typeof data.text === "string" ? data.text : textOf(result));
    const next = number(data.next_offset);
    offset = next > offset ? next : -1;
  }
  return parts;
}

function joined(format, parts) {
  if (parts.length < 2) return parts.join("");
  if (format !== "csl-json") return parts.join(format === "jsonl" ? "" : "\n");
  return `${JSON.stringify(parts.flatMap((part) => JSON.parse(part)), null, 1)}\n`;
}

const fileName = (format) => `evidence.${FORMATS[format][1]}`;

async function deliverFile(format, text) {
  if (host.capabilities.downloadFile) {
    const resource = { uri: `file:///${fileName(format)}`, mimeType: FORMATS[format][2], text };
    try {
      const answer = await host.request("ui/download-file", { contents: [{ type: "resource", resource }] });
      if (!answer.isError) {
        showNotice("note", `Saved as ${fileName(format)}.`);
        return;
      }
    } catch {
      // Fall back to copying.
    }
  }
  byId("file-name").textContent = fileName(format);
  byId("file-text").value = text;
  byId("file-copied").textContent = "";
  byId("file").showModal();
  byId("file-text").select();
}

function saveFile(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

async function copyFile() {
  const area = byId("file-text");
  area.select();
  let copied = false;
  try {
    await navigator.clipboard.writeText(area.value);
    copied = true;
  } catch {
    // The frame may lack the permission; execCommand often still works.
    copied = document.execCommand("copy");
  }
  byId("file-copied").textContent = copied ? "Copied." : "Press Ctrl+C to copy.";
}
