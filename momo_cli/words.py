"""How states, money, phones and times read on a screen. State is a word; colour only repeats it."""

from typing import Final

from daemon.wire import DeliveryStatus, MessageState, TransactionStatus
from momo_cli.answer import Cell, Row
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.times import parse_stamp

_TRANSACTION: Final = {
    TransactionStatus.PENDING: Cell("… waiting", "dim"),
    TransactionStatus.PROCESSING: Cell("… working", "dim"),
    TransactionStatus.SUCCESS: Cell("✓ PAID", "green"),
    TransactionStatus.PARTIAL: Cell("! SHORT", "yellow"),
    TransactionStatus.OVERPAID: Cell("! OVER", "yellow"),
    TransactionStatus.EXPIRED: Cell("✗ EXPIRED", "red"),
    TransactionStatus.MANUAL_REVIEW: Cell("! REVIEW", "yellow"),
    TransactionStatus.CANCELLED: Cell("✗ CANCELLED", "red"),
}
_DELIVERY: Final = {
    DeliveryStatus.PENDING: Cell("… waiting", "dim"),
    DeliveryStatus.RETRYING: Cell("! RETRYING", "yellow"),
    DeliveryStatus.DELIVERED: Cell("✓ DELIVERED", "green"),
    DeliveryStatus.FAILED: Cell("✗ FAILED", "red"),
}
_MESSAGE: Final = {
    MessageState.PAYMENT: Cell("✓ PAYMENT", "green"),
    MessageState.NOT_PAYMENT: Cell("— other", "dim"),
    MessageState.UNPARSED: Cell("! UNREAD", "yellow"),
    MessageState.INCOMPLETE: Cell("… parts missing", "dim"),
    MessageState.HELD: Cell("! HELD", "yellow"),
    MessageState.HISTORICAL: Cell("— old", "dim"),
    MessageState.DUPLICATE: Cell("— again", "dim"),
}
_WORDS: Final[dict[str, Cell]] = {
    str(state): cell
    for table in (_TRANSACTION, _DELIVERY, _MESSAGE)
    for state, cell in table.items()
}


def state(value: object) -> Cell:
    """Return the word of a transaction's, delivery's or message's state."""
    return _WORDS.get(str(value), Cell(str(value or "")))


def tested(cell: Cell, row: Row) -> Cell:
    """Return the word of a state, marked where no real money is meant: nobody hands over goods for it."""
    return Cell(f"{cell.text}, TEST", "dim") if row.get("test") else cell


def styled(cell: Cell, terminal: Terminal) -> str:
    """Return a cell as a piece of a line."""
    return terminal.style(clean(cell.text), cell.style)


def money(amount: object, currency: object = None) -> str:
    """Return `3,118.50`, or `GHS 3,118.50` with a currency; empty when there is none."""
    if not isinstance(amount, str) or not amount:
        return ""
    sign = "-" if amount.startswith("-") else ""
    whole, point, cents = amount.lstrip("+-").partition(".")
    if not whole.isascii() or not whole.isdigit():
        return clean(amount)
    text = f"{sign}{int(whole):,}{point}{clean(cents)}"
    return f"{clean(currency)} {text}" if currency else text


def phone(number: object) -> str:
    """Return a Ghanaian number as it is read out, `024 412 4567`; others unchanged."""
    text = clean(number)
    local = "0" + text.removeprefix("+233") if text.startswith("+233") else text
    if len(local) == 10 and local.isascii() and local.isdigit():
        return f"{local[:3]} {local[3:6]} {local[6:]}"
    return text


def short_phone(number: object) -> str:
    """Return enough of a number to know it by: `024…4567`."""
    parts = phone(number).split(" ")
    return f"{parts[0]}…{parts[2]}" if len(parts) == 3 else phone(number)


def person(name: object, number: object) -> str:
    """Return a payer for a table: name and short number."""
    return " ".join(part for part in (clean(name), short_phone(number)) if part)


def ago(value: object, terminal: Terminal) -> str:
    """Return how long ago a time of the API was: `4m ago`; the time itself with `--absolute`."""
    found = parse_stamp(value)
    if found is None:
        return ""
    if terminal.flags.absolute:
        return clock(value, terminal)
    seconds = int((terminal.now() - found).total_seconds())
    if seconds < -1:
        return f"in {_span(-seconds)}"
    return "now" if seconds < 1 else f"{_span(seconds)} ago"


def _span(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def uptime(seconds: object) -> str:
    """Return `3d 4h`, `2h 5m`, `41s`."""
    if not isinstance(seconds, int | float):
        return ""
    left = int(seconds)
    days, left = divmod(left, 86400)
    hours, left = divmod(left, 3600)
    minutes, left = divmod(left, 60)
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {left}s" if minutes else f"{left}s"


def clock(value: object, terminal: Terminal) -> str:
    """Return a time of the API in the display zone: `20 Nov 09:14`; `today` for today, the year for another year."""
    found = parse_stamp(value)
    if found is None:
        return ""
    local, now = found.astimezone(terminal.zone), terminal.now().astimezone(terminal.zone)
    if local.date() == now.date():
        return f"today {local:%H:%M}"
    return f"{local.day} {local:{'%b' if local.year == now.year else '%b %Y'} %H:%M}"


def untold(unaccounted: object, terminal: Terminal) -> str:
    """Return how much of a line's money no message told of, and since when; empty when all is told."""
    if not isinstance(unaccounted, dict):
        return ""
    currency = unaccounted.get("currency")
    parts = [
        f"{money(amount, currency)} {moved}"
        for amount, moved in (
            (unaccounted.get("came_in"), "came in"),
            (unaccounted.get("went_out"), "went out"),
        )
        if amount not in (None, "0.00")
    ]
    since = clock(unaccounted.get("since"), terminal)
    return f"{' and '.join(parts)} untold since {since}" if parts else ""


def size(number: object) -> str:
    """Return `41 MB` for a number of bytes."""
    if not isinstance(number, int):
        return ""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if number >= 1000**power:
            return f"{number / 1000**power:.0f} {unit}"
    return f"{number} B"
