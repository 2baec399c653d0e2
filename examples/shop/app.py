"""A shop page that sells one thing for mobile money: Flask, plain HTML, one SQLite file.

    pip install flask
    export MOMO_URL=http://127.0.0.1:8420 MOMO_API_KEY=svc_live_sk_... MOMO_WEBHOOK_SECRET=whsec_...
    flask --app app run

The customer orders, sees the payment code and the number to pay, and the page shows when the payment arrived. Only momo's
webhook marks an order as paid. To receive reversals too, add the webhook's URL with
`momo endpoints add https://HOST/momo --event transaction.completed --event transaction.reversed`.
"""

import hashlib
import hmac
import json
import os
import re
import sqlite3
import time
import urllib.request
import uuid
from pathlib import Path

from flask import Flask, abort, redirect, render_template, request, url_for

PRICE = "25.00"
TOLERANCE_S = 300

app = Flask(__name__)
app.config["DATABASE"] = os.environ.get("DATABASE", "shop.db")


def db() -> sqlite3.Connection:
    """Open the shop's orders."""
    connection = sqlite3.connect(app.config["DATABASE"])
    connection.row_factory = sqlite3.Row
    connection.executescript(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8"))
    return connection


def momo(path: str, body: dict, idempotency_key: str) -> dict:
    """Call momo's API. A repeat with the same key, for example after a time-out, makes no second transaction."""
    call = urllib.request.Request(
        os.environ["MOMO_URL"] + path,
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['MOMO_API_KEY']}",
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        },
    )
    with urllib.request.urlopen(call, timeout=10) as response:
        return json.load(response)["data"]


@app.get("/")
def index():
    """Show the article."""
    return render_template("index.html", price=PRICE)


@app.post("/orders")
def order():
    """Make an order, and a transaction for it."""
    number = str(uuid.uuid4())
    transaction = momo(
        "/v1/transactions/initialize",
        {
            "amount": PRICE,
            "phone_number": request.form["phone"],
            "description": "One bag of rice",
            "client_reference": number,
        },
        idempotency_key=number,
    )
    with db() as shop:
        row = (number, transaction["reference"], transaction["svc_code"])
        shop.execute("INSERT INTO orders (id, reference, code) VALUES (?, ?, ?)", row)
    return redirect(url_for("show", number=number))


@app.get("/orders/<number>")
def show(number: str):
    """Show how to pay, or that the order is paid."""
    with db() as shop:
        found = shop.execute("SELECT * FROM orders WHERE id = ?", [number]).fetchone()
    if found is None:
        abort(404)
    return render_template("order.html", order=found, price=PRICE)


@app.post("/momo")
def webhook():
    """Mark an order as paid or as reversed. A webhook may arrive twice, and they may arrive in any order."""
    body = request.get_data()
    if not verified(body, request.headers.get("X-Svc-Signature", "")):
        abort(400)
    event = json.loads(body)
    with db() as shop:
        new = shop.execute(
            "INSERT INTO seen (webhook_id) VALUES (?) ON CONFLICT DO NOTHING", [event["webhook_id"]]
        ).rowcount
        transaction = event["data"]
        if new and transaction.get("reversed_at"):
            shop.execute(
                "UPDATE orders SET taken_back = ? WHERE reference = ?",
                [transaction["reversed_at"], transaction["reference"]],
            )
        elif new and event["type"] == "transaction.reversed":
            # Somebody took the approval of the payment back: the order waits again.
            shop.execute(
                "UPDATE orders SET paid = NULL, payer = NULL WHERE reference = ?",
                [transaction["reference"]],
            )
        elif new and transaction["status"] in ("SUCCESS", "OVERPAID"):
            shop.execute(
                "UPDATE orders SET paid = ?, payer = ? WHERE reference = ?",
                [
                    transaction["actual_amount"],
                    transaction["payer"]["name"],
                    transaction["reference"],
                ],
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
