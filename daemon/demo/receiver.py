"""An example webhook receiver of a shop: HTTPS, verify the signature, answer 200."""

import datetime
import http.server
import json
import queue
import ssl
import threading
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from msgspec import Struct

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.signature_check import check


class Received(Struct, frozen=True):
    """One received webhook."""

    event: str
    webhook_id: str
    verified: bool
    data: dict[str, Any]
    headers: dict[str, str]


class Receiver:
    """An HTTPS server on loopback in a thread, with a self-signed certificate; the daemon must trust `ca_file`."""

    def __init__(self, folder: Path, now: datetime.datetime) -> None:
        self.secret = ""
        self.received: queue.Queue[Received] = queue.Queue()
        self.ca_file = str(folder / "receiver.pem")
        key_file = folder / "receiver.key"
        _make_certificate(Path(self.ca_file), key_file, now)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_file, key_file)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # the name is required by http.server
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                status = receiver._take(dict(self.headers), body)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Suppress the log: the demo prints its own output."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _take(self, raw_headers: dict[str, str], body: bytes) -> int:
        headers = {name.lower(): value for name, value in raw_headers.items()}
        at = headers.get("webhook-timestamp", "0")
        now_us = int(at) * SECOND_US if at.isdigit() else 0
        verified = check(headers, body, [self.secret], now_us).valid
        envelope = json.loads(body)
        self.received.put(
            Received(envelope["type"], envelope["webhook_id"], verified, envelope["data"], headers)
        )
        return 200 if verified else 401


def _make_certificate(certificate_file: Path, key_file: Path, now: datetime.datetime) -> None:
    from cryptography import x509  # noqa: PLC0415 -- only the demo needs it
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 -- the same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 -- the same
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 -- the same

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "momo demo receiver")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_file.touch(mode=0o600)
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
