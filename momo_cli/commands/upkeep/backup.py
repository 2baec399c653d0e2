"""The commands about backups, and restore."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from momo_cli import exit_codes
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import DRY_RUN, argument, flag, option
from momo_cli.inputs.typed_values import only_given
from momo_cli.service.daemon_program import VerbResult, run_verb
from momo_cli.service.start_stop import stop_daemon
from momo_cli.show.answer import Answer, Head, Row, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, counted, fact_lines, size
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_BACKUP: Final = "id path bytes shop schema newest_at verified findings"
_LIST_VIEW: Final = view_of(
    "id path bytes made_at",
    Head("ID", lambda row, _: clean(row.get("id"))),
    Head("MADE", lambda row, t: ago(row.get("made_at"), t)),
    Head("SIZE", lambda row, _: size(int(row.get("bytes") or 0)), right=True),
    Head("FILE", lambda row, _: clean(row.get("path")), cut=True),
)
_RESTORE_VIEW: Final = view_of(_BACKUP, "kept dry_run to payments_since webhooks_repeated")
_STOP_S: Final = 30.0

_NAMED = argument("[ID|FILE]", "The backup.", default=None)


@command("backup create", view=view_of(_BACKUP, "also=also.status"))
def create(
    terminal: Terminal,
    to: str | None = option("FOLDER|FILE", "The place; default: the shop's backup folder."),
    keep: str | None = option("7d,4w,12m", "Remove old backups afterwards."),
) -> Answer:
    """Back up the database into one file.

    The backup is checked too. The shop stays open meanwhile. The file has every payment, transaction, user and API key.
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
    """List the backups.

    These are the backups in the shop's backup folder, newest first.

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
    """Check a backup.

    The whole backup is read: the newest, or the named one. Exit 6: it is not sound. --drill also restores it into a
    temporary folder, opens it there as the daemon would, and removes the folder again: the shop is not touched. momo
    daemon install --timers does so every week.

    Examples:
        momo backup verify
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
def prune(
    terminal: Terminal,
    keep: str = option("7d,4w,12m", "The backups to keep.", default="7d,4w,12m"),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """Remove old backups.

    In the shop's backup folder the newest backup of each kept day, week and month stays. The same is done in the second
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


@command("restore", view=_RESTORE_VIEW)
def restore(
    client: Client,
    terminal: Terminal,
    name: str | None = _NAMED,
    dry_run: bool = DRY_RUN,
    confirm: str | None = option("SHOP", "The shop's name."),
    to: str | None = option("FILE", "Write a checked copy to this file instead."),
    stop: bool = flag("Stop the daemon first."),
) -> Answer:
    """Restore a backup.

    The backup replaces the shop's database. The old database is kept beside it. Stop the daemon first, or use --stop.
    Changes after the backup are not in it: SMS still on the SIM are read again, webhooks sent since then may be sent
    again with the same ids; the numbers of both are shown. Type the shop's name to confirm, or give it with --confirm;
    -y is not enough. --to writes a checked copy elsewhere and does not change the shop; --dry-run only checks the
    backup.

    Examples:
        momo restore --dry-run
        momo restore 20261121T080000Z --stop
        momo restore --to /tmp/looked-at.db
        momo restore /media/stick/momo-20261121T080000Z.db --confirm "Ama Provisions"
    """
    named = [] if name is None else [name]
    if to is not None and not dry_run:
        # The shop does not change, so no confirmation is asked for.
        done = _run(terminal, "restore", *named, f"--to={to}")
        written = _shown(done, terminal, f"Written to {clean(to)}.", [])
        return replace(written, exit_code=exit_codes.OK)
    seen = _run(terminal, "restore", *named, "--dry-run")
    found, shop = _lines(seen.data, terminal), seen.data["shop"]
    if dry_run:
        said = ["Sound. It would replace the database:", *found]
        again = f"momo restore {shlex.quote(name or seen.data['id'])}"
        return Answer(
            *seen.parts, lines=said, next=[f"{again} --stop" if client.alive() else again]
        )
    typed = confirm
    if typed is None:  # --yes is not enough: changes after the backup are lost
        for line in found:
            terminal.complain(line)
        typed = terminal.ask(
            f"Type {clean(shop)} to restore it: ", f"--confirm {shlex.quote(clean(shop))}"
        )
    if typed.strip() != shop:
        return unchanged(seen, f"The shop is called {clean(shop)}, not {clean(typed)}.")
    if stop and client.alive():
        stop_daemon(client, terminal, _STOP_S)
    return _restored(terminal, _run(terminal, "restore", *named))


def _restored(terminal: Terminal, done: VerbResult) -> Answer:
    data = done.data
    lines = [f"{terminal.tick} Restored.", *_lines(data, terminal)]
    lines += fact_lines([("before", clean(data.get("kept")))], 6)
    notes = [*_since(data, terminal), *_access(data), *_findings(data)]
    return Answer(*done.parts, lines=lines, notes=notes, next=["momo daemon start"])


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
    if earlier := [
        f"{one['what'].replace('_', ' ')} of {clean(one['name'])}"
        for one in access.get("earlier", ())
    ]:
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
        lines=[f"{mark} {said}", *_lines(row, terminal)],
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


def _lines(row: Row, terminal: Terminal) -> list[str]:
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
