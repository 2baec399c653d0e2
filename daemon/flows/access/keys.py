"""Create, rotate and revoke API keys; store their last uses once a minute, not with each call."""

import json
from typing import Any

from msgspec import Struct

from daemon.core.access.callers import BRANCH_KEY_SCOPES, Caller, KeyKind, Operation, make_key, require
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid, needed
from daemon.core.inputs import Keep
from daemon.core.model import ApiKey
from daemon.env import Env
from daemon.steps.branch import branch_id_of
from daemon.store import idempotency, journal
from daemon.store.access import users
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode, Scope


class NewKey(Struct, frozen=True):
    """Properties of a new key.

    Attributes:
        expires_at: Microseconds; None means never.
        branch: At a hub, the name of the only branch that it sees; None: all.
    """

    name: str
    mode: Mode
    kind: KeyKind
    scopes: frozenset[Scope]
    expires_at: int | None
    branch: str | None = None


class MadeKey(Struct, frozen=True):
    """A new key, the only time that it is shown.

    Attributes:
        row: Its row.
        text: The key itself.
        at: When it was made, microseconds.
        previous: The key that it replaces.
    """

    row: ApiKey
    text: str
    at: int
    previous: ApiKey | None = None


async def create(env: Env, caller: Caller, new: NewKey, *, keep: Keep[MadeKey] | None = None) -> MadeKey:
    """Create a key.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED; VALIDATION_ERROR on `scopes`; as `branch_id_of`.
        Unavailable: The answer cannot be stored for a repeated call, or nothing can be written.
    """
    require(caller, Operation.MANAGE_KEYS)
    now = env.clock.now_us()
    if new.branch is not None and (beyond := new.scopes - BRANCH_KEY_SCOPES):
        text = f"a key of one branch cannot have {', '.join(sorted(beyond))}"
        raise invalid([FieldError("scopes", "invalid", text)])
    text, row = _made(env, new, now)

    def add(tx: Tx) -> MadeKey:
        of = {"branch_id": branch_id_of(tx, env, new.branch)}
        return MadeKey(_add(tx, row | of, caller, now), text, now)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: add(tx), env.vault))


async def rotate(
    env: Env, caller: Caller, key_id: str, overlap_us: int, *, keep: Keep[MadeKey] | None = None
) -> MadeKey:
    """Rotate an API key: create one with the same scopes and lifetime, and end the old one after the overlap.

    Raises:
        Refusal: KEY_NOT_FOUND, also for a key that has ended; IDEMPOTENCY_KEY_REUSED.
        Unavailable: The answer cannot be stored for a repeated call, or nothing can be written.
    """
    require(caller, Operation.MANAGE_KEYS)
    now = env.clock.now_us()

    def job(tx: Tx) -> MadeKey:
        old = needed(users.get_key(tx, key_id), ErrorCode.KEY_NOT_FOUND)
        if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= now):
            raise Refusal(ErrorCode.KEY_NOT_FOUND, "This key has ended; create a new one.")
        lives_us = None if old.expires_at is None else old.expires_at - old.created_at
        expires_at = None if lives_us is None else now + lives_us
        scopes = frozenset(Scope(scope) for scope in json.loads(old.scopes))
        text, row = _made(env, NewKey(old.name, old.mode, KeyKind(old.kind), scopes, expires_at), now)
        made = _add(tx, row | {"branch_id": old.branch_id}, caller, now)
        if overlap_us:
            users.expire_key(tx, old.id, now + overlap_us)
        else:
            users.revoke_key(tx, old.id, now)
        _note(tx, "api_key.rotated", old.id, caller, now)
        ending = users.get_key(tx, old.id)
        assert ending is not None, "keys are never deleted"
        return MadeKey(made, text, now, ending)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: job(tx), env.vault))


def _made(env: Env, new: NewKey, now: int) -> tuple[str, dict[str, Any]]:
    """Return a new key and its row."""
    text = make_key(new.mode, new.kind, env.entropy.below)
    return text, users.new_key_row(env.new_id(), new.name, text, new.scopes, now, expires_at=new.expires_at)


def _add(tx: Tx, row: dict[str, Any], caller: Caller, now: int) -> ApiKey:
    users.add_key(tx, row)
    _note(tx, "api_key.created", row["id"], caller, now)
    made = users.get_key(tx, row["id"])
    assert made is not None, "we have just stored it"
    return made


async def revoke(env: Env, caller: Caller, key_id: str) -> ApiKey:
    """End a key at once; revoking it again changes nothing.

    Raises:
        Refusal: KEY_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_KEYS)
    now = env.clock.now_us()

    def job(tx: Tx) -> ApiKey:
        key = needed(users.get_key(tx, key_id), ErrorCode.KEY_NOT_FOUND)
        if key.revoked_at is None:
            users.revoke_key(tx, key_id, now)
            _note(tx, "api_key.revoked", key_id, caller, now)
        ended = users.get_key(tx, key_id)
        assert ended is not None, "keys are never deleted"
        return ended

    return await env.store.write(job)


def _note(tx: Tx, kind: str, key_id: str, caller: Caller, now: int) -> None:
    journal.add(tx, kind, now, actor=caller.name, data={"key_id": key_id})


async def note_key_use(env: Env) -> int:
    """Write the collected uses; return the number of keys.

    Raises:
        Unavailable: Nothing was written; the uses are kept for the next call.
    """
    taken = env.key_use.take()
    if not taken:
        return 0
    try:
        await env.store.write(lambda tx: users.note_key_uses(tx, taken))
    except Unavailable:
        env.key_use.put_back(taken)
        raise
    return len(taken)
