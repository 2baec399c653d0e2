"""The screen of `momo watch`: turns the model into lines that fit the screen exactly.

Narrow screens (80x24 is the reference, 40x24 a phone) show all parts below each other; wide ones show the day and the
reviews on the right. Lines that are too wide are wrapped, not cut. If not everything fits, the less important parts are
omitted first: older payments, the day, large figures. The newest payment, the open question and the typed text are
always shown.
"""

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from momo_cli.show.answer import Cell, Row
from momo_cli.show.words import money, payer_of, payer_text, phone
from momo_cli.text import at, clean
from momo_cli.times import parse_stamp
from momo_cli.views.lines import sheet_columns
from momo_cli.views.reviews import payable_transactions, review_question
from momo_cli.views.transactions import held_text, transaction_state
from momo_cli.watch.model import CODE_CHARACTERS, QUIT, Model

HEIGHT: Final = 5
_ROWS: Final = {
    "0": "### # # # # # # ###",
    "1": "##.  #.  #.  #. ###",
    "2": "###   # ### #   ###",
    "3": "###   # ###   # ###",
    "4": "# # # # ###   #   #",
    "5": "### #   ###   # ###",
    "6": "### #   ### # # ###",
    "7": "###   #   #   #   #",
    "8": "### # # ### # # ###",
    "9": "### # # ###   # ###",
    ".": ".   .   .   .   #  ",
    ",": ".   .   .   #   #  ",
    "-": ".       ###        ",
}
"""Each figure as five rows of three points; a dot is a point that is off."""


def large_figures(amount: str, width: int, *, symbols: bool = True) -> list[str]:
    """Return an amount as five lines, each point two columns wide if that fits, else one; empty if neither fits."""
    mark = "█" if symbols else "#"
    for size in (2, 1):
        lines = ["", "", "", "", ""]
        for character in amount:
            narrow = character in ".,"
            for row in range(HEIGHT):
                points = _ROWS.get(character, "").ljust(19)[row * 4 : row * 4 + (1 if narrow else 3)]
                lines[row] += "".join((mark if p == "#" else " ") * size for p in points) + " " * size
        if max(map(len, lines)) <= width:
            return [line.rstrip() for line in lines]
    return []


_BETWEEN_FACTS: Final = re.compile(r" {2,}| · ")
_BETWEEN_WORDS: Final = re.compile(r" ")
WIDE: Final = 120
"""From this many columns on, the day is shown beside the newest payment."""
_MEASURE: Final = 80
"""With fewer columns, shorter texts are used."""
_SIDE: Final = 62
_SLIM: Final = 48
"""With fewer columns, older payments are shown without payer, and a line's number with its last digits only."""
_LOW: Final = 16
"""With fewer lines, there are no large figures."""
_REVIEWS: Final = 3
_ASCII: Final = str.maketrans("─●○✓✗…—·▸▏→•", "-*o+x.-|>_>*")
"""Each is replaced by one character, so that the colours keep their positions."""


class Screen(NamedTuple):
    """The screen: its size, the time, the zone, and whether it shows more than ASCII."""

    width: int
    height: int
    now: datetime
    tick: float
    zone: tzinfo
    symbols: bool = True


def screen_lines(model: Model, screen: Screen) -> list[Text]:
    """Return the whole screen, top to bottom; never more lines or columns than it has."""
    head, foot = [_head(model, screen)], _foot(model, screen)
    room = max(0, screen.height - len(head) - len(foot))
    if screen.width >= WIDE:
        left = _left(model, screen._replace(width=screen.width - _SIDE - 3), room)
        right = [*_day(model, _SIDE), *_waiting(model, screen, _SIDE)]
        width, found = screen.width - _SIDE - 3, []
        for place in range(min(room, max(len(left), len(right)))):
            row = left[place].copy() if place < len(left) else Text()
            row.truncate(width, overflow="ellipsis", pad=True)
            row.append("   ")
            if place < len(right):
                row.append_text(right[place])
            found.append(row)
        body = found
    else:
        day, waiting = _day(model, screen.width), _waiting(model, screen, screen.width)
        top = _newest(model, screen, tall=room >= _LOW)
        if len(top) + len(day) + len(waiting) > room:
            day = _day(model, screen.width, brief=True)
        if len(top) + len(day) + len(waiting) > room:
            day = []
        used = len(top) + len(day) + len(waiting)
        body = [*top, *day, *_older(model, screen, screen.width, room - used), *waiting]
    body = [*body[:room], *[Text()] * (room - len(body))]
    return [_cut(line, screen) for line in (*head, *body, *foot)][-screen.height :]


def _left(model: Model, screen: Screen, room: int) -> list[Text]:
    top = _newest(model, screen, tall=room >= _LOW)
    return [*top, *_older(model, screen, screen.width, room - len(top))]


def _cut(line: Text, screen: Screen) -> Text:
    if not screen.symbols:
        line = line.copy()
        line.plain = line.plain.translate(_ASCII)
    line.truncate(screen.width, overflow="crop")
    return line


def _head(model: Model, screen: Screen) -> Text:
    local = screen.now.astimezone(screen.zone)
    name = clean(at(model.report, "shop.name")) or "momo"
    marks = "".join(
        f" · {mark}"
        for mark, on in (
            ("SANDBOX", model.report.get("test")),
            ("read-only", model.read_only),
            ("silent", not model.sound),
        )
        if on
    )
    away = "daemon unreachable, trying again" if screen.width >= _MEASURE else "no daemon"
    state = Text("● live", "green") if model.up else Text(f"○ {away}", "bold red")
    room = max(0, screen.width - len(state) - 1)
    after = f" · {local:%a} {local.day} {local:%b} {local:%H:%M}{marks}"
    if cell_len(name + after) > room:
        after = f" · {local:%H:%M}{marks}"
    # The shop's name is shortened first, because SANDBOX and read-only must be visible.
    left = Text(name, "bold")
    left.truncate(max(1, room - len(after)), overflow="ellipsis")
    left.append(after, "bold").truncate(room, overflow="crop", pad=True)
    return left.append(" ").append_text(state)


def _rule(title: str, width: int, style: str = "dim") -> Text:
    return Text((f"─ {title} " if title else "").ljust(width, "─"), style)


def _newest(model: Model, screen: Screen, *, tall: bool) -> list[Text]:
    if not model.recent:
        return [Text(), Text("No payment yet.", "dim"), Text()]
    row = model.recent[0]
    flash = screen.tick < model.flash_until
    state = _state(row, model)
    style = f"bold {state.style if state.style != 'dim' else ''}".strip()
    amount = money(row.get("amount"))
    figures = large_figures(amount, screen.width - 6, symbols=screen.symbols) if tall else []
    found = [Text(f" {line}", style) for line in figures]
    if figures:
        found[-1].append(f"  {clean(row.get('currency'))}", style)
        found.insert(0, Text())
    else:
        found = [Text(f" {clean(row.get('currency'))} {amount}", style)]
    what = Text(f" {state.text} ", f"reverse {style}" if flash else style)
    code = clean(at(row, "order.svc_code"))
    network = clean(row.get("network")).upper()
    parts = (code, _payer(row), network, _ago(row.get("stored_at"), screen))
    what.append("  " + " · ".join(part for part in parts if part))
    difference = money(at(row, "order.difference"))
    if difference:
        expected = money(at(row, "order.expected_amount"))
        what.append(
            f"  (asked {expected}, {difference.lstrip('-')} {'too little' if difference.startswith('-') else 'too much'})",
            style,
        )
    facts = wrap_styled(what, screen.width, 3)
    return [*found, Text(), *facts] if tall else [*found, *facts]


def _state(row: Row, model: Model) -> Cell:
    """Return the word for a payment: the status of its transaction, else REVIEW or RECEIVED."""
    order = row.get("order")
    if isinstance(order, dict) or row.get("doubted"):
        return transaction_state({**(order or {}), "doubted": row.get("doubted")})
    if row.get("reversed"):
        return Cell("✗ TAKEN BACK", "red")
    asked = any(at(review, "payment.id") == row.get("id") for review in model.reviews)
    waits = asked or row.get("standing") == "review"
    return Cell("! REVIEW", "yellow") if waits else Cell("✓ RECEIVED", "cyan")


def _payer(row: Row) -> str:
    return payer_text(row.get("payer_name"), row.get("payer_phone"))


def _ago(stamp: object, screen: Screen) -> str:
    found = parse_stamp(stamp)
    if found is None:
        return ""
    seconds = int((screen.now - found).total_seconds())
    if seconds < 10:
        return "now"
    if seconds < 60:
        return f"{seconds // 10 * 10}s ago"
    if seconds < 3600:
        return f"{seconds // 60}m ago"
    local = found.astimezone(screen.zone)
    if local.date() == screen.now.astimezone(screen.zone).date():
        return f"{local:%H:%M}"
    return f"{local.day} {local:%b} {local:%H:%M}"


def _older(model: Model, screen: Screen, width: int, room: int) -> list[Text]:
    rows = model.recent[1:]
    if room < 2 or not rows:
        return []
    found = [_rule("BEFORE", width)]
    for row in rows[: room - 1]:
        state, when = _state(row, model), _ago(row.get("stored_at"), screen)
        amount, code = money(row.get("amount")), clean(at(row, "order.svc_code"))
        if width < _SLIM:
            line = Text(f"{amount:>11}  ", "bold").append(f"{state.text:<10} ", state.style)
            found.append(line.append(f"{code:<7}").append(when, "dim"))
            continue
        line = Text(f" {when:>13}", "dim").append(f"{amount:>12}  ", "bold")
        line.append(f"{state.text:<12}", state.style)
        found.append(line.append(f"{code:<8}{_payer(row)}"))
    return found


def _day(model: Model, width: int, *, brief: bool = False) -> list[Text]:
    """Return the day's totals of each wallet and of all; with `brief` only of all."""
    found = [_rule("TODAY", width)]
    for sheet in model.report.get("sheets") or ():
        shown = sheet_columns(sheet)[-1:] if brief else sheet_columns(sheet)
        for name, line in shown:
            text = Text(f" {_wallet_name(name, line, width):<{23 if width >= _SLIM else 15}}")
            text.append(f"{line['money_in']['count']:>{5 if width >= _SLIM else 4}}", "dim")
            text.append(f"{money(line['money_in']['amount'], sheet['currency']):>16}", "bold")
            tied = _tied(line)
            fits = text.cell_len + tied.cell_len <= width
            found += [text.append_text(tied)] if fits else [text, Text(" ").append_text(tied)]
    if len(found) == 1:
        found.append(Text(" Nothing yet.", "dim"))
    return found


def _wallet_name(name: str, line: Row, width: int) -> str:
    if name == "All":
        return name
    number = phone(line.get("phone_number"))
    if number and width < _SLIM:
        number = f"…{number[-4:]}"
    return f"{name.split(maxsplit=1)[0]} {number}".strip()


def _tied(line: Row) -> Text:
    wallet = line.get("wallet")
    if not isinstance(wallet, dict):
        return Text()
    if wallet["agrees"]:
        return Text("  ✓", "green")
    return Text(f"  ✗ wallet {money(wallet['says'])}", "red")


def _waiting(model: Model, screen: Screen, width: int) -> list[Text]:
    if not model.reviews:
        return []
    found = [_rule(f"{len(model.reviews)} TO REVIEW", width, "yellow")]
    ids = [row.get("id") for row in model.reviews]
    place = ids.index(model.chosen) if model.chosen in ids else 0
    first = max(0, min(place - 1, len(ids) - _REVIEWS))
    for row in model.reviews[first : first + _REVIEWS]:
        chosen = row.get("id") == model.chosen
        line = Text(" ▸ " if chosen else "   ", "bold yellow")
        line.append(f"{money(row.get('amount')):>10}  ", "bold" if chosen else "")
        line.append(clean(row.get("summary")), "bold" if chosen else "")
        line.append(f"  {_ago(row.get('created_at'), screen)}", "dim")
        found += wrap_styled(line, width, 15)
        if chosen:
            for suggested in _suggested(model, row):
                found += wrap_styled(suggested, width, 7)
    return found


def _suggested(model: Model, row: Row) -> Iterator[Text]:
    """Yield the transaction that the selected payment may be for, and the key that approves it."""
    orders = payable_transactions(row)
    if not orders:
        return
    order = orders[0]
    payer = payer_text(order.get("payer_name"), order.get("payer_phone"))
    line = Text("     → ", "yellow")
    line.append(clean(order.get("svc_code")), "bold")
    line.append(f"  {money(order.get('expected_amount'), order.get('currency'))}  {payer}")
    if not model.read_only:
        more = f"; {len(orders) - 1} more: momo review show" if len(orders) > 1 else ""
        line.append(f"   + approve{more}", "bold yellow")
    yield line
    yield Text(f"       {clean(order.get('why'))}", "dim")


def _foot(model: Model, screen: Screen) -> list[Text]:
    said = model.sentence(screen.tick)
    if model.ask is not None:
        typed = "•" * len(model.ask.typed) if model.ask.secret else model.ask.typed
        question = review_question(model.review or {})
        if model.ask.secret:
            question = "The owner's password"
        return [
            _rule("", screen.width, "yellow"),
            *wrap_styled(Text(f" {question}: {typed}▏", "bold"), screen.width),
            *wrap_styled(Text(" Enter = continue   Esc = change nothing", "dim"), screen.width),
        ]
    entry = Text(" Code ", "bold")
    entry.append((model.typed or model.looking).ljust(CODE_CHARACTERS, "_"), "bold reverse" if model.typed else "bold")
    entry.append("  ")
    if model.typed == QUIT:
        entry.append("Enter quits", "bold")
    elif model.looking:
        entry.append("searching …", "dim")
    elif model.found is not None and not model.typed:
        entry.append_text(_found(model, screen))
    elif said.text:
        entry.append(said.text, said.style)
    if model.found is not None and said.text and not model.typed:
        entry = Text(f" {said.text}", said.style)
    keys = ["type a code", "Tab next"] if model.reviews else ["type a code"]
    if model.reviews and not model.read_only:
        keys.append("+ approve")
    keys += ["* sound", "Esc clear", "Ctrl-C quit"]
    offered = Text(" " + "   ".join(keys), "dim")
    wrapped = [*wrap_styled(entry, screen.width), *wrap_styled(offered, screen.width)]
    return [_rule("", screen.width), *wrapped]


def _found(model: Model, screen: Screen) -> Text:
    found = model.found
    assert found is not None, "checked by the caller"
    if found.order is None:
        return Text(f"{found.code}: {found.why}", "red")
    order = found.order
    state = transaction_state(order)
    line = Text(f"{found.code} ", "bold").append(state.text, f"bold {state.style}")
    line.append(f"  asked {money(order.get('expected_amount'), order.get('currency'))}")
    if received := money(order.get("actual_amount")):
        line.append(f", received {received}", "bold")
    payer = payer_of(order)
    when = _ago(at(order, "timeline.completed_at") or at(order, "timeline.created_at"), screen)
    line.append("".join(f" · {part}" for part in (payer, when) if part))
    held = held_text(order)
    return line.append(f" · {held}", "yellow") if held else line


def wrap_styled(line: Text, width: int, indent: int = 1) -> list[Text]:
    """Return a line as lines of at most `width` columns, the later ones indented.

    It is broken between facts (two spaces, or a dot between them), else between words, else anywhere.
    """
    found: list[Text] = []
    rest, pad = line, 0
    while rest.cell_len > width - pad and width - pad > 0:
        place = _place(rest.plain, width - pad, own=len(rest.plain) - len(rest.plain.lstrip(" ")))
        head, rest = _parted(rest, place)
        found.append(Text(" " * pad).append_text(head))
        pad = min(indent, width - 1)
    return [*found, Text(" " * pad).append_text(rest)] if rest.plain or not found else found


def _place(plain: str, room: int, *, own: int) -> int:
    """Return the index at which to break a text so that the first part fits; `own` is the index of its first word."""
    fits = 0
    while fits < len(plain) and cell_len(plain[: fits + 1]) <= room:
        fits += 1
    for between, least in ((_BETWEEN_FACTS, room // 2), (_BETWEEN_WORDS, own + 1)):
        starts = (one.start() for one in between.finditer(plain, own))
        if places := [place for place in starts if least <= place <= fits]:
            return places[-1]
    return max(1, fits)


def _parted(line: Text, place: int) -> tuple[Text, Text]:
    """Break a line in two, and drop the separator."""
    head, rest = line.divide([place])
    head.rstrip()
    gone = len(rest.plain) - len(rest.plain.lstrip(" ·"))
    return head, rest.divide([gone])[1] if gone else rest
