// Builds the page. External text becomes text nodes and checked attributes only, never markup.

const SVG = "http://www.w3.org/2000/svg";
// Characters that reorder or hide text.
const DIRECTION_MARKS = /[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

const byId = (id) => document.getElementById(id);

function clean(text) {
  return typeof text === "string" ? text.replace(DIRECTION_MARKS, "") : "";
}

// element("p", {class: "by", dir: "auto"}, "text", child, ...); null children are left out.
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") node.addEventListener("click", value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

// The URL if it is http or https without credentials, else "".
function webAddress(text) {
  let url;
  try {
    url = new URL(clean(text));
  } catch {
    return "";
  }
  const safe = (url.protocol === "https:" || url.protocol === "http:") && !url.username && !url.password;
  return safe ? url.href : "";
}

// A link that opens in a new window, through the host if there is one.
function link(address, ...children) {
  const href = webAddress(address);
  if (!href) return element("span", {}, ...children);
  const attributes = { href, target: "_blank", rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer" };
  const node = element("a", attributes, ...children);
  node.addEventListener("click", (event) => {
    if (!host.connected) return;
    event.preventDefault();
    openOutside(href);
  });
  return node;
}

// Roving tabindex: one Tab stop for a group of controls; arrow keys move inside it.
function rove(controls, current) {
  for (const control of controls) control.setAttribute("tabindex", control === current ? "0" : "-1");
}

function plural(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}
