"""A web shop that sells one thing for mobile money: Flask, plain HTML, one SQLite file.

    pip install flask
    export MOMO_URL=http://127.0.0.1:8420 MOMO_API_KEY=svc_live_sk_... MOMO_WEBHOOK_SECRET=whsec_...
    export SHOP_PHONE=024 412 4567            # whom a customer calls
    flask --app app run

The page of an order asks momo for its state, and shows what the customer does next in each. The webhook is what delivers: it
arrives also when the customer has closed the page. `momo endpoints add https://HOST/momo --event transaction.completed
--event transaction.reversed` adds its address.
"""

import hashlib
import hmac
import json
import os
import re
import sqlite3
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from flask import Flask, abort, redirect, render_template, request, url_for

PRICE = "25.00"
TOLERANCE_S = 300

app = Flask(__name__)
app.config["DATABASE"] = os.environ.get("DATABASE", "shop.db")


class Refused(Exception):
    """The API refused a call; the text is for the customer."""


def db() -> sqlite3.Connection:
    """Open the shop's orders."""
    connection = sqlite3.connect(app.config["DATABASE"])
    connection.row_factory = sqlite3.Row
    connection.executescript(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
    return connection


def momo(path: str, body: dict | None = None, idempotency_key: str = "") -> dict:
    """Call momo's API. A repeat with the same key, for example after a time-out, makes no second transaction."""
    headers = {"Authorization": f"Bearer {os.environ['MOMO_API_KEY']}"}
    if body is not None:
        headers |= {"Content-Type": "application/json", "Idempotency-Key": idempotency_key}
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(os.environ["MOMO_URL"] + path, data, headers)
    try:
        with urllib.request.urlopen(call, timeout=10) as response:
            return json.load(response)["data"]
    except urllib.error.HTTPError as error:
        refusal = json.load(error)["error"]
        wrong = [each for each in refusal.get("details", []) if each["field"] == "phone_number"]
        if wrong:
            raise Refused(f"This is not a mobile money number: {wrong[0]['message']}.") from error
        app.logger.warning("momo: %s", refusal)
        raise Refused("We cannot take an order at this moment. Please try again.") from error
    except OSError as error:
        app.logger.warning("momo: %s", error)
        raise Refused("We cannot take an order at this moment. Please try again.") from error


@app.get("/")
def index():
    """Show the article."""
    return render_template("index.html", price=PRICE, phone="", problem="")


@app.post("/orders")
def order():
    """Make an order, and a transaction for it."""
    number, phone = str(uuid.uuid4()), request.form.get("phone", "")
    body = {
        "amount": PRICE,
        "phone_number": phone,
        "description": "One bag of rice",
        "client_reference": number,
        "redirect_url": url_for("show", number=number, _external=True),
    }
    try:
        transaction = momo("/v1/transactions/initialize", body, idempotency_key=number)
    except Refused as error:
        return render_template("index.html", price=PRICE, phone=phone, problem=error), 422
    with db() as shop:
        row = (number, transaction["reference"], transaction["checkout_url"])
        shop.execute("INSERT INTO orders (id, reference, checkout_url) VALUES (?, ?, ?)", row)
    return redirect(url_for("show", number=number))


@app.get("/orders/<number>")
def show(number: str):
    """Show the state of the order, and what the customer does next."""
    with db() as shop:
        found = shop.execute("SELECT * FROM orders WHERE id = ?", [number]).fetchone()
    if found is None:
        abort(404)
    try:
        transaction = momo(f"/v1/transactions/{found['reference']}")
    except Refused:
        transaction = {"status": "UNKNOWN"}
    return render_template("order.html", order=found, found=transaction, call=os.environ.get("SHOP_PHONE", ""))


@app.post("/momo")
def webhook():
    """Deliver a paid order once. A webhook may arrive twice, and they may arrive in any order."""
    body = request.get_data()
    if not verified(body, request.headers.get("X-Svc-Signature", "")):
        abort(400)
    event = json.loads(body)
    transaction = event["data"]
    with db() as shop:
        new = shop.execute(
            "INSERT INTO seen (webhook_id) VALUES (?) ON CONFLICT DO NOTHING", [event["webhook_id"]]
        ).rowcount
        if new and (transaction.get("reversed_at") or event["type"] == "transaction.reversed"):
            shop.execute("UPDATE orders SET reversed = 1 WHERE reference = ?", [transaction["reference"]])
        elif new and transaction["status"] in ("SUCCESS", "OVERPAID"):
            shop.execute(
                "UPDATE orders SET delivered = 1 WHERE reference = ? AND reversed = 0", [transaction["reference"]]
            )
    return "", 204


def verified(body: bytes, header: str) -> bool:
    """Return whether momo signed these bytes within the last five minutes."""
    fields = [field.partition("=") for field in header.split(",")]
    sent = next((value for name, _, value in fields if name == "t"), "")
    if not re.fullmatch("[0-9]{1,12}", sent) or abs(time.time() - int(sent)) > TOLERANCE_S:
        return False
    secret = os.environ["MOMO_WEBHOOK_SECRET"].encode()
    mac = hmac.digest(secret, sent.encode() + b"." + body, hashlib.sha256).hex().encode()
    given = [value.encode() for name, _, value in fields if name == "v1"]
    return any(hmac.compare_digest(value, mac) for value in given)
