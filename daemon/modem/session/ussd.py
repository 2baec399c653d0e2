"""USSD within an AT session: `AT+CUSD` (27.007 clause 7.15). The text of a command may be a PIN: no event or note has it."""

import re
from typing import Any, Final

from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.modem.codec import gsm7
from daemon.modem.session import at
from daemon.modem.session.at import CommandAnswer, ModemCommand

COMMAND_S: Final = 30.0
"""Most phones answer OK at once, some only with the network's answer. Messages wait that long."""
LINES_MAX: Final = 24
"""Lines of one answer; a text has at most 182 characters."""
REST_S: Final = 1.0
"""The longest pause within an answer of several lines, if its closing quote was lost."""
_TEXT_MAX: Final = 1000
_ANSWER: Final = re.compile(r'\+CUSD: *(\d)(?: *, *(?:"(.*?)"?|([^",]*)) *(?:, *(\d{1,3}))? *)?', re.ASCII | re.DOTALL)
_CLOSED: Final = re.compile(r'" *(?:, *\d{1,3} *)?$', re.ASCII)
_OTHER: Final = re.compile(r"[+^][A-Z0-9]{2,}(?: ERROR)?:", re.ASCII)
_ENDS: Final = {"0": UssdEnd.ANSWERED, "1": None, "4": UssdEnd.UNSUPPORTED, "5": UssdEnd.TIMEOUT}
"""`<m>`; 2 is ended by the network, and 3 by another program on the phone."""
_UCS2: Final = frozenset({8, 72})
_USUAL: Final = re.compile(r"[A-Za-z0-9 \n\r.,:;()*#/-]", re.ASCII)
_USUAL_PERCENT: Final = 80
_CANCEL: Final = ModemCommand("AT+CUSD=2")


class Ussd:
    """The state of USSD on one phone."""

    def __init__(self, events: list[Any]) -> None:
        """Start without a session; `events` is the AT session's list, to which each `UssdMenu` is appended."""
        self.ask: ModemCommand | None = None
        """The command under way, if it belongs to USSD."""
        self._events = events
        self._due: list[ModemCommand] = []
        self._opening: str | None = None
        """The code that opens a session, until a form of its command was accepted."""
        self._is_open = False
        self._packed = False
        """The phone takes texts as packed septets in hex, as Huawei's sticks do."""
        self._lines: list[str] = []
        """The beginning of an answer of several lines."""
        self._until = 0.0

    def send(self, text: str, *, opens: bool) -> None:
        """Queue a code or a reply."""
        self._is_open = True
        self._opening = text if opens else None
        self._due = [self._command(text)]

    def cancel(self) -> None:
        """Queue the end of the session."""
        self._is_open, self._opening, self._due = False, None, [_CANCEL]

    def next(self) -> ModemCommand | None:
        """Return the next command; None if there is none."""
        if self._due:
            self.ask = self._due.pop()
            return self.ask
        return None

    def done(self, answer: CommandAnswer) -> None:
        """Process the end of the answer to `ask`; the network's own answer may come before it or later."""
        self.ask = None
        refused, opening, self._opening = answer.error, self._opening, None
        if refused is None or not self._is_open:
            return
        if opening is not None and not self._packed and at.error_class(refused) is at.ErrorClass.FINAL:
            self._packed = True
            self._due = [self._command(opening)]
        else:
            self._packed &= opening is None
            self._say("", UssdEnd.REFUSED)

    def lost(self) -> None:
        """Handle a missing answer, or a phone that has restarted."""
        self.ask, self._due, self._lines = None, [], []
        if self._is_open:
            self._say("", UssdEnd.LOST)

    def deadline(self) -> float:
        """Return when a broken answer is taken as it is."""
        return self._until if self._lines else float("inf")

    def tick(self, now: float) -> None:
        """Take a broken answer as it is once its rest is late."""
        if self._lines and now >= self._until:
            self._read()

    def line(self, line: str, now: float) -> bool:
        """Process a line; False if it is not part of an answer of the network."""
        if line.startswith("+CUSD:"):
            self._lines = [line]
        elif not self._lines:
            return False
        elif _OTHER.match(line) is not None:
            self._read()
            return False
        else:
            self._lines.append(line)
        self._until = now + REST_S
        said = "\n".join(self._lines)
        if '"' not in said or (said.count('"') > 1 and _CLOSED.search(said)) or len(self._lines) == LINES_MAX:
            self._read()
        return True

    def _read(self) -> None:
        said, self._lines = "\n".join(self._lines), []
        if (found := _ANSWER.fullmatch(said)) is not None:
            coding = None if found[4] is None else int(found[4])
            self._say(decode(found[2] or found[3] or "", coding), _ENDS.get(found[1], UssdEnd.NETWORK))

    def _say(self, text: str, end: UssdEnd | None) -> None:
        self._is_open = end is None
        self._events.append(UssdMenu(text, end))

    def _command(self, text: str) -> ModemCommand:
        septets = gsm7.encode(text)
        if self._packed and septets is not None:
            # TS 23.038 clause 6.1.2.3.1: seven spare bits are filled with CR, or they would read as `@`.
            text = gsm7.pack(septets + b"\r" * (len(septets) % 8 == 7)).hex().upper()
        return ModemCommand(f'AT+CUSD=1,"{text}",15', timeout_s=COMMAND_S)


def decode(text: str, coding: int | None) -> str:
    """Return the words of an answer: plain, or in hex UCS2, packed septets or octets.

    The content decides, because many phones give 15 as the data coding scheme of anything (TS 23.038 clause 5).
    """
    found = text
    if at.is_hex(text):
        octets = bytes.fromhex(text)
        wide = "" if len(octets) % 2 else octets.decode("utf-16-be", "replace")
        septets = gsm7.unpack(octets, len(octets) * 8 // 7)
        packed = gsm7.decode(septets)
        # A number in digits is hex too.
        forms = (wide,) if text.isdecimal() else (wide, packed, octets.decode("latin-1"))
        best = max(forms, key=_usual)
        if coding in _UCS2 and wide:
            found = wide
        elif _usual(best) >= _USUAL_PERCENT:
            found = best.removesuffix("@") if best is packed and len(octets) % 7 == 0 else best
    found = found.replace("\r\n", "\n").replace("\r", "\n")
    shown = "".join(each for each in found if each == "\n" or (each.isprintable() and each != "\ufffd"))
    return shown.strip()[:_TEXT_MAX]


def _usual(text: str) -> int:
    """Return how many of a hundred characters are those of a menu."""
    return 100 * len(_USUAL.findall(text)) // max(1, len(text))
