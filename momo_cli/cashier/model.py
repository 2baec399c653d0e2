"""The cashier's view as a value: what is known, what was typed, and what follows from a key or from news. No I/O.

`pressed` and `heard` change the model and return what is to be done; the loop does it, and puts what comes of it back in
as news. A payment is new when its id was not among the newest before, whatever happened to the connection meanwhile.
"""

from dataclasses import dataclass, field
from typing import Final

from momo_cli.answer import Row
from momo_cli.reviews import orders_of
from momo_cli.text import at, clean

CODE_CHARACTERS: Final = 6
FLASH_S: Final = 4.0
"""How long the newest payment stands out."""
SEEN_S: Final = 1.0
"""What is on the screen for less cannot be approved: the key was meant for what stood there before."""
SAID_S: Final = 12.0
YES: Final = "YES"
APPROVE, SOUND, LEAVE = "+", "*", "ctrl-d"
QUIT: Final = "Q"
"""Typed alone, with Enter behind it, it leaves. Without Enter it is the first letter of a code."""


# What is to be done -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lookup:
    """Ask for the order with this code."""

    code: str


@dataclass(frozen=True, slots=True)
class Approve:
    """Approve a review for an order."""

    review: str
    reference: str
    svc_code: str
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Ring:
    """Ring the bell so many times."""

    times: int


@dataclass(frozen=True, slots=True)
class Leave:
    """End."""


Deed = Lookup | Approve | Ring | Leave


# What is new ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Books:
    """The sheet of today with the newest payments, and the reviews that wait."""

    report: Row
    reviews: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Whether the daemon is there."""

    up: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a look-up; `order` is None when there is none, and `why` says so."""

    code: str
    order: Row | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence for the person, and its colour."""

    text: str
    style: str = ""


News = Books | Line | Found | Said


@dataclass(slots=True)
class Ask:
    """A question under way, before something that may be forged is approved."""

    deed: Approve
    secret: bool = False
    """The owner's password is asked for; before that, whether the money was seen."""
    typed: str = ""


@dataclass(slots=True)
class Model:
    """The cashier's view.

    Attributes:
        chosen: Which review the keys are about.
        chosen_at: Since when it stands there, seconds of a clock that never goes back.
        flash_until: Until when the newest payment stands out.
    """

    read_only: bool = False
    sound: bool = True
    report: Row = field(default_factory=dict)
    reviews: tuple[Row, ...] = ()
    loaded: bool = False
    up: bool = True
    typed: str = ""
    found: Found | None = None
    looking: str = ""
    ask: Ask | None = None
    chosen: str = ""
    chosen_at: float = 0.0
    said: Said = Said("")
    said_at: float = 0.0
    flash_until: float = 0.0

    @property
    def recent(self) -> list[Row]:
        """The newest payments, the newest first."""
        found = self.report.get("recent")
        return found if isinstance(found, list) else []

    @property
    def review(self) -> Row | None:
        """The review that the keys are about."""
        return next((row for row in self.reviews if row.get("id") == self.chosen), None)

    def say(self, said: Said, now: float) -> None:
        """Say a sentence for a while."""
        self.said, self.said_at = said, now

    def sentence(self, now: float) -> Said:
        """Return what is said now."""
        return self.said if now - self.said_at < SAID_S else Said("")


def heard(model: Model, news: News, now: float) -> list[Deed]:
    """Take in what is new; return what is to be done."""
    if isinstance(news, Books):
        return _books(model, news, now)
    if isinstance(news, Line):
        model.up = news.up
    elif isinstance(news, Found):
        if news.code == model.looking:
            # What was said before would hide it.
            model.looking, model.found, model.said = "", news, Said("")
    else:
        model.say(news, now)
    return []


def _books(model: Model, news: Books, now: float) -> list[Deed]:
    before = {row.get("id") for row in model.recent}
    waited = {row.get("id") for row in model.reviews}
    first = not model.loaded
    model.report, model.reviews, model.loaded = news.report, news.reviews, True
    model.up = True
    if model.review is None:
        _choose(model, clean(at(list(news.reviews), "0.id")), now)
        # The question was about one that somebody decided elsewhere.
        if model.ask is not None:
            model.ask = None
            model.say(Said("That one was decided elsewhere."), now)
    if first:
        return []
    rings = 0
    if any(row.get("id") not in before for row in model.recent):
        model.flash_until, rings = now + FLASH_S, 1
    if any(row.get("id") not in waited for row in model.reviews):
        rings = 2
    return [Ring(rings)] if rings and model.sound else []


def _choose(model: Model, review: str, now: float) -> None:
    model.chosen, model.chosen_at = review, now


def pressed(model: Model, key: str, now: float) -> list[Deed]:
    """Take a key: one character, or its name (`enter`, `escape`, `backspace`, `tab`, `up`, `down`, `ctrl-d`)."""
    if key == LEAVE:
        return [Leave()]
    if model.ask is not None:
        return _answered(model, model.ask, key, now)
    if key == "escape":
        model.typed, model.found, model.looking, model.said = "", None, "", Said("")
    elif key == "backspace":
        model.typed = model.typed[:-1]
    elif key in ("tab", "down", "up"):
        _next(model, -1 if key == "up" else 1, now)
    elif key == "enter" and model.typed == QUIT:
        return [Leave()]
    elif key == SOUND:
        model.sound = not model.sound
        model.say(Said(f"Sound is {'on' if model.sound else 'off'}."), now)
    elif key == APPROVE:
        return _approve(model, now)
    elif len(key) == 1 and key.isascii() and key.isalnum():
        return _typed(model, key.upper())
    return []


def _typed(model: Model, character: str) -> list[Deed]:
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


def _approve(model: Model, now: float) -> list[Deed]:
    row = model.review
    if model.read_only:
        model.say(Said("This screen only shows. Approve it where the owner works."), now)
    elif row is None:
        model.say(Said("Nothing waits for you."), now)
    elif now - model.chosen_at < SEEN_S:
        model.say(Said("That one has only just come. Look at it, then press + again."), now)
    elif not orders_of(row):
        text = f"It names no order. momo review approve {clean(row.get('id'))} --order CODE"
        model.say(Said(text, "yellow"), now)
    else:
        order = orders_of(row)[0]
        deed = Approve(
            clean(row.get("id")), clean(order.get("reference")), clean(order.get("svc_code"))
        )
        if not row.get("needs_password"):
            return [deed]
        model.ask = Ask(deed)
    return []


def _answered(model: Model, ask: Ask, key: str, now: float) -> list[Deed]:
    """Take a key of the answer to a question; the rules are those of `momo review approve`."""
    if key == "escape":
        model.ask = None
        model.say(Said("Nothing was changed."), now)
    elif key == "backspace":
        ask.typed = ask.typed[:-1]
    elif key == "enter" and ask.secret:
        model.ask = None
        deed = ask.deed
        return [Approve(deed.review, deed.reference, deed.svc_code, ask.typed)]
    elif key == "enter" and ask.typed == YES:
        ask.secret, ask.typed = True, ""
    elif key == "enter":
        model.ask = None
        model.say(Said("Nothing was changed."), now)
    elif len(key) == 1 and key.isprintable():
        ask.typed += key
    return []
