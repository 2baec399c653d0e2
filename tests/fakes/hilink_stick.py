"""A HiLink stick: an HTTP server on loopback with the XML API that `huawei-lte-api` documents, and its misbehaviour.

`Firmware` has the differences between firmwares: the token (one that rotates with each POST, one in the page, none), the
session cookie, names in other letters, calls that are refused, a login. `Faults` are switched while it runs. The messages
survive `cut`, which is a stick that loses power: the server ends, open connections break, sessions are forgotten.
"""

import base64
import hashlib
import random
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from tests.phones.faults import Faults as PhoneFaults
from tests.phones.ussd import Ussd

NO_SUPPORT: Final = 100002
NO_RIGHTS: Final = 100003
CSRF: Final = 125002
WRONG_TOKEN: Final = 125003
LOCAL: Final = 1
SIM: Final = 5


@dataclass(frozen=True, slots=True)
class Firmware:
    """Differences between firmwares.

    Attributes:
        token: `rotating` (SesTokInfo, a new one in the header of each answer to a POST), `page` (in the HTML), `none`.
        refused: Calls that it does not support.
        sim_box: It lists the messages on the SIM.
        lower: Some names begin with a small letter.
        paged: It knows pages; otherwise each page is the first one.
        password: Of its page; empty for none.
    """

    name: str
    token: str = "rotating"
    refused: frozenset[str] = frozenset()
    sim_box: bool = True
    lower: bool = False
    paged: bool = True
    password: str = ""


# Written from the library's documentation and its handling of the models; no recording of a device.
E3372 = Firmware("E3372h-320", refused=frozenset({"webserver/token"}))
E8372 = Firmware("E8372h-153", token="page", refused=frozenset({"webserver/token"}), sim_box=False)
E303 = Firmware(
    "E303C", token="none", lower=True, paged=False,
    refused=frozenset({"webserver/token", "webserver/SesTokInfo", "device/signal", "net/current-plmn"}),
)  # fmt: skip
B_WITH_PASSWORD = Firmware("E5573", refused=frozenset({"webserver/token"}), password="stick-pass-1")
FIRMWARES: Final = (E3372, E8372, E303, B_WITH_PASSWORD)


@dataclass(slots=True)
class Held:
    """One message on the stick."""

    index: int
    sender: str
    text: str
    date: str
    box: int = LOCAL
    raw: bytes | None = None
    """Written as it is in the place of the text."""


@dataclass(slots=True)
class Faults:
    """Faults of the stick; switched while it runs.

    Attributes:
        expire_every: Each so many requests the session is forgotten; 0 for never.
        code_when_expired: 125002 or 125003.
        shuffle: Each list comes in another order, the same on all its pages. A message that arrives meanwhile comes
            anywhere in it, and moves others to another page.
        repeat: Each list has some messages twice.
        hang: Requests get no answer until it is cleared.
        drip: Answers come one octet a second.
        keep_deleted: Deletions are confirmed and not done.
        hide: Messages that are counted and in no list.
        refuse_deletion: Deletions are answered with an error.
    """

    expire_every: int = 0
    code_when_expired: int = CSRF
    shuffle: bool = False
    repeat: bool = False
    hang: bool = False
    drip: bool = False
    keep_deleted: bool = False
    refuse_deletion: bool = False
    hide: int = 0


@dataclass(slots=True)
class FakeStick:
    """One stick. A context manager; `url` is its address."""

    firmware: Firmware = E3372
    iccid: str = "8923301000000000017"
    imsi: str = "620010000000017"
    imei: str = "860000000000017"
    seed: int = 1
    sim_state: int = 257
    faults: Faults = field(default_factory=Faults)
    messages: list[Held] = field(default_factory=list)
    deleted: list[Held] = field(default_factory=list)
    wrong_logins: int = 0
    requests: int = 0
    port: int = 0
    ussd: Ussd = field(default_factory=lambda: Ussd(PhoneFaults()))
    _shown: list[str] = field(default_factory=list)
    _looks: int = 0
    _next: int = 40_000
    _sessions: dict[str, set[str]] = field(default_factory=dict)
    _logged_in: set[str] = field(default_factory=set)
    _server: ThreadingHTTPServer | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _never: threading.Event = field(default_factory=threading.Event)
    _rng: random.Random = field(default_factory=random.Random)
    _order: dict[int, float] = field(default_factory=dict)
    """The place of each message in the present list, by index."""

    def __post_init__(self) -> None:
        self._rng.seed(self.seed)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.plug()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.faults.hang = self.faults.drip = False
        self.cut()

    def receive(self, sender: str, text: str, at: datetime, box: int = LOCAL) -> Held:
        """Let an SMS arrive; `at` is written without zone, in UTC."""
        with self._lock:
            self._next += 1
            date = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
            held = Held(self._next, sender, text, date, box)
            self.messages.append(held)
            return held

    def plug(self) -> None:
        """Give the stick power."""
        stick = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30
            wbufsize = 65_536

            def do_GET(self) -> None:
                stick.answer(self, b"")

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                stick.answer(self, self.rfile.read(length))

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        server = _Server(("127.0.0.1", self.port), Handler)
        self.port = server.server_address[1]
        self._server = server
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def cut(self) -> None:
        """Take the power: open connections break, sessions are forgotten, messages stay."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        server.server_close()
        assert isinstance(server, _Server)
        server.break_all()
        with self._lock:
            self._sessions.clear()
            self._logged_in.clear()

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer one request."""
        while self.faults.hang:
            self._never.wait(0.02)
        with self._lock:
            self.requests += 1
            headers, content = self._answer(request, body)
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        if not self.faults.drip:
            request.wfile.write(content)
            return
        for octet in content:
            request.wfile.write(bytes((octet,)))
            request.wfile.flush()
            self._never.wait(0.1)

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[Mapping[str, str], bytes]:
        path = request.path.partition("?")[0]
        cookie = _cookie(request.headers.get("Cookie") or "")
        if path == "/":
            return self._page()
        call = path.removeprefix("/api/")
        headers = {"Content-Type": "text/xml"}
        every = self.faults.expire_every
        if every and self.requests % every == 0:
            self._sessions.clear()
            self._logged_in.clear()
        if call in self.firmware.refused:
            return headers, _error(NO_SUPPORT)
        if call == "webserver/SesTokInfo":
            session, token = self._new_session()
            headers["Set-Cookie"] = f"SessionID={session}; path=/"
            return headers, _response({"SesInfo": f"SessionID={session}", "TokInfo": token})
        if self.firmware.token != "none":
            if not self._has_session(request, cookie):
                return headers, _error(self.faults.code_when_expired)
            if request.command == "POST" and self.firmware.token == "rotating":
                fresh = self._token()
                self._sessions[cookie] = {fresh}
                headers["__RequestVerificationToken"] = fresh
        if call == "user/login":
            return headers, self._login(cookie, body, request)
        return headers, self._call(call, body, cookie)

    def _has_session(self, request: BaseHTTPRequestHandler, cookie: str) -> bool:
        """Return whether a request is of an open session, and a POST has its token."""
        tokens = self._sessions.get(cookie)
        given = request.headers.get("__RequestVerificationToken") or ""
        return tokens is not None and (request.command == "GET" or given in tokens)

    def _page(self) -> tuple[Mapping[str, str], bytes]:
        headers = {"Content-Type": "text/html"}
        if self.firmware.token != "page":
            return headers, b"<html><head></head><body>stick</body></html>"
        session, token = self._new_session()
        headers["Set-Cookie"] = f"SessionID={session}; path=/"
        meta = f'<meta name="csrf_token" content="{token}"/>'
        return headers, f"<html><head>{meta}</head></html>".encode()

    def _new_session(self) -> tuple[str, str]:
        session, token = self._token(), self._token()
        self._sessions[session] = {token}
        return session, token

    def _token(self) -> str:
        return f"{self._rng.getrandbits(128):032x}"

    def _login(self, cookie: str, body: bytes, request: BaseHTTPRequestHandler) -> bytes:
        given = _fields(body)
        token = request.headers.get("__RequestVerificationToken") or ""
        inner = base64.b64encode(hashlib.sha256(self.firmware.password.encode()).hexdigest().encode())
        joined = f"admin{inner.decode()}{token}".encode()
        wanted = base64.b64encode(hashlib.sha256(joined).hexdigest().encode()).decode()
        if given.get("Username") != "admin" or given.get("Password") != wanted:
            self.wrong_logins += 1
            return _error(108006)
        self._logged_in.add(cookie)
        return b"<response>OK</response>"

    def _call(self, call: str, body: bytes, cookie: str) -> bytes:
        inside = cookie in self._logged_in or not self.firmware.password
        if call == "user/state-login":
            return _response({"State": "0" if inside else "-1", "password_type": "4"})
        if not inside:
            return _error(NO_RIGHTS)
        if call == "sms/sms-list":
            return self._list(_fields(body))
        if call == "sms/delete-sms":
            return self._delete(int(_fields(body)["Index"]))
        if call.startswith("ussd/"):
            return self._ussd(call, body)
        found = self._facts().get(call)
        return _error(NO_SUPPORT) if found is None else _response(found)

    def _ussd(self, call: str, body: bytes) -> bytes:
        if call == "ussd/send":
            self._shown = []
            self.ussd.perform("=", f'1,"{_fields(body)["content"]}",15', self._shown)
            self._looks = 0
        elif call == "ussd/release":
            self.ussd.perform("=", "2", [])
        else:
            self._looks += 1
            if not self._shown or self._looks < 2:
                return _error(111019)
            kind, _, text = self._shown[0].removeprefix("+CUSD: ").partition(',"')
            code = {"4": 111022, "5": 111020}.get(kind)
            return _response({"content": text.rpartition('"')[0]}) if code is None else _error(code)
        return b"<response>OK</response>"

    def _facts(self) -> dict[str, dict[str, object]]:
        local = sum(one.box == LOCAL for one in self.messages) + self.faults.hide
        sim = sum(one.box == SIM for one in self.messages)
        names = {"DeviceName": self.firmware.name, "Imei": self.imei, "Imsi": self.imsi}
        lower = self.firmware.lower
        return {
            "sms/sms-count": {"LocalInbox": local, "LocalMax": 500, "SimUsed": sim, "SimMax": 40},
            "device/information": {
                **{k[0].lower() + k[1:] if lower else k: v for k, v in names.items()},
                "Iccid": f"{self.iccid}F",
            },
            "monitoring/status": {"ServiceStatus": 2, "RoamingStatus": 0, "SignalIcon": 4},
            "device/signal": {"rssi": "-71dBm"},
            "net/current-plmn": {"FullName": "MTN", "Numeric": "62001"},
            "pin/status": {"SimState": self.sim_state},
        }

    def _list(self, asked: Mapping[str, str]) -> bytes:
        box, page, count = (int(asked[name]) for name in ("BoxType", "PageIndex", "ReadCount"))
        if box == SIM and not self.firmware.sim_box:
            return _error(113018)
        found = [one for one in self.messages if one.box == box]
        found.sort(key=lambda one: (one.date, one.index), reverse=asked.get("Ascending") != "1")
        if self.faults.shuffle:
            if page == 1:
                self._order.clear()
            found.sort(key=lambda one: self._order.setdefault(one.index, self._rng.random()))
        start = (page - 1) * count if self.firmware.paged else 0
        shown = found[start : start + count]
        if self.faults.repeat and shown:
            shown = [*shown, shown[0]][:count]
        rows = b"".join(
            f"<Message><Smstat>0</Smstat><Index>{one.index}</Index><Phone>{escape(one.sender)}</Phone>"
            "<Content>".encode()
            + (escape(one.text).encode() if one.raw is None else one.raw)
            + f"</Content><Date>{one.date}</Date><Sca></Sca><SaveType>4</SaveType>"
            "<Priority>0</Priority><SmsType>1</SmsType></Message>".encode()
            for one in shown
        )
        head = f"<response><Count>{len(shown)}</Count><Messages>".encode()
        return head + rows + b"</Messages></response>"

    def _delete(self, index: int) -> bytes:
        if self.faults.refuse_deletion:
            return _error(113114)
        if not self.faults.keep_deleted:
            self.deleted += [one for one in self.messages if one.index == index]
            self.messages = [one for one in self.messages if one.index != index]
        return b"<response>OK</response>"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open = set[socket.socket]()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or a cut, is no error of the fake."""

    def break_all(self) -> None:
        for one in list(self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


@contextmanager
def hanging(stick: FakeStick) -> Iterator[None]:
    """Let the stick give no answers inside the block."""
    stick.faults.hang = True
    try:
        yield
    finally:
        stick.faults.hang = False


def _cookie(header: str) -> str:
    found = [one.strip().partition("=") for one in header.split(";")]
    return next((value for name, _, value in found if name == "SessionID"), "")


def _fields(body: bytes) -> dict[str, str]:
    root = ET.fromstring(body or b"<request/>")
    return {one.tag: one.text or "" for one in root}


def _response(values: Mapping[str, object]) -> bytes:
    inside = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in values.items())
    return f'<?xml version="1.0" encoding="UTF-8"?><response>{inside}</response>'.encode()


def _error(code: int) -> bytes:
    return f"<error><code>{code}</code><message></message></error>".encode()
