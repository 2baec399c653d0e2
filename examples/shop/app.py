"""A shop page that sells one thing for mobile money: Flask, plain HTML, one SQLite file.

    pip install flask
    export MOMO_URL=http://127.0.0.1:8420 MOMO_API_KEY=svc_live_sk_... MOMO_WEBHOOK_SECRET=whsec_...
    flask --app app run

The customer orders, sees the code to type and where to pay, and the page says when the money came. The order is paid when
momo's webhook says so; the page itself decides nothing. To hear of money that the network takes back, add its address with
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
    """Call momo's API. The same key may be sent again after a time-out: it makes one request, not two."""
    call = urllib.request.Request(
        os.environ["MOMO_URL"] + path,
        data=json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['MOMO_API_KEY']}",
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        },
    )
    with urllib.request.urlopen(call, timeout=10) as answer:
        return json.load(answer)["data"]


@app.get("/")
def index():
    """Show what there is to buy."""
    return render_template("index.html", price=PRICE)


@app.post("/orders")
def order():
    """Make an order, and a payment request for it."""
    number = str(uuid.uuid4())
    asked = momo(
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
        row = (number, asked["reference"], asked["svc_code"])
        shop.execute("INSERT INTO orders (id, reference, code) VALUES (?, ?, ?)", row)
    return redirect(url_for("show", number=number))


@app.get("/orders/<number>")
def show(number: str):
    """Show how to pay, or that it is paid."""
    with db() as shop:
        found = shop.execute("SELECT * FROM orders WHERE id = ?", [number]).fetchone()
    if found is None:
        abort(404)
    return render_template("order.html", order=found, price=PRICE)


@app.post("/momo")
def webhook():
    """Take momo's word that an order is paid, or that its money was taken back: each may be said twice, and in any order."""
    body = request.get_data()
    if not verified(body, request.headers.get("X-Svc-Signature", "")):
        abort(400)
    event = json.loads(body)
    with db() as shop:
        new = shop.execute(
            "INSERT INTO seen (webhook_id) VALUES (?) ON CONFLICT DO NOTHING", [event["webhook_id"]]
        ).rowcount
        told = event["data"]
        if new and told.get("reversed_at"):
            shop.execute(
                "UPDATE orders SET taken_back = ? WHERE reference = ?",
                [told["reversed_at"], told["reference"]],
            )
        elif new and told["status"] in ("SUCCESS", "OVERPAID"):
            shop.execute(
                "UPDATE orders SET paid = ?, payer = ? WHERE reference = ?",
                [told["actual_amount"], told["payer"]["name"], told["reference"]],
            )
    return "", 204


def verified(body: bytes, header: str) -> bool:
    """Say whether momo signed these bytes within the last five minutes."""
    fields = [field.partition("=") for field in header.split(",")]
    sent = next((value for name, _, value in fields if name == "t"), "")
    if not re.fullmatch("[0-9]{1,12}", sent) or abs(time.time() - int(sent)) > TOLERANCE_S:
        return False
    secret = os.environ["MOMO_WEBHOOK_SECRET"].encode()
    mac = hmac.digest(secret, sent.encode() + b"." + body, hashlib.sha256).hex().encode()
    given = [value.encode() for name, _, value in fields if name == "v1"]
    return any(hmac.compare_digest(value, mac) for value in given)
