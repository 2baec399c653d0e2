"""Show how everything is: the daemon, the lines, today's money, the webhooks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Cell, Field, Row, View
from momo_cli.client import Client
from momo_cli.modems import bars, called, named, state, storage, trouble_lines
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.watching import Watch, every_s, watched
from momo_cli.words import ago, money, phone, size, styled, untold, uptime

EXAMPLES: Final = """\
  momo status
  momo status --watch
  momo status --fail-if-unhealthy --quiet
  momo status --get data.queue.pending
"""
VIEW: Final = View(
    fields=(
        Field("version"),
        Field("pid"),
        Field("uptime_s"),
        Field("db_path", "db.path"),
        Field("db_bytes", "db.bytes"),
        Field("db_schema", "db.schema"),
        Field("lines_ready", "lines.ready"),
        Field("pending", "queue.pending"),
        Field("retrying", "queue.retrying"),
        Field("failed", "queue.failed"),
        Field("dead_letters", "queue.dead_letters"),
        Field("secrets"),
        Field("disk_free_bytes"),
        Field("disk_room", "disk.room"),
        Field("clock", "clock.state"),
        Field("clock_skew_s", "clock.skew_s"),
    ),
    id="pid",
)
_TITLE: Final = 10
_READY: Final = "ready"
_WELL: Final = (_READY, "opening", "starting")
_COUNTED: Final = {"review": "to review"}
_UNSOUND: Final = {
    "damaged": (
        "the database is damaged: no money is booked until a backup is put back",
        "momo restore --stop",
    ),
    "findings": ("the shop's books do not hold", "momo doctor ledger"),
}
_SLEEPY: Final = ("refused", "idle_only")
"""It is to be kept awake, and cannot be."""
_DISK: Final = {
    "low": "",
    "tight": ": no backup and no export is made",
    "full": ": new orders are refused, payments are still taken",
}
"""The steps of the disk that need attention, and what each stops."""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo status`."""

    fail_if_unhealthy: bool
    watch_s: float | None = None


def command(
    fail_if_unhealthy: Annotated[
        bool,
        typer.Option("--fail-if-unhealthy", help="Exit 6 when something needs attention."),
    ] = False,
    watch: Watch = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(fail_if_unhealthy, every_s(watch)), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look once, or for as long as it is watched."""
    return watched(
        lambda shown: _look(client, shown, options), client, terminal, VIEW, options.watch_s
    )


def _look(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the status and say what needs attention."""
    reply = client.get(Path.LOCAL_STATUS)
    data: dict[str, Any] = reply.data or {}
    found = list(findings(data))
    return Answer(
        document=reply.text,
        rows=[data],
        lines=list(_lines(data, terminal)),
        notes=[f"! {what}" for what, _ in found] if terminal.human else (),
        next=[*dict.fromkeys(command for _, command in found if command), *_decide(data)],
        exit_code=exits.FINDINGS if options.fail_if_unhealthy and found else exits.OK,
        faults=[what for what, _ in found] if options.fail_if_unhealthy else None,
    )


def _decide(data: Row) -> list[str]:
    """Return how to see what waits for a person: nothing is wrong with the shop, but somebody is asked."""
    return ["momo review list"] if at(data, "today.review") else []


def findings(data: Row) -> Iterator[tuple[str, str]]:
    """Return what needs attention, and the command that looks at it."""
    check = at(data, "db.last_check")
    if check not in (None, "ok"):
        yield _UNSOUND.get(
            str(check), (f"the database check says: {clean(check)}", "momo doctor db")
        )
    yield from _machine(data)
    if at(data, "lines.ready") is False:
        yield "a SIM has no number", "momo lines"
    if data.get("http_security") == "none":
        yield (
            f"others may read what passes over http://{clean(data.get('http'))}",
            "momo help files",
        )
    unseen = at(data, "notices.unseen")
    if unseen:
        yield f"{unseen} notice{'s' if unseen != 1 else ''} not seen yet", "momo notices list"
    if data.get("secrets") == "locked":
        yield "the secrets are locked: webhooks wait", "momo help files"
    lacking = at(data, "messages.incomplete")
    if lacking:
        which = "a long message lacks" if lacking == 1 else f"{lacking} long messages lack"
        yield f"{which} parts for over a day", "momo messages list --state incomplete"
    if at(data, "queue.dead_letters"):
        yield "some webhooks were given up", "momo deliveries list --status failed"
    yield from _troubles(data)


def _machine(data: Row) -> Iterator[tuple[str, str]]:
    """Return what needs attention about the computer itself."""
    if at(data, "clock.state") == "suspect":
        why = clean(at(data, "clock.why")) or "the clock of this machine is wrong"
        yield f"{why}: nothing expires until it is right", "momo doctor clock"
    if at(data, "awake.hold") in _SLEEPY:
        yield "the machine may fall asleep", "momo doctor service"
    stopped = _DISK.get(str(at(data, "disk.room")))
    if stopped is not None:
        yield f"the disk has {size(data.get('disk_free_bytes'))} left{stopped}", "momo doctor disk"


def _untold(data: Row) -> Iterator[str]:
    """Return the lines of which money is unaccounted for."""
    for device in at(data, "lines.phones") or ():
        for sim in device.get("sims") or ():
            if sim.get("unaccounted"):
                number = phone(at(sim, "line.phone_number"))
                yield number or f"{clean(device.get('name'))}:{sim.get('slot_index')}"


def _troubles(data: Row) -> Iterator[tuple[str, str]]:
    """Return the same of each line, phone, endpoint and file of wordings."""
    for worker in data.get("hung") or ():
        yield f"{clean(worker)} hangs", "momo logs --level warning"
    for number in _untold(data):
        yield f"{number}: money moved that no message told of", "momo lines"
    for wrong in at(data, "templates.problems") or ():
        where = f"{clean(wrong.get('file'))}:{wrong.get('line')}"
        yield f"{where}: {clean(wrong.get('why'))}", "momo templates list"
    for port in data.get("phones") or ():
        troubles = port.get("troubles") or ()
        for trouble in troubles:
            yield named(port, trouble), "momo doctor modem"
        if not troubles and port.get("state") not in _WELL:
            yield f"{called(port)}: {clean(port.get('detail'))}", ""
    for endpoint in data.get("endpoints") or ():
        if endpoint.get("auto_paused_at"):
            yield (
                f"{clean(endpoint.get('url'))} was paused after failures",
                "momo endpoints list",
            )


def _lines(data: Row, terminal: Terminal) -> Iterator[str]:
    parts = [
        f"momo {clean(data.get('version'))}",
        clean(at(data, "shop.name")),
        f"up {uptime(data.get('uptime_s'))}" if data.get("uptime_s") is not None else "",
        f"db {size(at(data, 'db.bytes'))} {clean(at(data, 'db.last_check'))}".rstrip()
        if at(data, "db.bytes") is not None
        else "",
        f"backup {ago(at(data, 'db.backed_up_at'), terminal)}"
        if at(data, "db.backed_up_at")
        else "",
        _clock(data),
    ]
    yield " · ".join(part for part in parts if part)
    yield from _titled("LINES", list(_line_lines(data, terminal)), terminal)
    yield from _titled("PHONES", list(_phone_lines(data, terminal)), terminal)
    today = data.get("today")
    if isinstance(today, dict):
        yield from _titled("TODAY", [_today(today)], terminal)
    yield from _titled("WEBHOOKS", list(_webhook_lines(data, terminal)), terminal)


def _clock(data: Row) -> str:
    """Say whether the clock is right, and how far the networks' time in the last SMS is ahead of it."""
    state, skew_s = clean(at(data, "clock.state")), at(data, "clock.skew_s")
    if not state or not isinstance(skew_s, int):
        return f"clock {state}" if state else ""
    return f"clock {state} (modem {skew_s:+} s)"


def _titled(title: str, lines: list[str], terminal: Terminal) -> Iterator[str]:
    from momo_cli.wrapping import hung  # noqa: PLC0415  # only people get lines

    for line in lines:
        for piece in hung(terminal.plain(line), max(20, terminal.width - _TITLE), labels=False):
            yield f"{title:<{_TITLE}}{piece}"
            title = ""


def _line_lines(data: Row, terminal: Terminal) -> Iterator[str]:
    phones = at(data, "lines.phones") or ()
    for device in phones:
        for sim in device.get("sims") or ():
            number = at(sim, "line.phone_number")
            where = f"{clean(device.get('name'))}:{sim.get('slot_index')}"
            shown = phone(number) if number else styled(Cell("no number", "yellow"), terminal)
            yield f"{clean(sim.get('network')) or '—'} {shown}   {where}"
            if told := untold(sim.get("unaccounted"), terminal):
                yield f"    {styled(Cell('! ' + told, 'yellow'), terminal)}"
    if not phones:
        yield "no SIM of yours" if data.get("phones") else "no phone connected"


def _phone_lines(data: Row, terminal: Terminal) -> Iterator[str]:
    """Say how each phone fares: signal, how full its SIM is, when the last SMS came; and what is wrong."""
    for port in data.get("phones") or ():
        last = ago(port.get("last_sms_at"), terminal)
        told = [
            f"signal {bars(port, terminal)}" if port.get("signal") else "",
            f"last SMS {last}" if last else "",
            f"SIM holds {storage(port)}" if port.get("storage") else "",
        ]
        if not port.get("troubles") and port.get("state") != _READY:
            told += [clean(port.get("detail"))]
        head = f"{called(port)}  {styled(state(port), terminal)}"
        yield "  ".join(part for part in (head, *told) if part)
        for line in trouble_lines(port, terminal):
            yield f"    {line}"
        if not port.get("troubles") and port.get("next"):
            yield f"    {clean(port['next'])}"


def _today(today: Row) -> str:
    """Return the totals of the day: each member of `today` that is there, in the day's own words."""
    told = []
    for name, value in today.items():
        if isinstance(value, dict):
            if not value.get("count") and name != "paid":
                continue
            amount = money(value.get("amount"), value.get("currency"))
            told.append(f"{value.get('count', 0)} {clean(name)} {amount}".rstrip())
        elif value is not None:
            told.append(f"{clean(value)} {_COUNTED.get(name, clean(name))}")
    return " · ".join(told) or "nothing yet"


def _webhook_lines(data: Row, terminal: Terminal) -> Iterator[str]:
    for endpoint in data.get("endpoints") or ():
        paused = endpoint.get("auto_paused_at") or endpoint.get("is_active") is False
        mark = Cell("✗ paused", "red") if paused else Cell("✓", "green")
        queued = endpoint.get("queued")
        waits = f"  {queued} queued" if isinstance(queued, int) else ""
        yield f"{clean(endpoint.get('url'))} {styled(mark, terminal)}{waits}"
    queue = data.get("queue")
    if isinstance(queue, dict):
        yield " · ".join(f"{value} {_kind(name, value)}" for name, value in queue.items())


def _kind(name: str, number: object) -> str:
    words = clean(name).replace("_", " ")
    return words.removesuffix("s") if number == 1 else words
