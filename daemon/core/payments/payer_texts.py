"""SMS to payers: templates, choice of the sending line, retries."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from string import Formatter
from typing import Final

from msgspec import Struct, field

from daemon.core.limits import HOUR_US, MINUTE_US, SECOND_US
from daemon.core.names import national_format
from daemon.core.payments.matching import Verdict
from daemon.core.text import ENGLISH, Catalogue, Text
from parsers.money import render
from parsers.phone import network_of_number

STEPS: Final = {"mtn": "Dial *170#", "telecel": "Dial *110#", "at": "Dial *110#"}
"""First step of a payment from each network. Menus change, so these are settings too."""
TEXT_CHARACTERS_MAX: Final = 480
"""Longest template: three SMS, before its fields are filled in."""
RETRY_US: Final = tuple(seconds * SECOND_US for seconds in (10, 30, 60, 120, 300))
"""Back-off after each failed try; the failure after the last one is final."""
CODE_TTL_US: Final = 30 * MINUTE_US
"""Time to live of the SMS with the code: after it the customer no longer waits."""
RECEIPT_TTL_US: Final = 2 * HOUR_US
TEST_TTL_US: Final = 2 * MINUTE_US
"""Time to live of a test SMS: the operator waits for the result."""
REPORT_MATCH_US: Final = 72 * HOUR_US
"""A status report is matched only to SMS of at most this age, because its reference is a number from 0 to 255."""


class TextKind(StrEnum):
    """The SMS of a transaction (each sent at most once), a notice to the owner, and the test of a modem."""

    CODE = "code"
    CODE_AGAIN = "code_again"
    """The code once more, because a person asked for it."""
    RECEIPT = "receipt"
    NOTICE = "notice"
    TEST = "test"


CODES: Final = frozenset({TextKind.CODE, TextKind.CODE_AGAIN})
FIELDS: Final[Mapping[TextKind, frozenset[str]]] = {
    TextKind.CODE: frozenset({"amount", "number", "account", "code", "steps"}),
    TextKind.RECEIPT: frozenset({"amount", "number", "account", "code", "result"}),
}
_NEEDED: Final[Mapping[TextKind, tuple[str, ...]]] = {
    TextKind.CODE: ("amount", "number", "code"),
    TextKind.RECEIPT: ("amount", "code"),
}


class Texting(Struct, frozen=True):
    """The shop's settings for SMS to payers.

    Attributes:
        at: `both`, `request`, `verified` or `never`.
        public: Also for transactions made with publishable keys.
        per_number_hour: Limit of SMS to one number in an hour; 0 is no limit.
        code_text: The shop's own template of the SMS with the code; empty for `words`.
        receipt_text: Its own template of the receipt.
        steps: First step of a payment, by network.
        words: The words of the customers' language.
    """

    at: str = "both"
    public: bool = False
    per_number_hour: int = 3
    code_text: str = ""
    receipt_text: str = ""
    steps: Mapping[str, str] = field(default_factory=lambda: STEPS)
    words: Catalogue = field(default_factory=lambda: ENGLISH)


NO_TEXTING: Final = Texting(at="never")


def template_error(kind: TextKind, text: str) -> str:
    """Return the error of a template, or "" if it is valid."""
    known = ", ".join(f"{{{name}}}" for name in sorted(FIELDS[kind]))
    if len(text) > TEXT_CHARACTERS_MAX:
        return f"takes at most {TEXT_CHARACTERS_MAX} characters"
    if any(not character.isprintable() for character in text):
        return "takes one line of plain text"
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        return f"has an unmatched brace; the fields are {known}"
    found = [name for _text, name, _spec, _conversion in parts if name is not None]
    for _text, name, spec, conversion in parts:
        if name is not None and (name not in FIELDS[kind] or spec or conversion):
            return f"has an unknown field {{{name}}}; the fields are {known}"
    missing = [f"{{{name}}}" for name in _NEEDED[kind] if name not in found]
    return f"must contain {' and '.join(missing)}" if missing else ""


class TextLine(Struct, frozen=True):
    """A line that is ready to send: a merchant number on a SIM in a connected phone."""

    sim_seq: int
    network: str | None
    phone_number: str
    account_name: str


def choose_line(lines: Iterable[TextLine], number: str, has_room: Callable[[TextLine], bool]) -> TextLine | None:
    """Return a line within its limits (`has_room`), preferably on the payer's network; None if there is none."""
    network = network_of_number(number)
    best_first = sorted(lines, key=lambda line: network is None or line.network != network)
    return next((line for line in best_first if has_room(line)), None)


def code_text(texting: Texting, line: TextLine, *, number: str, minor: int, currency: str, code: str) -> str:
    """Return the text of the SMS with the payment code."""
    step = texting.steps.get(network_of_number(number) or line.network or "", "")
    return _filled(
        texting, "sms.code", texting.code_text, amount=f"{currency} {render(minor, currency)}",
        number=national_format(line.phone_number), account=line.account_name, code=code,
        steps=first_step(step) if step else Text("sms.menu"),
    )  # fmt: skip


def first_step(step: str) -> Text | str:
    """Return the first step of a payment: in each language if it is only a code to dial, else as the settings have it."""
    code = step.removeprefix("Dial ")
    is_code = code.startswith("*") and code.endswith("#") and " " not in code
    return Text("sms.dial", code=code) if is_code else step


def receipt_text(texting: Texting, line: TextLine, verdict: Verdict, *, minor: int, currency: str, code: str) -> str:
    """Return the text of the receipt SMS."""
    short = verdict.difference_minor
    result: Text | str = ""
    if short:
        by = f"{currency} {render(abs(short), currency)}"
        result = Text("sms.result.short" if short < 0 else "sms.result.over", amount=by)
    return _filled(
        texting, "sms.receipt", texting.receipt_text, amount=f"{currency} {render(minor, currency)}",
        number=national_format(line.phone_number), account=line.account_name, code=code, result=result,
    )  # fmt: skip


def _filled(texting: Texting, key: str, own: str, **values: Text | str) -> str:
    """Return the shop's own template, or ours in its customers' language, with the values filled in."""
    rendered = {
        name: value.render(texting.words) if isinstance(value, Text) else value for name, value in values.items()
    }
    return (own or texting.words[key]).format(**rendered)


def next_try_at(tries: int, now: int, expires_at: int) -> int | None:
    """Return when to try again after `tries` failures; None if no try is left or the SMS would be too late."""
    if tries > len(RETRY_US):
        return None
    at = now + RETRY_US[tries - 1]
    return at if at < expires_at else None
