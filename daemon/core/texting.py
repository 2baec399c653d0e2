"""What payers are told by SMS: the words, which line sends them, how often that is tried (decisions.md section 2)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from typing import Final

from daemon.core.limits import HOUR_US, MINUTE_US, SECOND_US
from daemon.core.verdict import Verdict
from parsers.money import render


class TextKind(StrEnum):
    """The two SMS that one request may cause, each at most once; what the owner is told; and a modem's test."""

    CODE = "code"
    RECEIPT = "receipt"
    NOTICE = "notice"
    TEST = "test"


CODE_TEXT: Final = (
    "Pay {amount} to {number} ({account}). {steps}, send it with the reference {code}. "
    "Never share your PIN."
)
RECEIPT_TEXT: Final = "We have received {amount} for {code}{result}. Thank you. {account}, {number}"
STEPS: Final = {"mtn": "Dial *170#", "telecel": "Dial *110#", "at": "Dial *110#"}
"""How to begin paying from each network. Menus change, so they are settings too."""
TEXT_CHARACTERS_MAX: Final = 480
"""Of a template: three SMS, before its fields are filled in."""

FIELDS: Final[Mapping[TextKind, frozenset[str]]] = {
    TextKind.CODE: frozenset({"amount", "number", "account", "code", "steps"}),
    TextKind.RECEIPT: frozenset({"amount", "number", "account", "code", "result"}),
}
_NEEDED: Final[Mapping[TextKind, tuple[str, ...]]] = {
    TextKind.CODE: ("amount", "number", "code"),
    TextKind.RECEIPT: ("amount", "code"),
}

RETRY_US: Final = tuple(seconds * SECOND_US for seconds in (10, 30, 60, 120, 300))
"""After so many tries without luck; one more fails the SMS."""
CODE_FOR_US: Final = 30 * MINUTE_US
"""A code that comes later than this finds nobody waiting for it."""
RECEIPT_FOR_US: Final = 2 * HOUR_US
TEST_FOR_US: Final = 2 * MINUTE_US
"""The person who tests a modem looks on; an SMS that went out later would tell nobody anything."""
REPORT_FOR_US: Final = 72 * HOUR_US
"""Status reports name a number from 0 to 255: an older SMS is not meant."""

# The national plan of Ghana (NCA). A number that was ported keeps its prefix, so this is a guess: good enough to
# choose who sends, and never used to judge a payment.
_PREFIXES: Final = {
    "+233" + prefix: network
    for network, prefixes in {
        "mtn": ("24", "25", "53", "54", "55", "59"),
        "telecel": ("20", "50"),
        "at": ("26", "27", "56", "57"),
    }.items()
    for prefix in prefixes
}


@dataclass(frozen=True, slots=True)
class Texting:
    """The shop's settings for SMS to payers.

    Attributes:
        at: `both`, `request`, `verified` or `never`.
        public: Also for requests made with publishable keys.
        per_number_hour: How many one number gets in an hour; 0 is any number.
        code_text: Template of the SMS with the code.
        receipt_text: Template of the receipt.
        steps: How to begin paying, by network.
    """

    at: str = "both"
    public: bool = False
    per_number_hour: int = 3
    code_text: str = CODE_TEXT
    receipt_text: str = RECEIPT_TEXT
    steps: Mapping[str, str] = field(default_factory=lambda: STEPS)

    def wants(self, kind: TextKind, *, asked: bool, live: bool, publishable: bool) -> bool:
        """Say whether a request causes this SMS; `asked` is its `send_sms_to_payer`."""
        due = self.at in {"both", "request" if kind is TextKind.CODE else "verified"}
        return due and asked and live and (self.public or not publishable)


NO_TEXTING: Final = Texting(at="never")


def template_fault(kind: TextKind, text: str) -> str:
    """Say what is wrong with a template, "" when nothing is."""
    known = ", ".join(f"{{{name}}}" for name in sorted(FIELDS[kind]))
    if len(text) > TEXT_CHARACTERS_MAX:
        return f"takes at most {TEXT_CHARACTERS_MAX} characters"
    if any(not character.isprintable() for character in text):
        return "takes one line of plain text"
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        return f"has a brace without its partner; the fields are {known}"
    found = [name for _text, name, _spec, _conversion in parts if name is not None]
    for _text, name, spec, conversion in parts:
        if name is not None and (name not in FIELDS[kind] or spec or conversion):
            return f"has no field {{{name}}} to fill in; the fields are {known}"
    missing = [f"{{{name}}}" for name in _NEEDED[kind] if name not in found]
    return f"must name {' and '.join(missing)}" if missing else ""


def network_of_number(number: str) -> str | None:
    """Return the network that a number was given out by, None for another country's."""
    return _PREFIXES.get(number[:6])


def local(number: str) -> str:
    """Return a number as people of its country dial it."""
    return "0" + number.removeprefix("+233") if number.startswith("+233") else number


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line that is ready to send: a merchant number on a SIM in a phone that is there."""

    sim_seq: int
    network: str | None
    phone_number: str
    account_name: str


def choose_line(
    lines: Iterable[TextLine], number: str, has_room: Callable[[TextLine], bool]
) -> TextLine | None:
    """Return the line on the payer's network, else any; of those that have not sent too much."""
    network = network_of_number(number)
    best_first = sorted(lines, key=lambda line: network is None or line.network != network)
    return next((line for line in best_first if has_room(line)), None)


def code_text(
    texting: Texting, line: TextLine, *, number: str, minor: int, currency: str, code: str
) -> str:
    """Write the SMS that says how to pay."""
    steps = texting.steps.get(network_of_number(number) or line.network or "", "")
    return texting.code_text.format(
        amount=f"{currency} {render(minor, currency)}",
        number=local(line.phone_number),
        account=line.account_name,
        code=code,
        steps=steps or "Open your mobile money menu",
    )


def receipt_text(
    texting: Texting, line: TextLine, verdict: Verdict, *, minor: int, currency: str, code: str
) -> str:
    """Write the SMS that says what was received."""
    short = verdict.difference_minor
    result = ""
    if short:
        words = "too little" if short < 0 else "too much"
        result = f", {currency} {render(abs(short), currency)} {words}"
    return texting.receipt_text.format(
        amount=f"{currency} {render(minor, currency)}",
        number=local(line.phone_number),
        account=line.account_name,
        code=code,
        result=result,
    )


def test_text(shop_name: str) -> str:
    """Write the SMS that shows that a modem can send."""
    return f"{shop_name}: a test of the phone that reads our payments."


def next_try_at(tries: int, now: int, expires_at: int) -> int | None:
    """Return when to try again after so many tries, None when it is not worth it."""
    if tries > len(RETRY_US):
        return None
    at = now + RETRY_US[tries - 1]
    return at if at < expires_at else None
