"""What the commands about copies of the database share: the program that makes them, and how one is shown."""

from typing import Any, Final

from momo_cli import exits
from momo_cli.answer import Answer, Field, Row, View
from momo_cli.process import Done, ask
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, size

FIELDS: Final = (
    Field("id"),
    Field("path"),
    Field("bytes"),
    Field("shop"),
    Field("schema"),
    Field("newest_at"),
    Field("verified"),
    Field("findings"),
)
VIEW: Final = View(fields=FIELDS)


def run(terminal: Terminal, what: str, *flags: str) -> Done:
    """Have the daemon's program do it; no daemon is asked, none need run."""
    return ask(terminal, "backup", what, *flags, "--json")


def shown(done: Done, terminal: Terminal, said: str, next_commands: list[str]) -> Answer:
    """Answer with one copy that was looked through; exit 6 when something in it does not hold."""
    row: dict[str, Any] = done.body["data"]
    found = findings(row)
    failed = at(row, "also.status") == "failed"
    mark = terminal.style("!", "yellow") if found else terminal.style("✓", "green")
    return Answer(
        document=done.text,
        rows=[row],
        lines=[f"{mark} {said}", *lines(row, terminal)],
        notes=[*found, *(f"! {one}" for one in _elsewhere(row))],
        next=[
            *(["momo doctor ledger"] if found else ()),
            *(["momo doctor backup"] if failed else ()),
            *next_commands,
        ],
        exit_code=exits.FINDINGS if found or failed else exits.OK,
        faults=[*(clean(one) for one in row.get("findings") or ()), *_elsewhere(row)],
    )


def _elsewhere(row: Row) -> list[str]:
    """Say why a copy did not get to the second place."""
    if at(row, "also.status") in {"away", "failed"}:
        return [f"This copy is not in the second place: {clean(at(row, 'also.why'))}"]
    return []


def findings(row: Row) -> list[str]:
    """Say what does not hold in the shop that was copied: the copy is true to it and was kept."""
    found = [f"! {clean(one)}" for one in row.get("findings") or ()]
    if found:
        found.append("! The copy is whole and was kept. What does not hold is in the shop itself.")
    return found


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Return a copy for people, one fact a line."""
    rows = row.get("rows") or {}
    counted = ", ".join(f"{count} {clean(table)}" for table, count in rows.items())
    facts = [
        ("shop", clean(row.get("shop"))),
        ("file", f"{clean(row.get('path'))} ({size(int(row.get('bytes') or 0))})"),
        ("holds", counted),
        ("up to", ago(row.get("newest_at"), terminal) or "nothing yet"),
    ]
    if at(row, "also.path"):
        facts.append(("also", clean(at(row, "also.path"))))
    return [f"  {name:<6} {text}" for name, text in facts]
