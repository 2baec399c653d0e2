"""States, money, phone numbers and times as text on a screen, and the headings of lists.

A state is always a word; colour only repeats it.
"""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

from daemon.wire import DeliveryStatus, MessageState, TransactionStatus
from momo_cli.show.answer import Cell, Row
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Reply
from momo_cli.text import at, clean
from momo_cli.times import parse_stamp

_STATES: Final[dict[str, Cell]] = {
    TransactionStatus.PENDING: Cell("… waiting", "dim"), TransactionStatus.PROCESSING: Cell("… working", "dim"),
    TransactionStatus.SUCCESS: Cell("✓ PAID", "green"), TransactionStatus.PARTIAL: Cell("! SHORT", "yellow"),
    TransactionStatus.OVERPAID: Cell("! OVER", "yellow"), TransactionStatus.EXPIRED: Cell("✗ EXPIRED", "red"),
    TransactionStatus.MANUAL_REVIEW: Cell("! REVIEW", "yellow"),
    TransactionStatus.CANCELLED: Cell("✗ CANCELLED", "red"), DeliveryStatus.PENDING: Cell("… waiting", "dim"),
    DeliveryStatus.RETRYING: Cell("! RETRYING", "yellow"), DeliveryStatus.DELIVERED: Cell("✓ DELIVERED", "green"),
    DeliveryStatus.FAILED: Cell("✗ FAILED", "red"), MessageState.PAYMENT: Cell("✓ PAYMENT", "green"),
    MessageState.NOT_PAYMENT: Cell("— other", "dim"), MessageState.UNPARSED: Cell("! UNREAD", "yellow"),
    MessageState.INCOMPLETE: Cell("… parts missing", "dim"), MessageState.HELD: Cell("! HELD", "yellow"),
    MessageState.HISTORICAL: Cell("— old", "dim"), MessageState.DUPLICATE: Cell("— again", "dim"),
}  # fmt: skip


def state(value: object) -> Cell:
    """Return the word for a transaction's, delivery's or message's state."""
    return _STATES.get(str(value), Cell(str(value or "")))


def with_test_mark(cell: Cell, row: Row) -> Cell:
    """Return the word for a state, marked as TEST if it is not real money, so that no goods are handed over."""
    return Cell(f"{cell.text}, TEST", "dim") if row.get("test") else cell


def counted(number: int, one: str, many: str = "") -> str:
    """Return `1 payment` or `3 payments`; `many` is the plural, unless it is the noun with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def fact_lines(facts: Iterable[tuple[str, str]], width: int, *, gap: str = " ") -> list[str]:
    """Return a line for each fact with a value: its name in a column of that width, and the value."""
    return [f"  {name:<{width}}{gap}{value}" for name, value in facts if value]


def styled(cell: Cell, terminal: Terminal) -> str:
    """Return a cell as styled text."""
    return terminal.style(clean(cell.text), cell.style)


def money(amount: object, currency: object = None) -> str:
    """Return `3,118.50`, or `GHS 3,118.50` with a currency; empty if there is no amount."""
    if not isinstance(amount, str) or not amount:
        return ""
    sign = "-" if amount.startswith("-") else ""
    whole, point, cents = amount.lstrip("+-").partition(".")
    if not whole.isascii() or not whole.isdigit():
        return clean(amount)
    text = f"{sign}{int(whole):,}{point}{clean(cents)}"
    return f"{clean(currency)} {text}" if currency else text


def phone(number: object) -> str:
    """Return a Ghanaian number in its usual form, `024 412 4567`; others unchanged."""
    text = clean(number)
    local = "0" + text.removeprefix("+233") if text.startswith("+233") else text
    if len(local) == 10 and local.isascii() and local.isdigit():
        return f"{local[:3]} {local[3:6]} {local[6:]}"
    return text


def short_phone(number: object) -> str:
    """Return a shortened number: `024…4567`."""
    parts = phone(number).split(" ")
    return f"{parts[0]}…{parts[2]}" if len(parts) == 3 else phone(number)


def payer_text(name: object, number: object) -> str:
    """Return a payer for a table: name and short number."""
    return " ".join(part for part in (clean(name), short_phone(number)) if part)


def payer_of(row: Row, *, full: bool = False) -> str:
    """Return the payer of a transaction: name and short number; with `full` the whole number, after a dot.

    Once the transaction is paid, a value that its receipt does not contain is marked as the request's.
    """
    payer = row.get("payer")
    if payer is None:
        payer = {"name": row.get("payer_name"), "phone_number": row.get("payer_phone")}
    number = at(payer, "phone_number")
    values = {"name": clean(at(payer, "name")), "phone_number": phone(number) if full else short_phone(number)}
    paid, mark = row.get("actual_amount"), "(from the request)" if full else "(request)"
    return (" · " if full else " ").join(
        f"{text} {mark}" if paid and at(row, f"payer_source.{member}") == "request" else text
        for member, text in values.items()
        if text
    )


def ago(value: object, terminal: Terminal) -> str:
    """Return the age of a time of the API: `4m ago`; with `--absolute` the time itself."""
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
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24}d {hours % 24}h"
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


def unaccounted_text(unaccounted: object, terminal: Terminal) -> str:
    """Return the amounts by which a line's balance changed without a message, and since when; empty if none."""
    if not isinstance(unaccounted, dict):
        return ""
    currency = unaccounted.get("currency")
    parts = [
        f"{money(unaccounted[name], currency)} {name.replace('_', ' ')}"
        for name in ("came_in", "went_out")
        if unaccounted.get(name) not in (None, "0.00")
    ]
    since = clock(unaccounted.get("since"), terminal)
    return f"{' and '.join(parts)} without a message since {since}" if parts else ""


def size(number: object) -> str:
    """Return `41 MB` for a number of bytes."""
    if not isinstance(number, int):
        return ""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if number >= 1000**power:
            return f"{number / 1000**power:.0f} {unit}"
    return f"{number} B"


def list_faults(reply: Reply, one: str, many: str, *, wanted: bool) -> list[str] | None:
    """Return the error line of a non-empty list; empty for an empty list; None without `--fail-if-any`.

    `one` are the words for one item, such as "webhook was given up"; `wanted` is whether the flag was given.
    """
    if not wanted:
        return None
    rows, total = reply.data or (), at(reply.body, "meta.total")
    if not rows:
        return []
    number = total if isinstance(total, int) else len(rows)
    return [counted(number, one, many)]


def list_heading(reply: Reply, things: str, *, offset: int = 0, kind: str | None = None) -> str:
    """Return `Showing 50 of 214 deliveries (failed), next: --offset 50` for one page of a list.

    `things` is the plural noun of the rows, `offset` the rows skipped before them, `kind` the filter, if any.
    """
    shown, total = len(reply.data or ()), at(reply.body, "meta.total")
    of = f" of {total}" if isinstance(total, int) else ""
    more = offset + shown
    hint = f", next: --offset {more}" if isinstance(total, int) and more < total else ""
    return f"Showing {shown}{of} {things}{f' ({kind})' if kind else ''}{hint}"


_QUIET: Final = 2
"""Light modules around the code. ISO/IEC 18004 asks for 4; phone scanners accept 2, and a screen has few lines."""
_HALVES: Final = {(0, 0): "█", (0, 1): "▀", (1, 0): "▄", (1, 1): " "}
"""Two modules, one above the other -> one character; the light ones are drawn, because most screens are dark."""


def drawn(text: str, terminal: Terminal) -> list[str]:
    """Return the lines of a QR code.

    With colour it is black on white, independent of the terminal's colours; without colour, only the light modules
    are drawn. In ASCII a module is two characters wide and one line high.
    """
    import segno  # noqa: PLC0415  # only --qr needs it

    code = segno.make(text, error="l", micro=False)
    rows = [tuple(bool(module) for module in row) for row in code.matrix_iter(border=_QUIET)]
    if not terminal.symbols:
        return ["".join("  " if dark else "##" for dark in row) for row in rows]
    pairs = zip_longest(rows[::2], rows[1::2], fillvalue=(True,) * len(rows[0]))
    lines = ["".join(_HALVES[cell] for cell in zip(*pair, strict=True)) for pair in pairs]
    return [f"\x1b[97;40m{line}\x1b[0m" if terminal.color else line for line in lines]
