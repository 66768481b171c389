// Evidence by year.

const MAX_BARS = 16; // so many have room for their counts

function drawTimeline(shown) {
  const years = collection().map((record) => record.year).filter(Boolean);
  byId("timeline-panel").hidden = years.length < 2;
  if (years.length < 2) return;
  const bins = binned(years);
  const inFilter = new Set(shown.map((record) => binOf(bins, record.year)));
  const highest = Math.max(...bins.map((bin) => bin.count));
  const bars = bins.map((bin) => (bin.count ? bar(bin, highest, inFilter.has(bin)) : element("span", { "aria-hidden": "true" })));
  byId("timeline").replaceChildren(...bars);
  const controls = bars.filter((node) => node.matches("button"));
  rove(controls, controls.find((node) => node.getAttribute("aria-pressed") === "true") ?? controls[0]);
  const undated = collection().length - years.length;
  byId("timeline-axis").replaceChildren(
    element("span", {}, String(bins[0].from)),
    element("span", {}, undated ? `${undated} without a date` : ""),
    element("span", {}, String(bins.at(-1).to)),
  );
}

function binned(years) {
  const first = Math.min(...years);
  const last = Math.max(...years);
  const width = [1, 2, 5, 10, 25, 50, 100].find((size) => (last - first) / size < MAX_BARS) ?? 100;
  const start = width === 1 ? first : Math.floor(first / width) * width;
  const end = Math.max(last, new Date().getFullYear());
  const bins = [];
  for (let from = start; from <= last; from += width) bins.push({ from, to: Math.min(from + width - 1, end), count: 0 });
  for (const year of years) bins[Math.floor((year - start) / width)].count += 1;
  return bins;
}

function binOf(bins, year) {
  return bins.find((bin) => year >= bin.from && year <= bin.to);
}

function bar(bin, highest, isShown) {
  const years = bin.from === bin.to ? `${bin.from}` : `${bin.from} to ${bin.to}`;
  const pressed = Number(byId("filter-from").value) === bin.from && Number(byId("filter-to").value) === bin.to;
  const label = `${years}: ${plural(bin.count, "item")}`;
  const column = element("i", {}, element("b", {}, String(bin.count)));
  column.style.height = `${Math.max(5, Math.round((bin.count / highest) * 100))}%`;
  const attributes = { class: isShown ? "" : "part", title: label, "aria-label": label, "aria-pressed": String(pressed) };
  const node = button(column, () => filterYears(pressed ? "" : bin.from, pressed ? "" : bin.to), attributes);
  node.addEventListener("keydown", moveOnTimeline);
  return node;
}

function moveOnTimeline(event) {
  const controls = [...byId("timeline").querySelectorAll("button")];
  const here = controls.indexOf(event.currentTarget);
  const target = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: controls.length - 1 }[event.key];
  if (target === undefined || !controls[target]) return;
  event.preventDefault();
  rove(controls, controls[target]);
  controls[target].focus();
}

function filterYears(from, to) {
  byId("filter-from").value = from;
  byId("filter-to").value = to;
  filtered();
  byId("timeline").querySelector('[tabindex="0"]')?.focus();
}
