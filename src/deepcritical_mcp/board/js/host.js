// The MCP Apps protocol (version 2026-01-26): JSON-RPC 2.0 with the host window.

const PROTOCOL_VERSION = "2026-01-26";
const CALL_LIMIT_MS = 90_000;

const host = {
  connected: false,
  capabilities: {},
  context: {},
  handlers: Object.create(null), // by method; an ordinary object has a "constructor", too
  waiting: new Map(),
  lastId: 0,
  key: "", // by which the server knows that a person at the board decides

  async connect() {
    window.addEventListener("message", (event) => {
      if (event.source === window.parent && isObject(event.data) && event.data.jsonrpc === "2.0") this.receive(event.data);
    });
    const answer = await this.request("ui/initialize", {
      protocolVersion: PROTOCOL_VERSION,
      appInfo: { name: "deepcritical-board", version: "@VERSION@" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    this.connected = true;
    this.capabilities = answer.hostCapabilities ?? {};
    this.context = answer.hostContext ?? {};
    this.notify("ui/notifications/initialized", {});
  },

  // Resolves to the host's result; rejects with its error message, or after CALL_LIMIT_MS.
  request(method, params) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error("The host did not respond in time."));
      }, CALL_LIMIT_MS);
      this.waiting.set(id, { resolve, reject, timer });
      this.send({ id, method, params });
    });
  },

  notify(method, params) {
    this.send({ method, params });
  },

  send(message) {
    window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  },

  receive(message) {
    if (message.method === undefined) this.settle(message);
    else if (message.id === undefined) this.handlers[message.method]?.(message.params ?? {});
    else if (message.method === "ping" || message.method === "ui/resource-teardown") this.send({ id: message.id, result: {} });
    else this.send({ id: message.id, error: { code: -32601, message: "Method not found" } });
  },

  settle(message) {
    const call = this.waiting.get(message.id);
    if (!call) return;
    this.waiting.delete(message.id);
    clearTimeout(call.timer);
    if (message.error) call.reject(new Error(clean(message.error.message) || "The host rejected the request."));
    else call.resolve(message.result ?? {});
  },

  // Calls a tool of the server through the host; throws with the tool's message if it failed.
  async callTool(name, args) {
    const meta = this.key ? { _meta: { [META_KEY]: this.key } } : {};
    const result = await this.request("tools/call", { name, arguments: args, ...meta });
    if (result.isError) throw new Error(readResult(result).problems[0][1]);
    return result;
  },
};

async function openOutside(url) {
  try {
    const answer = await host.request("ui/open-link", { url });
    if (answer.isError) throw new Error("The host cannot open links.");
  } catch (error) {
    showNotice("warn", `${error.message} The link is ${url}`);
  }
}

function applyContext(change) {
  host.context = { ...host.context, ...change };
  const root = document.documentElement;
  const { theme, styles, displayMode, availableDisplayModes } = host.context;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  }
  root.toggleAttribute("data-scrolls", displayMode === "fullscreen");
  const full = byId("fullscreen");
  full.hidden = !list(availableDisplayModes).includes("fullscreen");
  full.textContent = displayMode === "fullscreen" ? "Exit full screen" : "Full screen";
}

async function toggleFullscreen() {
  const mode = host.context.displayMode === "fullscreen" ? "inline" : "fullscreen";
  try {
    const answer = await host.request("ui/request-display-mode", { mode });
    applyContext({ displayMode: answer.mode });
  } catch (error) {
    showNotice("warn", error.message);
  }
}

// Tells the host the page's size, so that it can resize the frame.
function reportSize() {
  let last = "";
  const observer = new ResizeObserver(() => {
    const { width } = document.documentElement.getBoundingClientRect();
    const height = document.body.getBoundingClientRect().height;
    const size = { width: Math.ceil(width), height: Math.ceil(height) };
    if (`${size.width}x${size.height}` === last) return;
    last = `${size.width}x${size.height}`;
    host.notify("ui/notifications/size-changed", size);
  });
  observer.observe(document.body);
}
