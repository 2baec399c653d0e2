"""Receive momo's webhooks with Python's standard library: verify, store once, answer quickly.

    MOMO_WEBHOOK_SECRET=whsec_... python3 receiver.py 8000

Put it behind a TLS proxy (caddy, nginx): momo sends to https addresses only.
"""

import hashlib
import hmac
import json
import os
import re
import sqlite3
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["MOMO_WEBHOOK_SECRET"]
DATABASE = os.environ.get("DATABASE", "payments.db")
BODY_BYTES_MAX = 64 * 1024
TOLERANCE_S = 300


def verified(body: bytes, header: str) -> bool:
    """Return whether momo signed these bytes within the last five minutes."""
    fields = [field.partition("=") for field in header.split(",")]
    sent = next((value for name, _, value in fields if name == "t"), "")
    if not re.fullmatch("[0-9]{1,12}", sent) or abs(time.time() - int(sent)) > TOLERANCE_S:
        return False
    mac = hmac.digest(SECRET.encode(), sent.encode() + b"." + body, hashlib.sha256).hex().encode()
    given = [value.encode() for name, _, value in fields if name == "v1"]
    return any(hmac.compare_digest(value, mac) for value in given)


def store(event: dict) -> bool:
    """Store an event; return False if it is stored already. Process stored events later, elsewhere."""
    with sqlite3.connect(DATABASE) as db:
        db.execute("CREATE TABLE IF NOT EXISTS events (webhook_id TEXT PRIMARY KEY, body TEXT)")
        row = (event["webhook_id"], json.dumps(event))
        return db.execute("INSERT INTO events VALUES (?, ?) ON CONFLICT DO NOTHING", row).rowcount == 1


class Receiver(BaseHTTPRequestHandler):
    """One POST is one webhook."""

    def do_POST(self) -> None:
        """Receive a webhook: 204 when it is stored (now or earlier), 400 when momo did not sign it."""
        length = min(int(self.headers.get("Content-Length", "0")), BODY_BYTES_MAX)
        body = self.rfile.read(length)
        signatures = (self.headers.get("X-Svc-Signature", ""), self.headers.get("X-Svc-Signature-Previous", ""))
        good = any(verified(body, header) for header in signatures)
        if good:
            event = json.loads(body)
            if store(event):
                print(event["type"], event["data"]["reference"], event["data"]["status"], flush=True)
        self.send_response(204 if good else 400)
        self.end_headers()


if __name__ == "__main__":
    address = ("127.0.0.1", int(sys.argv[1]))
    server = ThreadingHTTPServer(address, Receiver)
    print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
