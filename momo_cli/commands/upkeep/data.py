"""Commands about the shop's data: backups, erasure, SQL."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import DRY_RUN, argument, flag, option
from momo_cli.inputs.typed_values import STDIN, only_given, read_text
from momo_cli.service.daemon_program import VerbResult, is_locked, run_verb, stop_daemon
from momo_cli.show.answer import BY_RESULT, Answer, Field, Head, Row, View, dumps, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, counted, fact_lines, phone, size
from momo_cli.socket.client import Client, Reply
from momo_cli.text import at, clean

_FORGOTTEN: Final = {
    "payments": "payments", "orders": "transactions", "messages": "texts of SMS that came in",
    "sms": "SMS that the shop sent", "webhooks": "webhooks", "reviews": "reviews", "approved_names": "approved names",
}  # fmt: skip
_OPEN: Final = {
    "orders": ("transaction", ""),
    "reviews": ("review", ""),
    "messages": ("message", ""),
    "webhooks": ("webhook", ""),
    "sms": ("SMS", "SMS"),
}
"""The noun for unfinished rows of each kind, with its plural if that is not formed with an s."""
_SHOW: Final = {
    "orders": "momo tx show",
    "reviews": "momo review show",
    "messages": "momo messages show",
    "webhooks": "momo deliveries show",
}
"""The command that shows an unfinished row of each kind; an SMS needs nothing, it ends by itself."""
_SHOWN_MAX: Final = 3
_PRUNED: Final = {
    "attempts": "tries of deliveries",
    "responses": "answers to deliveries",
    "dead_letter_responses": "answers in dead letters",
    "notice_sends": "notices that went out",
    "deliveries": "deliveries",
    "messages": "texts of SMS",
    "sent_messages": "texts of SMS that the shop sent",
    "payer_claims": "transaction IDs that customers typed on the checkout page",
}


@command("data forget", view=view_of(*_FORGOTTEN, "total", "mark", id="mark"))
def forget(
    client: Client,
    terminal: Terminal,
    payer: str = option("NUMBER", "The payer's number.", default=...),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """The names, numbers and texts of the payer are erased for good (Ghana's Data Protection Act 2012), also in notes and
    reasons. Amounts, times, transaction IDs, codes and your own references (client_reference) stay: they are the shop's
    accounts. So does the journal, which contains none of that, and notes the erasure without the payer. The message journal is erased too, in the second folder as soon as it can be
    written. Backups contain the data until they are pruned, and so do the receivers of your
    webhooks. momo data export --payer shows the stored data. Exit 5: something of the payer is not finished yet; nothing was
    changed.

    Examples:
        momo data forget --payer 0244124567 --dry-run
        momo data forget --payer 0244124567 --yes
    """
    looked = _call(client, payer, dry_run=True)
    found: dict[str, Any] = looked.data
    if dry_run or not found["total"]:
        return _forget_answer(looked, payer, "to forget")
    if found["open"]:
        why = f"not finished yet: {_named(found)}; nothing was forgotten"
        raise Failure(ErrorCode.PAYER_STILL_OPEN, why, next=tuple(_shows(found)))
    if not terminal.flags.yes:
        terminal.note("\n".join(_lines(found, _FORGOTTEN, "to forget")))
        if not terminal.confirm(f"Forget {phone(payer)} for good? This cannot be undone."):
            return _forget_answer(looked, payer, "stay", exit_codes.CANCELLED)
    return _forget_answer(_call(client, payer, dry_run=False), payer, "forgotten")


def _call(client: Client, number: str, *, dry_run: bool) -> Reply:
    return client.call("POST", Path.LOCAL_PAYER_FORGET, body={"number": number, "dry_run": dry_run})


def _forget_answer(reply: Reply, number: str, what: str, code: int = exit_codes.OK) -> Answer:
    data: dict[str, Any] = reply.data
    unfinished = [f"Not finished yet: {_named(data)}."] if data["open"] else []
    if what == "forgotten" and data.get("second_folder_waits"):
        unfinished.append(
            "The second folder of the message journal has the messages until it can be written: "
            f"{clean(data['second_folder_waits'])}."
        )
    ready = what == "to forget" and data["total"] and not unfinished
    row = {**data["counts"], "total": data["total"], "mark": data["mark"]}
    return Answer(
        reply.text,
        [row] if data["total"] else [],
        lines=_lines(data, _FORGOTTEN, what),
        empty=f"The shop stores nothing about {phone(number)}.",
        notes=unfinished,
        next=[f"momo data forget --payer {number} --yes"] if ready else list(_shows(data)),
        exit_code=code,
    )


def _lines(data: Mapping[str, Any], names: Mapping[str, str], what: str) -> list[str]:
    counts = {name: data["counts"].get(name, 0) for name in names}
    return [f"{count:>9}  {names[name]} {what}" for name, count in counts.items() if count]


def _named(found: Mapping[str, Any]) -> str:
    """Return the number of unfinished rows by kind, with the references of transactions and what is of the sandbox."""
    kinds = []
    for name, count in found["open"].items():
        rows = [row for row in found.get("unfinished") or () if row["kind"] == name]
        tests = sum(bool(row["test"]) for row in rows)
        facts = [clean(row["id"]) for row in rows] if name == "orders" else []
        if tests:
            facts.append("of the sandbox" if tests == count else f"{tests} of the sandbox")
        said = counted(count, *_OPEN.get(name, (name, name)))
        kinds.append(f"{said} ({', '.join(facts)})" if facts else said)
    return ", ".join(kinds)


def _shows(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands that show the first unfinished rows of each kind."""
    for name, show in _SHOW.items():
        rows = [row for row in found.get("unfinished") or () if row["kind"] == name]
        yield from (f"{show} {clean(row['id'])}" for row in rows[:_SHOWN_MAX])


@command("data prune", view=view_of(*_PRUNED, "total", id="total"))
def prune(client: Client, terminal: Terminal, dry_run: bool = DRY_RUN) -> Answer:
    """These are attempts and responses, deliveries and the texts of SMS; payments and the journal stay. The daemon does
    this too, a little each minute; [retention] in config.toml sets how long data is kept. Exit 5: the clock of this
    machine is in doubt, and nothing was erased.

    Examples:
        momo data prune --dry-run
    """
    reply = client.get(Path.LOCAL_PRUNE)
    found: dict[str, Any] = reply.data
    if dry_run or not (found["total"] or found["doubt"]):
        return _prune_answer(reply.text, found, "would go" if found["total"] else "")
    if not terminal.flags.yes and not found["doubt"]:
        terminal.note("\n".join(_lines(found, _PRUNED, "would go")))
        if not terminal.confirm("Erase them for good?"):
            return _prune_answer(reply.text, found, "stay", exit_codes.CANCELLED)
    counts: Counter[str] = Counter()
    more = True
    while more:
        reply = client.call("POST", Path.LOCAL_PRUNE)
        counts.update(reply.data["counts"])
        more = reply.data["more"]
    data = {**reply.data, "counts": dict(counts), "total": counts.total()}
    code = exit_codes.REFUSED if data["doubt"] else exit_codes.OK
    return _prune_answer(dumps({**reply.body, "data": data}), data, "erased", code)


def _prune_answer(document: str, data: Row, what: str, code: int = exit_codes.OK) -> Answer:
    doubt = [f"Nothing is erased now: {clean(data['doubt'])}."] if data["doubt"] else []
    return Answer(
        document,
        [{**data["counts"], "total": data["total"]}] if data["total"] else [],
        lines=_lines(data, _PRUNED, what),
        empty="No data is old enough to erase.",
        notes=doubt,
        next=["momo data prune --yes"] if what == "would go" and not doubt else [],
        exit_code=code,
        faults=doubt if what in ("erased", "") else None,
    )


_ROWS_MAX: Final = 100_000
_SHOW_PHONES = flag("Whole phone numbers; noted in the journal by the daemon.")
_TABLES_VIEW: Final = view_of(
    "table rows columns",
    Head("TABLE", lambda row, _: clean(row.get("table"))),
    Head("ROWS", lambda row, _: f"{row.get('rows'):,}", right=True),
    Head("COLUMNS", lambda row, _: clean(row.get("columns")), right=True),
    id="table",
)
_SCHEMA_VIEW: Final = view_of(
    "table column type shown",
    Head("TABLE", lambda row, _: clean(row.get("table"))),
    Head("COLUMN", lambda row, _: clean(row.get("column"))),
    Head("TYPE", lambda row, _: clean(row.get("type") or "")),
    Head("SHOWN", lambda row, _: clean(row.get("shown"))),
    id="column",
)


@command("data tables", view=_TABLES_VIEW)
def tables(terminal: Terminal) -> Answer:
    """They can be read with momo data query. Their columns: momo data schema TABLE. The daemon need not run.

    Examples:
        momo data tables
    """
    return Answer(*run_verb(terminal, "db", "tables", "--json").parts)


@command("data schema", view=_SCHEMA_VIEW)
def schema(
    terminal: Terminal, table: str | None = argument("[TABLE]", "A table; default: all.", default=None)
) -> Answer:
    """Amounts (..._minor) are whole pesewas, times (..._at) microseconds since 1970 in UTC, ids are text. SHOWN is `no` for
    secrets, which cannot be read, and `masked` for columns in which phone numbers are masked without --show-phones.

    Examples:
        momo data schema payments
    """
    named = [] if table is None else [table]
    return Answer(*run_verb(terminal, "db", "schema", *named, "--json").parts)


@command("data query", view=BY_RESULT)
def query(
    client: Client,
    terminal: Terminal,
    sql: str = argument("SQL|-", "One SELECT; - reads it from stdin."),
    value: list[str] | None = option("-p", "--value", "NAME=VALUE", "The value of :NAME in the SQL; a text."),
    limit: int = option("At most N rows.", default=1_000, min=1, max=_ROWS_MAX),
    show_phones: bool = _SHOW_PHONES,
) -> Answer:
    """Only one SELECT of SQLite, of at most 10 seconds, which changes nothing; the shop works on meanwhile. Secrets cannot
    be read. Phone numbers are masked, also inside texts, and different numbers stay different: 024 *** 4567 #2.
    --show-phones shows them, and needs the daemon, which notes it in the journal. docs/developers/scripts.md has useful queries.

    Examples:
        momo data query 'SELECT status, COUNT(*) AS n FROM transactions GROUP BY status'
        momo data query 'SELECT * FROM transactions WHERE svc_code = :code' -p code=7KQ2MX --json
        momo data query 'SELECT payer_phone, amount_minor FROM payments' --show-phones -o csv
        momo data query - < month.sql
    """
    given = list(value or ())
    for each in given:
        if "=" not in each:
            raise usage(f"-p: {each!r} is not NAME=VALUE")
    statement = read_text(terminal, STDIN) if sql == STDIN else sql
    flags = [f"--limit={limit}", *(f"--value={each}" for each in given)]
    flags += _shown_phones(client, "query", show_phones)
    done = run_verb(terminal, "db", "query", *flags, "--json", stdin=statement)
    columns = [clean(name) for name in at(done.body, "meta.columns") or ()]
    more = at(done.body, "meta.more")
    return Answer(
        *done.parts,
        view=View(tuple(Field(name) for name in columns), id=columns[0] if columns else ""),
        empty="No rows.",
        notes=[f"There are more rows; --limit shows up to {_ROWS_MAX:,}."] if more else [],
    )


@command("data copy", view=view_of("file tables rows", id="file"))
def export(
    client: Client,
    terminal: Terminal,
    file: str = argument("FILE.db", "The new SQLite file."),
    show_phones: bool = _SHOW_PHONES,
) -> Answer:
    """The copy has what momo data query shows: no secrets, and masked phone numbers without --show-phones. It is no backup:
    for that there is momo backup create. The file must not exist.

    Examples:
        momo data copy shop.db --show-phones
    """
    flags = _shown_phones(client, "copy", show_phones)
    done = run_verb(terminal, "db", "export", file, *flags, "--json")
    said = f"{terminal.tick} {done.data['rows']:,} rows of {done.data['tables']} tables are in {clean(file)}."
    return Answer(*done.parts, lines=[said])


def _shown_phones(client: Client, what: str, show_phones: bool) -> list[str]:
    """Return the flag of the verb; the daemon notes it first, or the command fails."""
    if not show_phones:
        return []
    client.call("POST", Path.LOCAL_PHONES_SHOWN, body={"command": f"data {what}"})
    return ["--show-phones"]


_BACKUP: Final = "id path bytes shop schema newest_at verified findings"
_LIST_VIEW: Final = view_of(
    "id path bytes made_at",
    Head("ID", lambda row, _: clean(row.get("id"))),
    Head("MADE", lambda row, t: ago(row.get("made_at"), t)),
    Head("SIZE", lambda row, _: size(int(row.get("bytes") or 0)), right=True),
    Head("FILE", lambda row, _: clean(row.get("path")), cut=True),
)
_STOP_S: Final = 30.0

_NAMED = argument("[ID|FILE]", "The backup.", default=None)


@command("backup create", view=view_of(_BACKUP, "also=also.status"))
def create(
    terminal: Terminal,
    to: str | None = option("FOLDER|FILE", "The place; default: the shop's backup folder."),
    keep: str | None = option("7d,4w,12m", "Remove old backups afterwards."),
) -> Answer:
    """The backup is checked too. The shop stays open meanwhile. The file has every payment, transaction, user and API key.
    It lacks the settings (config.toml), master.key, which opens its encrypted secrets, and the folders templates,
    messages and tls. Keep copies of these somewhere else (momo help files). If a rule of the ledger does not hold in the shop, the backup
    is kept, the findings are shown, and the exit code is 6. --keep removes old backups from the shop's backup folder
    afterwards, as momo backup prune does. Without --to the backup is also copied to `[backup] also_to`, if that is set:
    exit 6 if the copy fails, 0 with a note if the stick is not plugged in.

    Examples:
        momo backup create
        momo backup create --to /media/stick
        momo backup create --keep 7d,4w,12m --quiet
    """
    given = only_given({"to": to, "keep": keep})
    done = _run(terminal, "create", *(f"--{name}={value}" for name, value in given.items()))
    return _shown(done, terminal, "Backed up and checked.", ["momo backup list"])


@command("backup list", view=_LIST_VIEW)
def list_(terminal: Terminal) -> Answer:
    """These are the backups in the shop's backup folder, newest first.

    Examples:
        momo backup list
    """
    done = _run(terminal, "list")
    following = [] if done.data else ["momo backup create"]
    return Answer(*done.parts, empty="No backup yet.", next=following)


@command("backup verify", view=view_of(_BACKUP))
def verify(
    terminal: Terminal,
    name: str | None = _NAMED,
    latest: bool = flag("The newest backup, as without a name."),
    drill: bool = flag("Also restore it into a temporary folder and open it."),
) -> Answer:
    """The whole backup is read: the newest, or the named one. Exit 6: it is not sound. --drill also restores it into a
    temporary folder, opens it there as the daemon would, and removes the folder again: the shop is not touched. momo
    daemon install --timers does so every week.

    Examples:
        momo backup verify --latest --drill
        momo backup verify /media/stick/momo-20261121T080000Z.db
    """
    if latest and name is not None:
        raise usage("name a backup or use --latest, not both")
    named = [] if name is None else [name]
    done = _run(terminal, "verify", *named, *(["--drill"] if drill else []))
    said = "Sound: restored into a temporary folder, opened, and removed." if drill else "Sound."
    return _shown(done, terminal, said, [])


@command("backup prune", view=view_of("id kept"))
def prune_backups(
    terminal: Terminal,
    keep: str = option("7d,4w,12m", "The backups to keep.", default="7d,4w,12m"),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """In the shop's backup folder the newest backup of each kept day, week and month stays. The same is done in the second
    place (`[backup] also_to`), if it is there.

    Examples:
        momo backup prune --dry-run
        momo backup prune --keep 7d,4w,12m
    """
    done = _run(terminal, "prune", f"--keep={keep}", *(["--dry-run"] if dry_run else []))
    going, staying = done.data["removed"], done.data["kept"]
    removed = "would go" if dry_run else "removed"
    rows = [{"id": one, "kept": True} for one in staying]
    rows += [{"id": one, "kept": False} for one in going]
    said = f"{terminal.tick} {len(going)} {removed}, {len(staying)} stay."
    if there := done.data.get("also_removed"):
        said += f" In the second place {len(there)} {removed}."
    return Answer(done.text, rows, lines=[said, *(f"  {one}" for one in going)], faults=())


@command("restore", view=view_of(_BACKUP, "kept dry_run to payments_since webhooks_repeated"))
def restore(
    client: Client,
    terminal: Terminal,
    name: str | None = _NAMED,
    dry_run: bool = DRY_RUN,
    confirm: str | None = option("SHOP", "The shop's name."),
    to: str | None = option("FILE", "Write a checked copy to this file instead."),
    stop: bool = flag("Stop the daemon first."),
) -> Answer:
    """The backup replaces the shop's database. The old database is kept beside it. Stop the daemon first, or use --stop.
    Changes after the backup are not in it: SMS still on the SIM are read again, webhooks sent since then may be sent
    again with the same ids; the numbers of both are shown. Type the shop's name to confirm, or give it with --confirm;
    -y is not enough. --to writes a checked copy elsewhere and does not change the shop; --dry-run only checks the
    backup.

    Examples:
        momo restore --dry-run
        momo restore 20261121T080000Z --stop
        momo restore --to /tmp/looked-at.db
        momo restore /media/stick/momo-20261121T080000Z.db --stop --confirm "Ama Provisions"
    """
    named = [] if name is None else [name]
    if to is not None and not dry_run:
        # The shop does not change, so no confirmation is asked for.
        done = _run(terminal, "restore", *named, f"--to={to}")
        written = _shown(done, terminal, f"Written to {clean(to)}.", [])
        return replace(written, exit_code=exit_codes.OK)
    seen = _run(terminal, "restore", *named, "--dry-run")
    found, shop = _backup_lines(seen.data, terminal), seen.data["shop"]
    if dry_run:
        said = ["Sound. It would replace the database:", *found]
        again = f"momo restore {shlex.quote(name or seen.data['id'])}"
        return Answer(*seen.parts, lines=said, next=[f"{again} --stop" if client.alive() else again])
    if not stop and (client.alive() or is_locked(terminal)):
        # As the daemon's program ends, which the shop's lock stops later.
        raise Failure(ErrorCode.LOCKED, next=("momo daemon stop",), exit_code=exit_codes.TEMPORARY)
    typed = confirm
    if typed is None:  # --yes is not enough: changes after the backup are lost
        for line in found:
            terminal.complain(line)
        typed = terminal.ask(f"Type {clean(shop)} to restore it: ", f"--confirm {shlex.quote(clean(shop))}")
    if typed.strip() != shop:
        return unchanged(seen, f"The shop is called {clean(shop)}, not {clean(typed)}.")
    if stop and client.alive():
        stop_daemon(client, terminal, _STOP_S)
    done = _run(terminal, "restore", *named)
    data = done.data
    lines = [f"{terminal.tick} Restored.", *_backup_lines(data, terminal)]
    lines += fact_lines([("before", clean(data.get("kept")))], 6)
    notes = [*_since(data, terminal), *_access(data), *_findings(data)]
    following = ["momo daemon start"]
    if data.get("is_branch"):
        notes.append("This branch sends nothing to its hub until it has taken the hub's rows.")
        following.append("momo hub restore --from-hub")
    if locked := data.get("secrets_locked"):
        notes.append(
            f"Webhooks wait until the master key is here too: {clean(locked)}. Copy master.key to this machine."
        )
        following.append("momo doctor keyring")
    return Answer(*done.parts, lines=lines, notes=notes, next=following)


def _since(data: dict[str, Any], terminal: Terminal) -> Iterator[str]:
    """Return the notes about payments and webhooks that are newer than the backup."""
    when = ago(data.get("newest_at"), terminal)
    if count := data.get("payments_since"):
        yield f"{counted(count, 'payment')} came after the backup ({when})."
    recover = data.get("parts_to_recover", 0)
    if recover is None:
        yield (
            "The message journal cannot be read: messages that came after the backup are only in the old database. "
            "A customer's transaction ID finds a payment: momo reconcile."
        )
    elif recover:
        parts = counted(recover, "part of an SMS", "parts of SMS")
        yield (
            f"{parts} in the message journal {'is' if recover == 1 else 'are'} newer than the backup and will be read again "
            "at the next start. Transactions made since the backup are lost: their payments have no transaction then."
        )
    if count := data.get("webhooks_repeated"):
        again = "goes" if count == 1 else "go"
        yield f"{counted(count, 'webhook')} delivered since {again} out once more, with the same id."
    elif count := data.get("webhooks_that_may_repeat"):
        yield f"{counted(count, 'webhook')} may be sent again, with the same id."


def _access(data: dict[str, Any]) -> Iterator[str]:
    """Return the notes about rights that stay off, and about passwords, roles and secrets that are older than before."""
    access = data.get("access", {})
    if access is None:
        yield (
            "There is no old database to compare with, or it cannot be read: API keys revoked, and users disabled, after "
            "the backup are back. Look at momo keys list and momo users list. All sessions have ended."
        )
        return
    if off := [f"{one['what']} {clean(one['name'])}" for one in access.get("still_off", ())]:
        yield f"Revoked or disabled after the backup, and still so: {', '.join(off)}."
    if earlier := [f"{one['what'].replace('_', ' ')} of {clean(one['name'])}" for one in access.get("earlier", ())]:
        yield f"Changed after the backup, and now as in it: {', '.join(earlier)}. Change what somebody else may know."


def _run(terminal: Terminal, what: str, *flags: str) -> VerbResult:
    """Run `python -m daemon backup`; a running daemon is not needed."""
    return run_verb(terminal, "backup", what, *flags, "--json")


def _shown(done: VerbResult, terminal: Terminal, said: str, next_commands: list[str]) -> Answer:
    """Return the answer with one checked backup; exit 6 if a rule of the ledger does not hold."""
    row = done.data
    found = _findings(row)
    failed = at(row, "also.status") == "failed"
    mark = terminal.style("!", "yellow") if found else terminal.tick
    checks = {"ledger": found, "backup": failed}
    following = [f"momo doctor {area}" for area, bad in checks.items() if bad]
    return Answer(
        *done.parts,
        lines=[f"{mark} {said}", *_backup_lines(row, terminal)],
        notes=[*found, *(f"! {one}" for one in _elsewhere(row))],
        next=[*following, *next_commands],
        exit_code=exit_codes.FINDINGS if found or failed else exit_codes.OK,
        faults=[*(clean(one) for one in row.get("findings") or ()), *_elsewhere(row)],
    )


def _elsewhere(row: Row) -> list[str]:
    """Return the reason why the backup is not in the second place."""
    if at(row, "also.status") in {"away", "failed"}:
        return [f"This backup is not in the second place: {clean(at(row, 'also.why'))}"]
    return []


def _findings(row: Row) -> list[str]:
    """Return the rules of the ledger that do not hold in the shop; the backup itself is exact and was kept."""
    found = [f"! {clean(one)}" for one in row.get("findings") or ()]
    if found:
        found.append("! The backup is complete and was kept. The fault is in the shop itself.")
    return found


def _backup_lines(row: Row, terminal: Terminal) -> list[str]:
    rows = row.get("rows") or {}
    held = ", ".join(f"{count} {clean(table)}" for table, count in rows.items())
    facts = [
        ("shop", clean(row.get("shop"))),
        ("file", f"{clean(row.get('path'))} ({size(int(row.get('bytes') or 0))})"),
        ("holds", held),
        ("up to", ago(row.get("newest_at"), terminal) or "nothing yet"),
    ]
    also = fact_lines([("also", clean(at(row, "also.path")))], 6)
    return [*(f"  {name:<6} {text}" for name, text in facts), *also]
