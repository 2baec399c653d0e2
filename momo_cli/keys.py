"""API keys as the command line shows them."""

from typing import Any, Final

from daemon.wire import Scope
from momo_cli.answer import Cell, Field, Head, View
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import ago, clock

_STATES: Final = {
    "active": Cell("✓ active", "green"),
    "expired": Cell("✗ expired", "yellow"),
    "revoked": Cell("✗ revoked", "red"),
}

_ALL: Final = {str(scope) for scope in Scope} - {Scope.KEYS_MANAGE}

FIELDS: Final = (
    Field("id"),
    Field("name"),
    Field("hint"),
    Field("mode"),
    Field("kind"),
    Field("state"),
    Field("scopes"),
    Field("created_at"),
    Field("expires_at"),
    Field("last_used_at"),
    Field("revoked_at"),
    Field("last_used_from"),
)
VIEW: Final = View(
    fields=FIELDS,
    heads=(
        Head("KEY", lambda row, _: clean(row.get("hint"))),
        Head("NAME", lambda row, _: clean(row.get("name"))),
        Head("STATE", lambda row, _: state(row)),
        Head("MAY", lambda row, _: may(row)),
        Head("LAST USED", lambda row, t: ago(row.get("last_used_at"), t) or "never"),
        Head("FROM", lambda row, _: clean(row.get("last_used_from")) or "—"),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


def state(row: Any) -> Cell:
    """Return the word of a key's state."""
    return _STATES.get(str(row.get("state")), Cell(clean(row.get("state"))))


def may(row: Any) -> str:
    """Return what a key may do, in one cell."""
    scopes = set(row.get("scopes") or ())
    if scopes == _ALL:
        return "all that a key may"
    return clean(", ".join(sorted(map(str, scopes))))


def last_use(row: Any, terminal: Terminal) -> str:
    """Return when a key was last used, and from where."""
    when, origin = ago(row.get("last_used_at"), terminal), clean(row.get("last_used_from"))
    return " from ".join(part for part in (when, origin) if part) or "never"


def lines(row: Any, terminal: Terminal) -> list[str]:
    """Return a key for people, one fact a line."""
    shown = state(row)
    facts = (
        ("key", clean(row.get("hint"))),
        ("name", clean(row.get("name"))),
        ("state", terminal.style(shown.text, shown.style)),
        ("may", may(row)),
        ("made", ago(row.get("created_at"), terminal)),
        ("ends", clock(row.get("expires_at"), terminal) or "never"),
        ("last used", last_use(row, terminal)),
        ("id", clean(row.get("id"))),
    )
    return [f"  {name:<10} {text}" for name, text in facts]
