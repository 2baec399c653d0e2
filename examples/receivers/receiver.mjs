// Receive momo's webhooks with Node, without packages: verify, store once, answer quickly.
//
//     MOMO_WEBHOOK_SECRET=whsec_... node receiver.mjs 8000
//
// Put it behind a TLS proxy (caddy, nginx): momo sends to https addresses only.

import { createHmac, timingSafeEqual } from "node:crypto";
import { linkSync, mkdirSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const SECRET = process.env.MOMO_WEBHOOK_SECRET;
const EVENTS = process.env.EVENTS ?? "events";
const TOLERANCE_S = 300;
const BODY_BYTES_MAX = 64 * 1024;
let counter = 0;

function verified(body, header) {
  const fields = header.split(",").map((field) => field.split(/=(.*)/s));
  const sent = fields.find(([name]) => name === "t")?.[1] ?? "";
  if (!/^[0-9]+$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > TOLERANCE_S) return false;
  const expected = createHmac("sha256", SECRET).update(`${sent}.`).update(body).digest();
  return fields.some(([name, value]) => {
    const given = Buffer.from(name === "v1" ? value : "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

// Store an event in its own file; return false if it is stored already. Write it under another name first: link fails
// if the name exists, and a crash leaves no partial file.
function store(webhookId, body) {
  mkdirSync(EVENTS, { recursive: true, mode: 0o700 });
  const draft = join(EVENTS, `${webhookId}.${process.pid}.${counter++}.new`);
  writeFileSync(draft, body, { flag: "wx", flush: true });
  try {
    linkSync(draft, join(EVENTS, `${webhookId}.json`));
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(draft);
  }
  return true;
}

const server = createServer((request, response) => {
  const chunks = [];
  let length = 0;
  request.on("data", (chunk) => {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) request.destroy();
    chunks.push(chunk);
  });
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const headers = [request.headers["x-svc-signature"], request.headers["x-svc-signature-previous"]];
    if (!headers.some((header) => header && verified(body, header))) {
      response.writeHead(400).end();
      return;
    }
    const event = JSON.parse(body);
    if (!/^ocl_[0-9a-z]{24}$/.test(event.webhook_id)) {
      response.writeHead(400).end();
      return;
    }
    if (store(event.webhook_id, body)) console.log(event.type, event.data.reference, event.data.status);
    response.writeHead(204).end();
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => {
  console.log(`listening on 127.0.0.1:${server.address().port}`);
});
