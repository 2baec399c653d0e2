"""The state of `momo watch`, and its changes by keys and by results of calls. No I/O.

`handle_key` and `apply_result` change the model and return actions; the loop carries them out.
A payment is new if its id was not among the newest before, even if the connection was lost meanwhile.
"""

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from momo_cli.show.answer import Row
from momo_cli.text import at, clean
from momo_cli.views.reviews import payable_transactions

CODE_CHARACTERS: Final = 6
FLASH_S: Final = 4.0
"""How long the newest payment is highlighted."""
SEEN_S: Final = 1.0
"""A review shown for less time cannot be approved, because the key may have been meant for the one before it."""
SAID_S: Final = 12.0
YES: Final = "YES"
APPROVE, SOUND, LEAVE = "+", "*", "ctrl-d"
QUIT: Final = "Q"
"""Typed alone and followed by Enter, it quits. Else it is the first letter of a code."""


class Lookup(NamedTuple):
    """Fetch the transaction with this code."""

    code: str


@dataclass(frozen=True, slots=True)
class Approve:
    """Approve a review for a transaction."""

    review: str
    reference: str
    svc_code: str
    password: str | None = None


class Ring(NamedTuple):
    """Ring the bell a number of times."""

    times: int


class Leave(NamedTuple):
    """Quit."""


Action = Lookup | Approve | Ring | Leave


class DayData(NamedTuple):
    """Today's day sheet with the newest payments, and the open reviews."""

    report: Row
    reviews: tuple[Row, ...]


class DaemonConnection(NamedTuple):
    """Whether the daemon is reachable."""

    up: bool


class LookupResult(NamedTuple):
    """The result of a look-up; `order` is None if there is none, and `why` is the reason."""

    code: str
    order: Row | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ScreenMessage:
    """A message, and its colour."""

    text: str
    style: str = ""


Result = DayData | DaemonConnection | LookupResult | ScreenMessage


@dataclass(slots=True)
class Ask:
    """An open question before the approval of a payment that may be forged."""

    action: Approve
    secret: bool = False
    """Whether the owner's password is asked for; the first question is whether the money was seen."""
    typed: str = ""


@dataclass(slots=True)
class Model:
    """The state of the screen; the times are seconds of a monotonic clock."""

    read_only: bool = False
    sound: bool = True
    report: Row = field(default_factory=dict)
    reviews: tuple[Row, ...] = ()
    loaded: bool = False
    up: bool = True
    typed: str = ""
    found: LookupResult | None = None
    looking: str = ""
    ask: Ask | None = None
    chosen: str = ""
    chosen_at: float = 0.0
    said: ScreenMessage = ScreenMessage("")
    said_at: float = 0.0
    flash_until: float = 0.0

    @property
    def recent(self) -> list[Row]:
        """The newest payments, the newest first."""
        found = self.report.get("recent")
        return found if isinstance(found, list) else []

    @property
    def review(self) -> Row | None:
        """The selected review."""
        return next((row for row in self.reviews if row.get("id") == self.chosen), None)

    def say(self, text: str, now: float, style: str = "") -> None:
        """Show a message for a while."""
        self.said, self.said_at = ScreenMessage(text, style), now

    def sentence(self, now: float) -> ScreenMessage:
        """Return the message to show now."""
        return self.said if now - self.said_at < SAID_S else ScreenMessage("")


def apply_result(model: Model, result: Result, now: float) -> list[Action]:
    """Update the model with a result; return the actions."""
    if isinstance(result, DayData):
        before = {row.get("id") for row in model.recent}
        waited = {row.get("id") for row in model.reviews}
        first = not model.loaded
        model.report, model.reviews, model.loaded = result.report, result.reviews, True
        model.up = True
        if model.review is None:
            _choose(model, clean(at(list(result.reviews), "0.id")), now)
            # The question was about a review that was decided elsewhere.
            if model.ask is not None:
                model.ask = None
                model.say("That review was decided elsewhere.", now)
        if first:
            return []
        rings = 0
        if any(row.get("id") not in before for row in model.recent):
            model.flash_until, rings = now + FLASH_S, 1
        if any(row.get("id") not in waited for row in model.reviews):
            rings = 2
        return [Ring(rings)] if rings and model.sound else []
    if isinstance(result, DaemonConnection):
        model.up = result.up
    elif isinstance(result, LookupResult):
        if result.code == model.looking:
            # An older message would hide it.
            model.looking, model.found, model.said = "", result, ScreenMessage("")
    else:
        model.say(result.text, now, result.style)
    return []


def _choose(model: Model, review: str, now: float) -> None:
    model.chosen, model.chosen_at = review, now


def handle_key(model: Model, key: str, now: float) -> list[Action]:
    """Handle a key: one character, or its name (`enter`, `escape`, `backspace`, `tab`, `up`, `down`, `ctrl-d`)."""
    if key == LEAVE:
        return [Leave()]
    if model.ask is not None:
        return _answered(model, model.ask, key, now)
    if key == "escape":
        model.typed, model.found, model.looking, model.said = "", None, "", ScreenMessage("")
    elif key == "backspace":
        model.typed = model.typed[:-1]
    elif key in ("tab", "down", "up"):
        _next(model, -1 if key == "up" else 1, now)
    elif key == "enter" and model.typed == QUIT:
        return [Leave()]
    elif key == SOUND:
        model.sound = not model.sound
        model.say(f"Sound is {'on' if model.sound else 'off'}.", now)
    elif key == APPROVE:
        return _approve(model, now)
    elif len(key) == 1 and key.isascii() and key.isalnum():
        return _typed(model, key.upper())
    return []


def _typed(model: Model, character: str) -> list[Action]:
    if not model.typed:
        model.found = None
    model.typed += character
    if len(model.typed) < CODE_CHARACTERS:
        return []
    model.looking, model.typed = model.typed, ""
    return [Lookup(model.looking)]


def _next(model: Model, step: int, now: float) -> None:
    ids = [clean(row.get("id")) for row in model.reviews]
    if ids:
        place = ids.index(model.chosen) if model.chosen in ids else -step
        _choose(model, ids[(place + step) % len(ids)], now)


def _approve(model: Model, now: float) -> list[Action]:
    row = model.review
    if model.read_only:
        model.say("This screen is read-only. Approve it on another computer.", now)
    elif row is None:
        model.say("There is nothing to review.", now)
    elif now - model.chosen_at < SEEN_S:
        model.say("That review has only just come. Read it, then press + again.", now)
    elif not payable_transactions(row):
        text = f"It names no transaction. momo review approve {clean(row.get('id'))} --order CODE"
        model.say(text, now, "yellow")
    else:
        order = payable_transactions(row)[0]
        reference, code = clean(order.get("reference")), clean(order.get("svc_code"))
        action = Approve(clean(row.get("id")), reference, code)
        if not row.get("needs_password"):
            return [action]
        model.ask = Ask(action)
    return []


def _answered(model: Model, ask: Ask, key: str, now: float) -> list[Action]:
    """Handle a key of the answer to a question; the rules are those of `momo review approve`."""
    if key == "escape":
        model.ask = None
        model.say("Nothing was changed.", now)
    elif key == "backspace":
        ask.typed = ask.typed[:-1]
    elif key == "enter" and ask.secret:
        model.ask = None
        return [replace(ask.action, password=ask.typed)]
    elif key == "enter" and ask.typed == YES:
        ask.secret, ask.typed = True, ""
    elif key == "enter":
        model.ask = None
        model.say("Nothing was changed.", now)
    elif len(key) == 1 and key.isprintable():
        ask.typed += key
    return []
