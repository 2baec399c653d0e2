// A web shop that sells one thing for mobile money: Express, plain HTML, one file of orders.
//
//   npm install
//   export MOMO_URL=http://127.0.0.1:8420 MOMO_API_KEY=svc_live_sk_... MOMO_WEBHOOK_SECRET=whsec_...
//   export SHOP_PHONE='024 412 4567' SHOP_DATA=orders.json PORT=8000
//   npm start
//
// The page of an order asks momo for its state. The webhook is what delivers: it arrives also when the customer has closed the
// page. A real shop keeps its orders in its database, with a UNIQUE key on webhook_id.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import express from "express";

const PRICE = "25.00";
const SORRY = "We cannot take an order at this moment. Please try again.";
const { MOMO_URL, MOMO_API_KEY, MOMO_WEBHOOK_SECRET, SHOP_PHONE, SHOP_DATA = "orders.json", PORT = "8000" } = process.env;

class Refused extends Error {}

function load() {
  try {
    return JSON.parse(readFileSync(SHOP_DATA, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return { orders: {}, seen: {} };
  }
}

const data = load();

function save() {
  writeFileSync(`${SHOP_DATA}.new`, JSON.stringify(data));
  renameSync(`${SHOP_DATA}.new`, SHOP_DATA);
}

// Call momo's API. A repeat with the same key makes no second transaction.
async function momo(path, body, key) {
  const headers = { Authorization: `Bearer ${MOMO_API_KEY}` };
  if (body) Object.assign(headers, { "Content-Type": "application/json", "Idempotency-Key": key });
  let read;
  try {
    const answer = await fetch(MOMO_URL + path, {
      method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10_000),
    });
    read = await answer.json();
  } catch (error) {
    console.warn("momo:", error);
    throw new Refused(SORRY);
  }
  if (read.success) return read.data;
  const wrong = read.error.details?.find((each) => each.field === "phone_number");
  if (wrong) throw new Refused(`This is not a mobile money number: ${wrong.message}.`);
  console.warn("momo:", read.error);
  throw new Refused(SORRY);
}

// Return whether momo signed these bytes within the last five minutes.
function verified(body, header) {
  const fields = header.split(",").map((field) => field.split("="));
  const sent = fields.find(([name]) => name === "t")?.[1] ?? "";
  if (!/^[0-9]{1,12}$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > 300) return false;
  const mac = createHmac("sha256", MOMO_WEBHOOK_SECRET).update(`${sent}.`).update(body).digest();
  return fields.some(([name, value]) => name === "v1" && /^[0-9a-f]{64}$/.test(value ?? "")
    && timingSafeEqual(mac, Buffer.from(value, "hex")));
}

const text = (value) => String(value ?? "").replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const page = (title, content) => `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>${content}</html>`;

const article = (phone = "", problem = "") => page("Rice", `<h1>One bag of rice, GHS ${PRICE}</h1>
${problem && `<p role="alert">${text(problem)}</p>`}
<form method="post" action="/orders"><label>Your mobile money number <input name="phone" value="${text(phone)}" inputmode="tel"
autocomplete="tel" required></label> <button>Buy</button></form>`);

// Return heading, content, and the seconds until the page asks again, for each state of an order.
function state(found, order) {
  const call = SHOP_PHONE ? ` Please call us: ${text(SHOP_PHONE)}.` : " Please call us.";
  const came = `We received GHS ${text(found.actual_amount)}`;
  if (found.reversed_at) return ["The payment was taken back", `<p>The network took your payment back. Do not pay again.${call}</p>`, 0];
  switch (found.status) {
    case "SUCCESS": return ["Paid", `<p>Thank you. ${came}.</p>`, 0];
    case "OVERPAID": return ["Paid", `<p>${came}, which is more than GHS ${text(found.expected_amount)}. We give the rest back.</p>`, 0];
    case "PARTIAL": return ["Something is missing", `<p>${came} of GHS ${text(found.expected_amount)}. Do not start again.${call}</p>`, 0];
    case "MANUAL_REVIEW": return ["We are checking your payment", "<p>Do not pay again. This page changes by itself.</p>", 10];
    case "EXPIRED":
    case "CANCELLED":
      return ["This order has ended", `<p>Do not pay it any more. If you have paid:${call}</p><p><a href="/">Order again</a></p>`, 0];
    case "PENDING": {
      const numbers = found.pay_to.map((number) =>
        `<li>${text(number.network.toUpperCase())} <strong>${text(number.phone_number)}</strong>, ${text(number.account_name)}</li>`);
      return [`Pay GHS ${text(found.expected_amount)}`, `<p>Send the money to one of our numbers:</p><ul>${numbers.join("")}</ul>
<p>Type this code as the reference: <strong>${text(found.svc_code)}</strong></p>
<p><a href="${text(order.checkout_url)}">Every step, for your network</a>. This page shows when the payment has arrived.</p>`, 5];
    }
    default: return ["One moment", "<p>We cannot see your payment now. Do not pay again. This page changes by itself.</p>", 10];
  }
}

const app = express();

app.get("/", (request, response) => response.send(article()));

app.post("/orders", express.urlencoded({ extended: false }), async (request, response) => {
  const number = randomUUID();
  const phone = request.body?.phone ?? "";
  try {
    const made = await momo("/v1/transactions/initialize", {
      amount: PRICE, phone_number: phone, description: "One bag of rice", client_reference: number,
      redirect_url: `http://${request.get("host")}/orders/${number}`,
    }, number);
    data.orders[number] = { reference: made.reference, checkout_url: made.checkout_url, delivered: false, reversed: false };
    save();
    response.redirect(`/orders/${number}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    response.status(422).send(article(phone, error.message));
  }
});

app.get("/orders/:number", async (request, response) => {
  const order = data.orders[request.params.number];
  if (!order) return response.status(404).send(page("No order", "<h1>There is no such order</h1>"));
  const found = await momo(`/v1/transactions/${order.reference}`).catch(() => ({ status: "UNKNOWN" }));
  const [heading, content, again] = state(found, order);
  if (again) response.set("Refresh", String(again));
  response.send(page("Your order", `<h1>${heading}</h1>${content}`));
});

// The raw bytes are verified before they are parsed.
app.post("/momo", express.raw({ type: () => true, limit: "64kb" }), (request, response) => {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (!verified(body, request.get("X-Svc-Signature") ?? "")) return response.sendStatus(400);
  const event = JSON.parse(body);
  if (!data.seen[event.webhook_id]) {
    data.seen[event.webhook_id] = true;
    const order = Object.values(data.orders).find((each) => each.reference === event.data.reference);
    if (order && (event.data.reversed_at || event.type === "transaction.reversed")) order.reversed = true;
    else if (order && !order.reversed && ["SUCCESS", "OVERPAID"].includes(event.data.status)) order.delivered = true;
    save();
  }
  response.sendStatus(204);
});

app.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}`));
