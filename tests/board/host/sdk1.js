// A client of the TypeScript SDK 1.x, which validates each result, errors too, with ajv 8 against the tool's schema.
// Arguments: the calls as JSON, [[tool, arguments], …], and the server's command. Prints what the client got for each;
// "$session" in the arguments is the session of the first result.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";

const [calls, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "sdk1", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools(); // from here on, each result is validated
const ajv = new AjvJsonSchemaValidator();
const validates = Object.fromEntries(tools.map((tool) => [tool.name, ajv.getValidator(tool.inputSchema)]));
const got = [];
let session = "";
for (const [name, given] of JSON.parse(calls)) {
  const parameters = JSON.parse(JSON.stringify(given).replaceAll("$session", session));
  const result = await client.callTool({ name, arguments: parameters }).catch((error) => ({ thrown: String(error) }));
  session ||= result.structuredContent?.session_id ?? "";
  got.push({ ...result, fits: validates[name]?.(parameters).valid });
}
console.log(JSON.stringify(got));
await client.close();
