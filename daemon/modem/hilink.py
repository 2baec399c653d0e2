"""A HiLink stick through `huawei-lte-api`: one call at a time, in a thread of its own, with time limits on everything.

The library is synchronous and is imported with the first call. A stick that hangs keeps one thread, never a second one: no
call begins while another has not ended.
"""

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.modem.session.ussd import decode
from parsers.xml_text import clean_xml, decode_xml

if TYPE_CHECKING:
    from huawei_lte_api.Connection import Connection

PAGE: Final = 20
"""Messages in one list; firmwares differ in how many they allow, and all allow this."""
PAGES_MAX: Final = 100
ANSWER_OCTETS_MAX: Final = 4_000_000
"""Longest answer that is read."""
CALL_FACTOR: Final = 4
"""A call of several requests may take this many time limits of one request."""
PROBE_S: Final = 5.0
_CHUNK: Final = 65_536
_DECLARATION: Final = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
"""The declaration of the encoding: an answer is always handed on in UTF-8."""
_TYPED: Final = re.compile(r"(</?(?:Content|Phone)>)", re.IGNORECASE)
"""Around what a stranger writes in a message. Some firmwares do not escape it."""
_LOCAL_INBOX: Final = 1
_SIM_INBOX: Final = 5
BOXES: Final = {_LOCAL_INBOX: "local", _SIM_INBOX: "sim"}
"""The boxes with received messages, by the number of `BoxType`."""
_LOGIN: Final = frozenset({100003, 108001, 108002, 108003, 108006, 108007, 115002})
"""Error codes of a missing or wrong login."""
_SESSION: Final = frozenset({125001, 125002, 125003})
"""Error codes of a token or session that the stick has dropped."""
_NO_SIM: Final = 255
_PIN: Final = 260
_PUK: Final = 261
_IN_SERVICE: Final = 2
USSD_LOOK_S: Final = 1.0
"""Between two looks whether the network has answered."""
_USSD_WAITS: Final = 111019
_USSD_ENDS: Final = {111020: UssdEnd.TIMEOUT, 111022: UssdEnd.UNSUPPORTED}
"""Error codes of `ussd/get`."""
T = TypeVar("T")


class StickFault(StrEnum):
    """Faults of a stick."""

    AWAY = "away"
    """It does not answer, or not as a HiLink stick."""
    HUNG = "hung"
    """It has not ended an earlier call."""
    SESSION = "session"
    """It has dropped the session; a new one helps."""
    LOGIN = "login"
    """It wants a password, or another one."""
    REFUSED = "refused"
    """It answers with another error."""
    NOT_INSTALLED = "not_installed"
    """The Python package is missing."""


class HiLinkError(Exception):
    """A call to the stick failed; `fault` says how, and the text says it in words."""

    def __init__(self, fault: StickFault, why: str, code: int | None = None) -> None:
        super().__init__(why)
        self.fault = fault
        self.code = code


class StickMessage(Struct, frozen=True):
    """One received message as the stick lists it.

    Attributes:
        box: `local` or `sim`.
        index: Its number, by which it is deleted; None if it has none that can be read.
        sender: The name or number of the sender; may be empty.
        text: The whole text; may be empty.
        date: Time sent, without zone, as the stick writes it.
    """

    box: str
    index: int | None
    sender: str
    text: str
    date: str

    @property
    def key(self) -> object:
        """What tells it from the others on the stick."""
        return self if self.index is None else self.index


class StickIdentity(Struct, frozen=True):
    """Identity of the stick and its SIM; None for values that the stick does not report."""

    imei: str | None
    imsi: str | None
    iccid: str | None
    model: str | None


class StickHealth(Struct, frozen=True):
    """State of the stick's SIM and network; None for values that the stick does not report.

    Attributes:
        sim: `ready`, `no_sim`, `pin_needed` or `puk_needed`.
        in_service: The network serves the SIM.
        roaming: By another network than its own.
        signal_dbm: Signal strength.
        network: The network's name.
        used: Messages in each box, with the box's size.
    """

    sim: str = "ready"
    in_service: bool | None = None
    roaming: bool = False
    signal_dbm: int | None = None
    network: str | None = None
    used: tuple[tuple[str, int, int], ...] = ()


class Stick:
    """One stick. Its methods raise `HiLinkError`; they are not called at the same time."""

    def __init__(self, url: str, *, user: str, timeout_s: float, monotonic: Callable[[], float]) -> None:
        """Prepare; nothing is opened yet. `timeout_s` is the limit of one request."""
        self._monotonic = monotonic
        self._url = url
        self._user = user
        self._timeout_s = timeout_s
        self._connection: Connection | None = None
        self._busy = False
        """A thread works; it may be one that was given up."""
        self._turn = asyncio.Lock()

    async def connect(self, password: str | None) -> tuple[StickIdentity, StickHealth]:
        """Open a new session, log in if a password is given, and read the stick's identity and health."""

        def job() -> tuple[StickIdentity, StickHealth]:
            # Its log for debugging has passwords and what is typed.
            logging.getLogger("huawei_lte_api").setLevel(logging.WARNING)
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.requests_session.close()
            try:
                from huawei_lte_api.Connection import Connection  # noqa: PLC0415 -- see above
            except ImportError as error:
                raise HiLinkError(
                    StickFault.NOT_INSTALLED, f"the package for HiLink sticks is not installed ({error.name})"
                ) from error
            self._connection = Connection(
                self._url,
                username=self._user if password else None,
                password=password,
                timeout=self._timeout_s,
                requests_session=_session(self._timeout_s, self._monotonic),
            )
            return self._identity(), self._health()

        return await self._call(job)

    async def messages(self) -> list[StickMessage]:
        """Return the received messages, the oldest first."""
        return await self._call(self._list)

    async def delete(self, index: int) -> None:
        """Delete one message by its index."""

        def job() -> None:
            from huawei_lte_api.api.Sms import Sms  # noqa: PLC0415 -- see above

            self._posted(lambda connection: Sms(connection).delete_sms(index))

        await self._call(job)

    async def send(self, text: str, *, opens: bool) -> UssdMenu:
        """Send a USSD code or reply; return the network's answer. A stick does not tell whether it waits for another reply."""
        from huawei_lte_api.api.Ussd import Ussd  # noqa: PLC0415 -- see above

        def ask() -> UssdMenu:
            found = _fold(Ussd(self._opened()).get()).get("content")
            return UssdMenu(decode(str(found or ""), None))

        try:
            if opens:
                await self.cancel()  # one that was left open refuses the code
            await self._call(lambda: self._posted(lambda connection: Ussd(connection).send(text)))
            while True:
                await asyncio.sleep(USSD_LOOK_S)
                try:
                    return await self._call(ask)
                except HiLinkError as error:
                    if error.code != _USSD_WAITS:
                        raise
        except HiLinkError as error:
            lost = UssdEnd.LOST if error.code is None else UssdEnd.REFUSED
            return UssdMenu("", _USSD_ENDS.get(error.code or 0, lost))

    async def cancel(self) -> None:
        """End the USSD session, if there is one."""
        with contextlib.suppress(HiLinkError):
            await self._call(lambda: self._opened().get("ussd/release"))

    async def look(self) -> tuple[StickIdentity, StickHealth]:
        """Return the stick's identity and health, through the open session."""
        return await self._call(lambda: (self._identity(), self._health()))

    @property
    def limit_s(self) -> float:
        """The longest that a call takes."""
        return self._timeout_s * CALL_FACTOR

    async def _call(self, job: Callable[[], T]) -> T:
        """Run a job in a thread of its own; give it up after its time."""
        async with self._turn:
            return await self._run(job)

    async def _run(self, job: Callable[[], T]) -> T:
        if self._busy:
            raise HiLinkError(StickFault.HUNG, "the stick has not ended its last answer")
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, error: BaseException | None) -> None:
            self._busy = False
            if ended.done():
                return
            if error is not None:
                ended.set_exception(error)
            else:
                ended.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            result, error = None, None
            try:
                result = job()
            except HiLinkError as fault:
                error = fault
            except Exception as fault:  # noqa: BLE001 -- an unexpected answer can raise any exception in the library
                error = _fault_of(fault)
            with contextlib.suppress(RuntimeError):  # the daemon has stopped
                loop.call_soon_threadsafe(settle, result, error)

        # A daemon thread, so that a stick that hangs does not keep the program from ending.
        self._busy = True
        threading.Thread(target=work, name="hilink", daemon=True).start()
        try:
            async with asyncio.timeout(self.limit_s):
                return await ended
        except TimeoutError:
            why = f"the stick has not answered for {self.limit_s:.0f} s"
            raise HiLinkError(StickFault.HUNG, why) from None

    def _opened(self) -> "Connection":
        if self._connection is None:
            raise HiLinkError(StickFault.SESSION, "there is no session with the stick")
        return self._connection

    def _posted(self, post: Callable[["Connection"], T]) -> T:
        """Make a POST, and drop its token if the stick gave another one.

        The library sends a single token again in the next POST; a stick with a token for each POST refuses that.
        """
        connection = self._opened()
        before = list(connection.request_verification_tokens)
        answer = post(connection)
        now = connection.request_verification_tokens
        if len(before) == 1 and len(now) > 1 and now[0] == before[0]:
            del now[0]
        return answer

    def _identity(self) -> StickIdentity:
        from huawei_lte_api.api.Device import Device  # noqa: PLC0415 -- see above

        found = _fold(Device(self._opened()).information())
        return StickIdentity(
            _digits(found.get("imei")),
            _digits(found.get("imsi")),
            _digits(found.get("iccid")),
            _text(found.get("devicename")),
        )

    def _health(self) -> StickHealth:
        from huawei_lte_api.api.Device import Device  # noqa: PLC0415 -- see above
        from huawei_lte_api.api.Monitoring import Monitoring  # noqa: PLC0415 -- see above
        from huawei_lte_api.api.Net import Net  # noqa: PLC0415 -- see above
        from huawei_lte_api.api.Pin import Pin  # noqa: PLC0415 -- see above
        from huawei_lte_api.api.Sms import Sms  # noqa: PLC0415 -- see above

        connection = self._opened()
        status = _fold(_optional(Monitoring(connection).status))
        service = _number(status.get("servicestatus"))
        counts = _fold(_optional(Sms(connection).sms_count))
        sim = _number(_fold(_optional(Pin(connection).status)).get("simstate"))
        value = _fold(_optional(Device(connection).signal)).get("rssi")
        found = re.match(r"[^0-9-]*(-[0-9]{1,3})", _text(value) or "", re.ASCII)
        return StickHealth(
            "ready" if sim is None else _SIM_STATES.get(sim, "ready"),
            None if service is None else service == _IN_SERVICE,
            _number(status.get("roamingstatus")) == 1,
            int(found[1]) if found else None,
            _text(_fold(_optional(Net(connection).current_plmn)).get("fullname")),
            tuple(_boxes(counts)),
        )

    def _list(self) -> list[StickMessage]:
        found: dict[object, StickMessage] = {}
        for box, name in BOXES.items():
            try:
                for one in self._box(box, name):
                    found.setdefault(one.key, one)
            except Exception as error:
                # Some firmwares have no box of the SIM, and each refuses it with another code.
                if box == _LOCAL_INBOX or _fault_of(error).fault is not StickFault.REFUSED:
                    raise
        return sorted(found.values(), key=lambda one: (one.date, one.index or 0))

    def _box(self, box: int, name: str) -> Iterable[StickMessage]:
        """Return the messages of a box.

        A message that arrives meanwhile may move others to a page that was read already. So the pages are read again while
        the stick has more messages than were found, until nothing new is found.
        """
        found: dict[object, StickMessage] = {}
        while True:
            before = len(found)
            seen = set[object]()
            page = 0
            for page in range(1, PAGES_MAX + 1):
                answer = self._posted(partial(_page, box=box, page=page))
                read = [_message(name, one) for one in _listed(answer)]
                new = [one for one in read if one.key not in seen]
                seen.update(one.key for one in new)
                found.update((one.key, one) for one in new)
                # A firmware that does not know pages gives the first one again.
                if len(read) < PAGE or not new:
                    break
            pages = page
            if pages == 1 or len(found) == before:
                break
            from huawei_lte_api.api.Sms import Sms  # noqa: PLC0415 -- see above

            counts = _fold(_optional(Sms(self._opened()).sms_count))
            counted = next((used for box, used, _total in _boxes(counts) if box == name), None)
            if counted is not None and len(found) >= counted:
                break
        return found.values()


def answers_as_stick(url: str) -> bool:
    """Return whether a HiLink stick answers at an address: any answer of its API is enough."""
    import urllib.request  # noqa: PLC0415 -- only setup asks

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url.rstrip('/')}/api/webserver/SesTokInfo", timeout=PROBE_S) as answer:
            head = answer.read(2_000)
    except (OSError, ValueError):
        return False
    return re.search(rb"<(response|error)>", head) is not None


def _page(connection: "Connection", *, box: int, page: int) -> Any:
    from huawei_lte_api.api.Sms import Sms  # noqa: PLC0415 -- see above
    from huawei_lte_api.enums.sms import BoxTypeEnum  # noqa: PLC0415 -- see above

    return Sms(connection).get_sms_list(page, BoxTypeEnum(box), PAGE, ascending=True)


def _session(timeout_s: float, monotonic: Callable[[], float]) -> Any:
    """Return an HTTP session for a device of this machine: no proxy, and a limit on the length and time of an answer."""
    import requests  # noqa: PLC0415 -- see above

    class Limited(requests.Session):
        def request(self, *arguments: Any, **options: Any) -> requests.Response:
            deadline = monotonic() + timeout_s
            response = super().request(*arguments, **{**options, "stream": True})
            body = bytearray()
            for chunk in response.iter_content(_CHUNK):
                body += chunk
                if len(body) > ANSWER_OCTETS_MAX or monotonic() > deadline:
                    response.close()
                    raise OSError("the answer is too long or takes too long")
            response._content = readable(bytes(body))  # noqa: SLF001 -- the way of requests to hold a body that was read
            return response

    session = Limited()
    session.trust_env = False
    session.max_redirects = 3
    return session


def readable(body: bytes) -> bytes:
    """Return an answer of a stick so that one odd message does not make all of a list unreadable."""
    if body[:1] in (b"{", b"["):
        return body
    text = _DECLARATION.sub("", clean_xml(decode_xml(body)))
    pieces, end = list[str](), ""
    for place, piece in enumerate(_TYPED.split(text)):
        is_tag = place % 2 == 1
        if end and piece.lower() != end and not piece.startswith("<![CDATA["):
            pieces.append(piece.replace("<", "&lt;").replace(">", "&gt;"))
            continue
        pieces.append(piece)
        if is_tag:
            end = "" if end else f"</{piece[1:].lower()}" if piece[1] != "/" else ""
    return "".join(pieces).encode()


def _fault_of(error: Exception) -> HiLinkError:
    from huawei_lte_api.exceptions import ResponseErrorException  # noqa: PLC0415 -- see above

    # Only this class has the stick's own numbers; a parser's error has a `code` too.
    code = error.code if isinstance(error, ResponseErrorException) else None
    if code in _SESSION:
        return HiLinkError(StickFault.SESSION, f"the stick has dropped the session ({code})")
    if code in _LOGIN:
        return HiLinkError(StickFault.LOGIN, f"the stick refuses the login ({code})")
    if isinstance(code, int):
        return HiLinkError(StickFault.REFUSED, f"the stick answers with error {code}", code)
    if isinstance(error, OSError):
        return HiLinkError(StickFault.AWAY, "the stick does not answer")
    # The text of the error may hold a message.
    return HiLinkError(StickFault.AWAY, f"what answers there does not speak as a HiLink stick ({type(error).__name__})")


def _optional(ask: Callable[[], Any]) -> Any:
    """Return an answer, or nothing if this firmware refuses the question; a dropped session and silence are errors."""
    try:
        return ask()
    except Exception as error:
        if _fault_of(error).fault in {StickFault.REFUSED, StickFault.LOGIN}:
            return {}
        raise


def _fold(answer: Any) -> dict[str, Any]:
    """Return an answer with names in small letters, in which firmwares differ."""
    return {str(name).lower(): value for name, value in answer.items()} if isinstance(answer, dict) else {}


def _listed(answer: Any) -> Sequence[dict[str, Any]]:
    inside = answer.get("Messages") if isinstance(answer, dict) else None
    found = inside.get("Message") if isinstance(inside, dict) else None
    if isinstance(found, dict):
        return [found]
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _message(box: str, one: dict[str, Any]) -> StickMessage:
    return StickMessage(
        box,
        _number(one.get("Index")),
        _text(one.get("Phone")) or "",
        _text(one.get("Content")) or "",
        _text(one.get("Date")) or "",
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _digits(value: Any) -> str | None:
    text = (_text(value) or "").strip().rstrip("Ff")
    return text if re.fullmatch(r"[0-9]{10,22}", text, re.ASCII) else None


def _number(value: Any) -> int | None:
    text = _text(value) or ""
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text, re.ASCII) else None


def _boxes(counts: dict[str, Any]) -> Iterable[tuple[str, int, int]]:
    for name, used, total in (("local", "localinbox", "localmax"), ("sim", "simused", "simmax")):
        taken, size = _number(counts.get(used)), _number(counts.get(total))
        if taken is not None and size:
            yield name, taken, size


_SIM_STATES: Final = {_NO_SIM: "no_sim", _PIN: "pin_needed", _PUK: "puk_needed"}
