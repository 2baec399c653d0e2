"""API keys: create one, which is shown once; rotate and revoke."""

from typing import Final

from daemon.core.access.callers import KEY_SCOPES, ApiKeyAnswer, KeyKind, Use, last_written
from daemon.core.errors import needed
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import ApiKey
from daemon.dash.parts.confirming import confirm
from daemon.dash.parts.listing import branch_names
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.access import keys as flow
from daemon.store.access import users
from daemon.wire import ErrorCode, Mode, Scope

HERE: Final = "/dash/keys"
NAME_CHARACTERS_MAX: Final = 100
LIVES_DAYS: Final = ("", "30", "90", "365")
OVERLAP_HOURS: Final = ("24", "0", "1", "168")
"""How long the old key of a rotation stays valid; the first is the default."""


async def show_list(visit: Visit) -> Shown:
    """Show every key, and the form for a new one."""
    rows = await visit.env.store.read(users.known_keys)
    return Shown(
        "access/keys.html",
        {
            "keys": [_shape(visit, row) for row in rows],
            "scopes": sorted(KEY_SCOPES),
            "lives": LIVES_DAYS,
            "form": visit.form,
            "branches": await branch_names(visit),
        },
    )


async def create(visit: Visit) -> Outcome:
    """Create a key and show it once."""
    await confirm(visit)
    new = _read(visit)
    # The form itself is done once, so the answer with the key need not be kept, sealed, for a repetition.
    with visit.shows(ErrorCode.VALIDATION_ERROR, ErrorCode.BRANCH_NOT_FOUND, ErrorCode.NOT_A_HUB, field="branch"):
        made = await flow.create(visit.env, visit.caller, new)
    return _once(visit, made)


async def show_one(visit: Visit) -> Shown:
    """Show one key."""
    key_id = visit.places["id"]
    row = needed(await visit.env.store.look(lambda reader: users.get_key(reader, key_id)), ErrorCode.KEY_NOT_FOUND)
    visit.mode = row.mode
    values = {"key": _shape(visit, row), "overlaps": OVERLAP_HOURS}
    return Shown("access/key.html", values, row.name)


async def change(visit: Visit) -> Outcome:
    """Rotate or revoke a key, as the pressed button says."""
    await confirm(visit)
    env, caller, key_id = visit.env, visit.caller, visit.places["id"]
    what, overlap = visit.form.get("what", ""), visit.form.get("overlap", "")
    if what == "revoke":
        await flow.revoke(env, caller, key_id)
        return Goto(HERE, "said_key_revoked")
    if what != "rotate" or overlap not in OVERLAP_HOURS:
        visit.wrong("overlap", "key_choose")
    return _once(visit, await flow.rotate(env, caller, key_id, int(overlap) * HOUR_US))


def _read(visit: Visit) -> flow.NewKey:
    """Return the key that the form asks for."""
    form = visit.form
    name = form.get("name", "").strip()
    if not 0 < len(name) <= NAME_CHARACTERS_MAX or not name.isprintable():
        visit.fail("name", "key_name_wrong")
    publishable = form.get("kind", "") == KeyKind.PUBLISHABLE
    chosen = frozenset(scope for scope in KEY_SCOPES if form.get(f"scope {scope}"))
    scopes = frozenset({Scope.TRANSACTIONS_INITIALIZE}) if publishable else chosen
    if not scopes:
        visit.fail("scopes", "key_scopes_wrong")
    mode, days = form.get("mode", ""), form.get("days", "")
    if mode not in list(Mode):
        visit.fail("mode", "key_choose")
    if days not in LIVES_DAYS:
        visit.fail("days", "key_choose")
    visit.check()
    kind = KeyKind.PUBLISHABLE if publishable else KeyKind.SECRET
    ends, branch = visit.now + int(days) * DAY_US if days else None, form.get("branch") or None
    return flow.NewKey(name, Mode(mode), kind, scopes, ends, branch)


def _shape(visit: Visit, row: ApiKey) -> tuple[ApiKey, ApiKeyAnswer, Use | None]:
    use = visit.env.key_use.latest(row.id, last_written(row))
    return row, ApiKeyAnswer.of(row, visit.now, use), use


def _once(visit: Visit, made: flow.MadeKey) -> Shown:
    title = visit.words("key_of", name=made.row.name)
    previous = None if made.previous is None else ApiKeyAnswer.of(made.previous, made.at)
    values = {"key": made.text, "previous": previous}
    return Shown("access/key_once.html", values, title)
