"""The commands about the state of the shop: status, doctor, notices."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import NOTICES, id_of
from momo_cli.inputs.parameters import WATCH, argument, flag, option
from momo_cli.inputs.typed_values import owners_password
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Cell, Row, dumps, made, view_of
from momo_cli.show.render import parse_interval, repeat_answer
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, counted, money, phone, size, styled, unaccounted_text, uptime
from momo_cli.socket.client import Client
from momo_cli.socket.connect import is_set_up
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
_PRACTICE: Final = "only simulated phones, for the sandbox: no real payment is seen"
_COUNTED: Final = {"review": "to review", "unsettled": "to settle"}
_UNSOUND: Final = {
    "damaged": ("the database is damaged: no payment is recorded until a backup is restored", "momo restore --stop"),
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


@command("status", view=VIEW, read=True)
def status(
    client: Client,
    terminal: Terminal,
    fail_if_unhealthy: bool = flag("Exit 6 when something needs attention."),
    watch: str | None = WATCH,
) -> Answer:
    """That is the state of the daemon, the lines, today's payments and the webhooks.

    Examples:
        momo status
        momo status --watch
        momo status --fail-if-unhealthy --quiet
    """
    look = partial(_look, client, fail_if_unhealthy=fail_if_unhealthy)
    return repeat_answer(look, client, terminal, VIEW, parse_interval(watch))


def _look(client: Client, terminal: Terminal, *, fail_if_unhealthy: bool) -> Answer:
    reply = client.get(Path.LOCAL_STATUS)
    data: dict[str, Any] = reply.data or {}
    found = list(_findings(data))
    # Open reviews, what is owed, and notices are no fault, but somebody should look at them.
    waiting = {
        "today.review": "momo review list",
        "today.unsettled": "momo tx list --unsettled",
        "notices.unseen": "momo notices list",
    }
    return Answer(
        *reply.parts,
        lines=list(_lines(data, terminal)),
        notes=[f"! {what}" for what, _ in found] if terminal.human else (),
        next=[
            *dict.fromkeys(command for _, command in found if command),
            *(command for path, command in waiting.items() if at(data, path)),
        ],
        exit_code=exit_codes.FINDINGS if fail_if_unhealthy and found else exit_codes.OK,
        faults=[what for what, _ in found] if fail_if_unhealthy else None,
    )


def _findings(data: Row) -> Iterator[tuple[str, str]]:
    """Yield the findings that need attention, each with the command that shows more."""
    for problem in data.get("problems") or ():
        yield clean(problem.get("text")), clean(problem.get("next"))
    check = clean(at(data, "db.last_check"))
    if check not in ("", "ok") and not data.get("problems"):
        yield _UNSOUND.get(check, (f"the database check says: {check}", "momo doctor db"))
    clock = clean(at(data, "clock.why")) or "the clock of this machine is wrong"
    journal, room = clean(at(data, "message_journal.why")), str(at(data, "disk.room"))
    lacking = at(data, "messages.incomplete") or 0
    lacks = "a long message lacks" if lacking == 1 else f"{lacking} long messages lack"
    shut = clean(at(data, "lines.receiving_reason"))
    unseen = _PRACTICE if _practises(data) else f"payments are not seen: {shut}"
    problem, waiting = clean(at(data, "settings.problem")), at(data, "settings.restart") or ()
    rows = (
        (at(data, "clock.state") == "suspect", f"{clock}: nothing expires until it is corrected", "momo doctor clock"),
        (at(data, "awake.hold") in _SLEEPY, "the machine may fall asleep", "momo doctor service"),
        (journal, f"the second folder of the message journal: {journal}", "momo doctor backup"),
        (at(data, "message_journal.recovering"),
         "messages of the message journal are taken in again; no phone is read meanwhile", ""),
        (room in _DISK, f"the disk has {size(data.get('disk_free_bytes'))} left{_DISK.get(room)}", "momo doctor disk"),
        (at(data, "lines.ready") is False, "a SIM has no number", "momo lines"),
        (at(data, "lines.receiving") is False, unseen, "momo lines"),
        (data.get("http_security") == "none",
         f"other machines can read the traffic of http://{clean(data.get('http'))}", "momo help files"),
        (data.get("secrets") == "locked", "the secrets are locked: webhooks wait", "momo help files"),
        (lacking, f"{lacks} parts for over a day", "momo messages list --state incomplete"),
        (at(data, "queue.dead_letters"), "some deliveries failed for good", "momo deliveries list --status failed"),
        *((True, f"{clean(worker)} hangs", "momo daemon logs --level warning") for worker in data.get("hung") or ()),
        *((True, f"{line}: money moved without a message", "momo lines") for line in _unaccounted(data)),
        (problem, f"the settings are not used: {problem}", "momo config edit"),
        (waiting, f"{clean(', '.join(waiting))}: takes effect at the next start", "momo daemon restart"),
        *((True, f"{clean(wrong.get('file'))}:{wrong.get('line')}: {clean(wrong.get('why'))}",
           "momo messages templates list") for wrong in at(data, "templates.problems") or ()),
    )  # fmt: skip
    yield from ((text, following) for wrong, text, following in rows if wrong)
    for port in data.get("phones") or ():
        troubles = port.get("troubles") or ()
        yield from ((trouble_text(port, trouble), "momo doctor modem") for trouble in troubles)
        if not troubles and port.get("state") not in (_READY, "opening", "starting"):
            yield f"{modem_name(port)}: {clean(port.get('detail'))}", ""
    for each in data.get("endpoints") or ():
        if each.get("is_active") is False and not each.get("is_sandbox"):
            why = "was paused after failures" if each.get("auto_paused_at") else "is paused"
            yield f"{clean(each.get('url'))} {why}", f"momo endpoints resume {clean(each.get('id'))}"


def _practises(data: Row) -> bool:
    """Return whether all phones are simulated."""
    phones = data.get("phones") or ()
    return bool(phones) and all(port.get("simulated") for port in phones)


def _unaccounted(data: Row) -> Iterator[str]:
    """Yield the lines with money that came in without a message."""
    for device in at(data, "lines.phones") or ():
        for sim in device.get("sims") or ():
            if sim.get("unaccounted"):
                number = phone(at(sim, "line.phone_number"))
                yield number or f"{clean(device.get('name'))}:{sim.get('slot_index')}"


def _lines(data: Row, terminal: Terminal) -> Iterator[str]:
    states = {
        "starting": Cell("! starting: the database is being opened", "yellow"),
        "standby": Cell(f"! {clean(data.get('waiting'))}", "yellow"),
        "degraded": Cell("✗ degraded: no payment is recorded", "red"),
    }
    if cell := states.get(str(data.get("state"))):
        yield styled(cell, terminal)
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
            elif value or (name not in _COUNTED and value is not None):
                parts.append(f"{clean(value)} {_COUNTED.get(name, clean(name))}")
        yield from _titled("TODAY", [(" · ".join(parts) or "nothing yet")], terminal)
    yield from _titled("WEBHOOKS", list(_webhook_lines(data, terminal)), terminal)
    if unseen := at(data, "notices.unseen"):
        yield from _titled("NOTICES", [f"{unseen} not seen yet"], terminal)


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
    elif not phones and _practises(data):
        yield _PRACTICE
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


_INDENT: Final = "       "
_NOW: Final = Cell("! now", "red")
_NOTE: Final = Cell("- note", "dim")
_OVER: Final = Cell("✓ over", "green")
_WORST: Final = (_NOW, _NOTE, _OVER)
"""The marks, the most urgent first."""
_SHOWN_MAX: Final = 3
"""The notices of one reason that are shown one by one."""
_ID_SHOWN: Final = 8
_LIST_VIEW: Final = view_of("id kind urgent text next count first_at last_at seen_at recovered_at")


@command("notices list", view=_LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    every: bool = flag("--all", "Seen notices too."),
    limit: int = option("At most N.", default=50, min=1, max=500),
) -> Answer:
    """These are the notices that you have not marked as seen, newest first; with --all the seen ones too. Notices for the
    same reason stand together. The list does not mark them as seen: use momo notices seen.

    Examples:
        momo notices list
    """
    reply = client.get(Path.LOCAL_NOTICES, all="1" if every else None, limit=limit)
    rows, failed = reply.data or [], at(reply.body, "meta.not_sent")
    groups: dict[str, list[Row]] = {}  # the group with the newest notice comes first
    for row in rows:
        groups.setdefault(str(row.get("kind")), []).append(row)
    notes = []
    if isinstance(failed, dict):
        notes.append(f"! {clean(failed.get('channel'))}: {clean(failed.get('error'))}")
    return Answer(
        *reply.parts,
        lines=[line for group in groups.values() for line in _notice_lines(group, terminal)],
        empty="Nothing new.",
        notes=notes,
        next=["momo notices seen"] if rows and not every else [],
    )


def _mark(row: Row) -> Cell:
    if row.get("recovered_at"):
        return _OVER
    return _NOW if row.get("urgent") else _NOTE


def _notice_lines(group: list[Row], terminal: Terminal) -> Iterator[str]:
    """Return the lines of the notices for one reason; a command has a line of its own, to be copied."""
    first = group[0]
    if len(group) == 1:
        yield f"{styled(_mark(first), terminal)}  {_when(first, terminal)}"
        yield f"{_INDENT}{clean(first.get('text'))}"
    else:
        worst = min((_mark(row) for row in group), key=_WORST.index)
        yield f"{styled(worst, terminal)}  {len(group)} notices: {clean(first.get('kind'))}"
    for row in group[:_SHOWN_MAX] if len(group) > 1 else ():
        yield f"{_INDENT}{_when(row, terminal)}"
        yield f"{_INDENT}  {clean(row.get('text'))}"
    if len(group) > _SHOWN_MAX:
        yield f"{_INDENT}and {len(group) - _SHOWN_MAX} more: momo notices list -o plain"
    for typed in dict.fromkeys(clean(row.get("next")) for row in group[:_SHOWN_MAX]):
        if typed:
            yield f"{_INDENT}{typed}"


def _when(row: Row, terminal: Terminal) -> str:
    """Return the age of a notice, how often it occurred, and the beginning of its id, which commands accept."""
    count = row.get("count")
    times = f"  {count} times" if isinstance(count, int) and count > 1 else ""
    which = terminal.style(clean(row.get("id"))[:_ID_SHOWN], "dim")
    return f"{ago(row.get('last_at'), terminal)}{times}  {which}"


@command("notices seen", view=view_of("seen", id="seen"))
def seen(
    client: Client,
    terminal: Terminal,
    notice: str | None = argument("[ID]", "One notice: its id, or a part of it.", default=None),
) -> Answer:
    """All of them are marked, or the one with ID. A notice that occurs again is shown again.

    Examples:
        momo notices seen
        momo notices seen 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
    """
    body = {} if notice is None else {"id": id_of(client, NOTICES, notice)}
    reply = client.call("POST", Path.LOCAL_NOTICES_SEEN, body=body)
    said = counted(reply.data.get("seen") or 0, "notice")
    return Answer(*reply.parts, lines=[f"{terminal.tick} {said} seen."])


@command("notices test", view=view_of("channel", id="channel"))
def send_test(client: Client, terminal: Terminal) -> Answer:
    """It goes through each channel in the settings: [smtp] and [notices] of config.toml.

    Examples:
        momo notices test
    """
    reply = client.call("POST", Path.LOCAL_NOTICES_TEST)
    channels = reply.data.get("queued") or []
    if not channels:
        return Answer(
            reply.text,
            empty="The settings have no channel: set host and to under [smtp], or desktop under [notices].",
            next=["momo config edit", "momo config set notices.desktop true"],
            exit_code=exit_codes.FINDINGS,
        )
    names = ", ".join(clean(one) for one in channels)
    return Answer(
        reply.text,
        [{"channel": one} for one in channels],
        lines=[f"{terminal.tick} On its way by {names}."],
        next=["momo notices list"],
    )


@command("notices password", view=view_of("set", id="set"))
def password(
    client: Client,
    terminal: Terminal,
    password_file: str | None = option("FILE", "The password; - = stdin."),
    forget: bool = flag("Delete the stored password."),
) -> Answer:
    """It is the account that sends the notices; the password is stored encrypted. --forget deletes it.

    Examples:
        momo notices password
        momo notices password --forget
    """
    question = "The mail account's password: "
    typed = None if forget else owners_password(terminal, password_file, question)
    reply = client.call("POST", Path.LOCAL_SMTP_PASSWORD, body={"password": typed})
    state = "The password is stored, encrypted." if typed is not None else "No password is stored."
    return Answer(*reply.parts, lines=[f"{terminal.tick} {state}"], next=["momo notices test"])


AREAS: Final = (
    "daemon", "socket", "http", "db", "disk", "clock", "modem", "sim", "parser", "hub", "endpoints", "dns", "keyring",
    "service", "timers", "backup", "permissions", "ledger", "upgrade",
)  # fmt: skip
_MARKS: Final = {
    "ok": Cell("✓", "green"),
    "warn": Cell("!", "yellow"),
    "fail": Cell("✗", "red"),
    "skip": Cell("—", "dim"),
}
_WIDE: Final = 60
"""From this width on, a fix is printed below the detail instead of below the mark."""
_NAMES: Final = {"fail": "problem", "warn": "warning"}
_STATES: Final = {
    "current": ("✓", "green", "The database has the schema of this momo; nothing will change."),
    "migrates": ("✓", "green", "The database will be migrated at the next start:"),
    "newer": ("✗", "red", "The database was written by a newer momo; this one will not start."),
    "incompatible": ("✗", "red", "This momo cannot read the database; it will not start."),
    "damaged": ("✗", "red", "The database is damaged; no momo will start on it."),
}


@command("doctor", view=view_of("id area status detail fix"), read=True)
def doctor(
    client: Client,
    terminal: Terminal,
    area: list[str] | None = argument("[AREA]...", f"One of {', '.join(AREAS)}; default: all.", default=None),
    strict: bool = flag("Exit 6 for warnings too."),
    fix: bool = flag("Apply the safe fixes, and list them."),
    deep: bool = flag("Area ledger: read each payment's SMS again and compare."),
    bundle: str | None = option("FILE", "Write a .tar.gz for support."),
    all_: bool = flag("--all", "Show also what is well or skipped, and durations."),
) -> Answer:
    """Each fault is shown with the command that fixes it. Without AREA all areas are checked, and what is well is shown
    with --all only. Without a running daemon its checks are skipped. Nothing is changed without --fix, which applies the safe fixes and lists them. --bundle writes a
    file for support, without names, numbers and secrets; the list of its files is shown first. Exit 6 when something is
    wrong; with --strict a warning counts too.

    Examples:
        momo doctor
        momo doctor modem
        momo doctor db ledger --strict --quiet
        momo doctor ledger --deep
        momo doctor --bundle momo-doctor.tar.gz
    """
    for name in area or ():
        if name not in AREAS:
            raise usage(f"there is no area {name!r}; there are {', '.join(AREAS)}", "momo doctor")
    if bundle is not None and not bundle.endswith(".tar.gz"):
        why = "--bundle names a file that ends in .tar.gz"
        raise usage(why, "momo doctor --bundle momo.tar.gz")
    body = _checked(client, terminal, area or (), fix=fix, deep=deep)
    data: dict[str, Any] = body.get("data") or {}
    packed, agreed = (None, True) if bundle is None else _pack(terminal, bundle, area or ())
    if packed is not None:
        data["bundle"] = packed
    for one in data.get("fixed") or ():
        terminal.note(f"fixed {clean(one.get('id'))}: {clean(one.get('did'))}")
    if packed is not None and packed.get("bytes"):
        file = f"{clean(packed['path'])} ({size(int(packed['bytes']))})"
        terminal.note(f"Wrote {file}. Look through it before you send it.")
    checks: list[dict[str, Any]] = data.get("checks") or []
    bad = [c for c in checks if c.get("status") in (("fail", "warn") if strict else ("fail",))]
    areas = dict.fromkeys(clean(check.get("area")) for check in bad)
    code = exit_codes.FINDINGS if bad else exit_codes.OK
    shown = checks if all_ or area else [c for c in checks if c.get("status") in _NAMES]
    lines = list(_check_lines(shown, terminal, timed=all_ or bool(area)))
    statuses = [check.get("status") for check in checks]
    counts = [(statuses.count(name), noun) for name, noun in _NAMES.items()]
    found = [counted(count, noun) for count, noun in counts if count]
    return Answer(
        dumps({**body, "data": data}),
        checks,
        lines=[*lines, *([""] if lines else []), ", ".join(found) + "." if found else "All is well."],
        exit_code=code if agreed else exit_codes.CANCELLED,
        faults=[clean(check.get("detail")) for check in bad] if bundle is None else None,
        # The command that shows the faults in full, for the single line of --quiet.
        next=[" ".join(["momo doctor", *areas])] if bad and terminal.flags.quiet else (),
    )


def _checked(client: Client, terminal: Terminal, areas: Sequence[str], *, fix: bool, deep: bool) -> dict[str, Any]:
    """Return the checks after the fixes, by the daemon if it runs."""
    if deep and (fix or (*areas,) not in ((), ("ledger",))):
        raise usage("--deep goes with the area ledger only", "momo doctor ledger --deep")
    if deep:
        # In a process of its own, so that a long check does not slow the daemon down.
        return run_verb(terminal, "doctor", "--json", "--deep", "ledger").body
    fixed: list[dict[str, Any]] = []
    if fix:
        fixed = at(run_verb(terminal, "doctor", "--json", "--fix", *areas).body, "data.fixed") or []
    if client.alive():
        body = client.get(Path.LOCAL_DOCTOR, area=",".join(areas) or None).body
    else:
        body = run_verb(terminal, "doctor", "--json", *areas).body
    data = {name: value for name, value in (body.get("data") or {}).items() if name != "fixed"}
    return {**body, "data": {**data, "fixed": fixed} if fix else data}


def _pack(terminal: Terminal, bundle: str, areas: Sequence[str]) -> tuple[dict[str, Any] | None, bool]:
    """Show the bundle's files, ask on a terminal, write it; return the bundle, and whether the answer was yes."""
    flags = ("doctor", "--json", f"--bundle={bundle}", *areas)
    listed: dict[str, Any] = at(run_verb(terminal, *flags, "--dry-run").body, "data.bundle") or {}
    terminal.complain(f"{clean(bundle)} will contain, without names, numbers and secrets:")
    for name, count in (listed.get("files") or {}).items():
        terminal.complain(f"  {size(int(count)):>9}  {clean(name)}")
    if terminal.can_ask() and not terminal.confirm("Write it?"):
        return {**listed, "bytes": None}, False
    return at(run_verb(terminal, *flags).body, "data.bundle"), True


def _check_lines(checks: Sequence[Row], terminal: Terminal, *, timed: bool) -> Iterator[str]:
    width = max([19, *(len(str(check.get("id"))) for check in checks)])
    wide = terminal.width >= _WIDE
    for check in checks:
        status = str(check.get("status"))
        mark = styled(_MARKS.get(status, Cell("?")), terminal)
        took = f"  ({check['ms']} ms)" if timed and check.get("ms") else ""
        yield f"{mark} {clean(check.get('id')):<{width}}  {clean(check.get('detail'))}{took}"
        if check.get("fix") and status not in {"ok", "skip"}:
            yield f"{' ' * (width + 4 if wide else 4)}fix: {clean(check['fix'])}"


@command("daemon upgrade-check", view=view_of("state schema program_schema room restart", id="state"))
def upgrade_check(client: Client, terminal: Terminal) -> Answer:
    """The shop stays as it is, its database is migrated, or this version refuses to start on it. The command itself
    changes nothing. The daemon backs up a database before it migrates it. Exit 6 when this version would not start on
    it, or there is no room for that backup.

    Examples:
        momo daemon upgrade-check
    """
    if not is_set_up(terminal.located.places):
        raise Failure(ErrorCode.NOT_SET_UP)
    row: dict[str, Any] = dict(run_verb(terminal, "upgrade-check").data)
    status = client.find(Path.LOCAL_STATUS) if client.alive() else None
    runs = None if status is None else clean(at(status, "version"))
    row["daemon"] = runs
    row["restart"] = runs is not None and runs != row.get("version")
    refused = row.get("state") in ("newer", "incompatible", "damaged")
    bad = refused or row.get("room") is False
    restart = row["restart"] and not bad
    following = {"newer": "momo --version", "damaged": "momo restore --help"}.get(row["state"], "")
    return Answer(
        *made(row),
        lines=list(_effect(terminal, row)),
        next=[following] if following else ["momo daemon restart"] if restart else [],
        exit_code=exit_codes.FINDINGS if bad else exit_codes.OK,
    )


def _effect(terminal: Terminal, row: dict[str, Any]) -> Iterator[str]:
    mark, style, sentence = _STATES.get(str(row.get("state")), ("?", "", str(row.get("state"))))
    yield f"{terminal.style(mark, style)} {sentence}"
    if row.get("why"):
        yield f"    {clean(row['why'])}"
    for step in row.get("steps") or ():
        yield f"    {clean(step)}"
    if row.get("steps"):
        yield "  It is backed up before."
    yield f"  schema    {row.get('schema')} (this momo: {row.get('program_schema')})"
    if row.get("bytes") is not None:
        mark = "" if row.get("room") else terminal.style("  ! too little for a backup", "yellow")
        yield f"  size      {size(row['bytes'])}, {size(row['free_bytes'])} free{mark}"
    age = at(row, "latest_backup.age_s")
    yield f"  backup    {'none yet: momo backup create' if age is None else uptime(age) + ' old'}"
    if row["restart"]:
        yield f"{terminal.style('!', 'yellow')} The running daemon is {clean(row['daemon'])}."
