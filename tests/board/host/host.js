// A minimal MCP Apps host: the page in a sandboxed frame, the official AppBridge on this side of it.
// The test, in Python, provides window.onTool (the server) and window.onEvent (what the host was told).
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

let bridge;
let context = {};

window.openBoard = async (address, { hostContext, capabilities, sandbox, refuses }) => {
  context = hostContext;
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", sandbox);
  frame.title = "board";
  document.body.append(frame);
  bridge = new AppBridge(null, { name: "TestHost", version: "1.0.0" }, capabilities, { hostContext });
  bridge.oncalltool = (params) => window.onTool(params);
  bridge.onopenlink = async ({ url }) => {
    window.onEvent("link", url);
    return { isError: refuses };
  };
  bridge.ondownloadfile = async ({ contents }) => {
    window.onEvent("download", contents);
    return { isError: refuses };
  };
  bridge.onrequestdisplaymode = async ({ mode }) => {
    window.setContext({ displayMode: mode });
    return { mode };
  };
  bridge.onsizechange = ({ height }) => {
    window.onEvent("height", height);
    frame.style.height = `${height}px`;
  };
  const initialized = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = address;
  await initialized;
  return { app: bridge.getAppVersion(), capabilities: bridge.getAppCapabilities() };
};

window.sendResult = (result) => bridge.sendToolResult(result);
window.sendCancelled = () => bridge.sendToolCancelled({ reason: "user action" });
window.setContext = (change) => {
  context = { ...context, ...change };
  bridge.setHostContext(context);
};
window.closeBoard = () => bridge.teardownResource({});
