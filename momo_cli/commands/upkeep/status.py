"""The command status: the state of the whole shop."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import WATCH, flag
from momo_cli.show.answer import Answer, Cell, Row, view_of
from momo_cli.show.repeat import parse_interval, repeat_answer
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, counted, money, phone, size, styled, unaccounted_text, uptime
from momo_cli.socket.client import Client
from momo_cli.text import at, clean
from momo_cli.views.lines import bars, modem_name, modem_state, storage, trouble_lines, trouble_text

VIEW: Final = view_of(
    "version pid uptime_s db_path=db.path db_bytes=db.bytes db_schema=db.schema",
    "lines_ready=lines.ready lines_receiving=lines.receiving pending=queue.pending retrying=queue.retrying",
    "failed=queue.failed dead_letters=queue.dead_letters secrets disk_free_bytes",
    "disk_room=disk.room clock=clock.state clock_skew_s=clock.skew_s clock_witness=clock.witness state",
    id="pid",
)
_TITLE: Final = 10
_READY: Final = "ready"
_WELL: Final = (_READY, "opening", "starting")
_COUNTED: Final = {"review": "to review"}
_UNSOUND: Final = {
    "damaged": (
        "the database is damaged: no payment is recorded until a backup is restored",
        "momo restore --stop",
    ),
    "findings": ("the ledger check has findings", "momo doctor ledger"),
}
_SLEEPY: Final = ("refused", "idle_only")
"""The machine should be kept awake, but cannot be."""
_DISK: Final = {
    "low": "",
    "tight": ": no backup and no export is made",
    "full": ": new transactions are refused, payments are still recorded",
}
"""The levels of free disk space that need attention, and their effects."""


@command("status", view=VIEW)
def status(
    client: Client,
    terminal: Terminal,
    fail_if_unhealthy: bool = flag("Exit 6 when something needs attention."),
    watch: str | None = WATCH,
) -> Answer:
    """Show the state of the shop.

    That is the state of the daemon, the lines, today's payments and the webhooks.

    Examples:
        momo status
        momo status --watch
        momo status --fail-if-unhealthy --quiet
        momo status --get data.queue.pending
    """
    look = partial(_look, client, fail_if_unhealthy=fail_if_unhealthy)
    return repeat_answer(look, client, terminal, VIEW, parse_interval(watch))


def _look(client: Client, terminal: Terminal, *, fail_if_unhealthy: bool) -> Answer:
    reply = client.get(Path.LOCAL_STATUS)
    data: dict[str, Any] = reply.data or {}
    found = list(_findings(data))
    # Open reviews are no fault, but need an operator.
    reviews = ["momo review list"] if at(data, "today.review") else []
    return Answer(
        *reply.parts,
        lines=list(_lines(data, terminal)),
        notes=[f"! {what}" for what, _ in found] if terminal.human else (),
        next=[*dict.fromkeys(command for _, command in found if command), *reviews],
        exit_code=exit_codes.FINDINGS if fail_if_unhealthy and found else exit_codes.OK,
        faults=[what for what, _ in found] if fail_if_unhealthy else None,
    )


def _findings(data: Row) -> Iterator[tuple[str, str]]:
    """Yield the findings that need attention, each with the command that shows more."""
    for problem in data.get("problems") or ():
        yield clean(problem.get("text")), clean(problem.get("next"))
    check = at(data, "db.last_check")
    if check not in (None, "ok") and not data.get("problems"):
        other = (f"the database check says: {clean(check)}", "momo doctor db")
        yield _UNSOUND.get(str(check), other)
    yield from _machine(data)
    if at(data, "lines.ready") is False:
        yield "a SIM has no number", "momo lines"
    if at(data, "lines.receiving") is False:
        yield f"payments are not seen: {clean(at(data, 'lines.receiving_reason'))}", "momo lines"
    if data.get("http_security") == "none":
        address = f"http://{clean(data.get('http'))}"
        yield f"other machines can read the traffic of {address}", "momo help files"
    if unseen := at(data, "notices.unseen"):
        yield f"{counted(unseen, 'notice')} not seen yet", "momo notices list"
    if data.get("secrets") == "locked":
        yield "the secrets are locked: webhooks wait", "momo help files"
    if lacking := at(data, "messages.incomplete"):
        which = "a long message lacks" if lacking == 1 else f"{lacking} long messages lack"
        yield f"{which} parts for over a day", "momo messages list --state incomplete"
    if at(data, "queue.dead_letters"):
        yield "some deliveries failed for good", "momo deliveries list --status failed"
    yield from _troubles(data)


def _machine(data: Row) -> Iterator[tuple[str, str]]:
    """Yield the findings about the computer."""
    if at(data, "clock.state") == "suspect":
        why = clean(at(data, "clock.why")) or "the clock of this machine is wrong"
        yield f"{why}: nothing expires until it is corrected", "momo doctor clock"
    if at(data, "awake.hold") in _SLEEPY:
        yield "the machine may fall asleep", "momo doctor service"
    if why := clean(at(data, "message_journal.why")):
        yield f"the second folder of the message journal: {why}", "momo doctor backup"
    if at(data, "message_journal.recovering"):
        yield "messages of the message journal are taken in again; no phone is read meanwhile", ""
    stopped = _DISK.get(str(at(data, "disk.room")))
    if stopped is not None:
        yield f"the disk has {size(data.get('disk_free_bytes'))} left{stopped}", "momo doctor disk"


def _unaccounted(data: Row) -> Iterator[str]:
    """Yield the lines with money that came in without a message."""
    for device in at(data, "lines.phones") or ():
        for sim in device.get("sims") or ():
            if sim.get("unaccounted"):
                number = phone(at(sim, "line.phone_number"))
                yield number or f"{clean(device.get('name'))}:{sim.get('slot_index')}"


def _files(data: Row) -> Iterator[tuple[str, str]]:
    """Yield the findings about the settings and the shop's own wordings."""
    if why := clean(at(data, "settings.problem")):
        yield f"the settings are not used: {why}", "momo config edit"
    if waiting := at(data, "settings.restart"):
        yield f"{clean(', '.join(waiting))}: takes effect at the next start", "momo daemon restart"
    for wrong in at(data, "templates.problems") or ():
        where = f"{clean(wrong.get('file'))}:{wrong.get('line')}"
        yield f"{where}: {clean(wrong.get('why'))}", "momo messages templates list"


def _troubles(data: Row) -> Iterator[tuple[str, str]]:
    """Yield the findings of each worker, line, wordings file, phone and endpoint."""
    for worker in data.get("hung") or ():
        yield f"{clean(worker)} hangs", "momo daemon logs --level warning"
    for number in _unaccounted(data):
        yield f"{number}: money moved without a message", "momo lines"
    yield from _files(data)
    for port in data.get("phones") or ():
        troubles = port.get("troubles") or ()
        for trouble in troubles:
            yield trouble_text(port, trouble), "momo doctor modem"
        if not troubles and port.get("state") not in _WELL:
            yield f"{modem_name(port)}: {clean(port.get('detail'))}", ""
    for endpoint in data.get("endpoints") or ():
        if endpoint.get("auto_paused_at"):
            url = clean(endpoint.get("url"))
            yield f"{url} was paused after failures", "momo endpoints list"


def _lines(data: Row, terminal: Terminal) -> Iterator[str]:
    if data.get("state") == "starting":
        yield styled(Cell("! starting: the database is being opened", "yellow"), terminal)
    if data.get("state") == "standby":
        yield styled(Cell(f"! {clean(data.get('waiting'))}", "yellow"), terminal)
    if data.get("state") == "degraded":
        yield styled(Cell("✗ degraded: no payment is recorded", "red"), terminal)
    if server := clean(at(data, "db.server")):
        yield f"stored in {server}"
    up_s, bytes_ = data.get("uptime_s"), at(data, "db.bytes")
    check, backed_up = clean(at(data, "db.last_check")), at(data, "db.backed_up_at")
    parts = [
        f"momo {clean(data.get('version'))}",
        clean(at(data, "shop.name")),
        f"up {uptime(up_s)}" if up_s is not None else "",
        f"db {size(bytes_)} {check}".rstrip() if bytes_ is not None else "",
        f"backup {ago(backed_up, terminal)}" if backed_up else "",
        _clock(data),
    ]
    yield " · ".join(part for part in parts if part)
    yield from _titled("LINES", list(_line_lines(data, terminal)), terminal)
    yield from _titled("PHONES", list(_phone_lines(data, terminal)), terminal)
    today = data.get("today")
    if isinstance(today, dict):
        parts = []
        for name, value in today.items():
            if isinstance(value, dict):
                if not value.get("count") and name != "paid":
                    continue
                amount = money(value.get("amount"), value.get("currency"))
                parts.append(f"{value.get('count', 0)} {clean(name)} {amount}".rstrip())
            elif value is not None:
                parts.append(f"{clean(value)} {_COUNTED.get(name, clean(name))}")
        yield from _titled("TODAY", [(" · ".join(parts) or "nothing yet")], terminal)
    yield from _titled("WEBHOOKS", list(_webhook_lines(data, terminal)), terminal)


def _clock(data: Row) -> str:
    """Return the state of the clock, and how far its witness (messages, the phone, receivers) is ahead of it."""
    state, skew_s = clean(at(data, "clock.state")), at(data, "clock.skew_s")
    if not state or not isinstance(skew_s, int):
        return f"clock {state}" if state else ""
    witness = "receivers" if at(data, "clock.witness") == "receivers" else "modem"
    return f"clock {state} ({witness} {skew_s:+} s)"


def _titled(title: str, lines: list[str], terminal: Terminal) -> Iterator[str]:
    from momo_cli.show.wrapping import wrap_hanging  # noqa: PLC0415  # only people get lines

    for line in lines:
        room = max(20, terminal.width - _TITLE)
        for piece in wrap_hanging(terminal.plain(line), room, labels=False):
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
            if sim.get("receiving") is False:
                why = clean(sim.get("receiving_reason"))
                yield f"    {styled(Cell(f'✗ cannot receive: {why}', 'red'), terminal)}"
            if text := unaccounted_text(sim.get("unaccounted"), terminal):
                yield f"    {styled(Cell('! ' + text, 'yellow'), terminal)}"
    if at(data, "lines") is None:
        yield "unknown, because the database cannot be read"
    elif not phones:
        yield "no SIM of yours" if data.get("phones") else "no phone connected"


def _phone_lines(data: Row, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of each phone: signal, messages on the SIM, last SMS, faults."""
    for port in data.get("phones") or ():
        last = ago(port.get("last_sms_at"), terminal)
        facts = [
            f"signal {bars(port, terminal)}" if port.get("signal") else "",
            f"last SMS {last}" if last else "",
            f"SIM holds {storage(port)}" if port.get("storage") else "",
        ]
        if not port.get("troubles") and port.get("state") != _READY:
            facts += [clean(port.get("detail"))]
        head = f"{modem_name(port)}  {styled(modem_state(port), terminal)}"
        yield "  ".join(part for part in (head, *facts) if part)
        for line in trouble_lines(port, terminal):
            yield f"    {line}"
        if not port.get("troubles") and port.get("next"):
            yield f"    {clean(port['next'])}"


def _webhook_lines(data: Row, terminal: Terminal) -> Iterator[str]:
    for endpoint in data.get("endpoints") or ():
        paused = endpoint.get("auto_paused_at") or endpoint.get("is_active") is False
        mark = Cell("✗ paused", "red") if paused else Cell("✓", "green")
        queued = endpoint.get("queued")
        waits = f"  {queued} queued" if isinstance(queued, int) else ""
        yield f"{clean(endpoint.get('url'))} {styled(mark, terminal)}{waits}"
    queue = data.get("queue")
    if isinstance(queue, dict):
        kinds = {clean(name).replace("_", " "): value for name, value in queue.items()}
        parts = (counted(value, kind.removesuffix("s"), kind) for kind, value in kinds.items())
        yield " · ".join(parts)
