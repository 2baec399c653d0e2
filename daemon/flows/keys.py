"""Make and revoke API keys (decisions.md section 8)."""

import json
from dataclasses import dataclass

from daemon.core import shapes
from daemon.core.access import Caller, KeyKind, hash_key, make_key, parse_key
from daemon.core.errors import Refusal
from daemon.core.key_shapes import api_key
from daemon.core.model import ApiKey
from daemon.core.requests import Answer, Idempotency
from daemon.env import Env
from daemon.store import api_keys, events, idempotency
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode, Scope


@dataclass(frozen=True, slots=True)
class NewKey:
    """What a new key is to be.

    Attributes:
        expires_at: Microseconds; None is never.
    """

    name: str
    mode: Mode
    kind: KeyKind
    scopes: frozenset[Scope]
    expires_at: int | None


async def create(
    env: Env, caller: Caller, new: NewKey, *, claim: Idempotency | None, warnings: list[str]
) -> Answer:
    """Make a key; 201, and the only time that it is shown.

    Raises:
        Refusal: IDEMPOTENCY_KEY_REUSED.
        Unavailable: The answer cannot be kept for a repeat, or nothing can be written.
    """
    now = env.clock.now_us()
    text = make_key(new.mode, new.kind, env.entropy.below)
    parts = parse_key(text)
    assert parts is not None, "we have just made it"
    key_id = env.new_id()
    row = {
        "id": key_id,
        "name": new.name,
        "mode": new.mode,
        "kind": new.kind,
        "hint": parts.hint,
        "sha256": hash_key(text),
        "scopes": json.dumps(sorted(new.scopes)),
        "created_at": now,
        "expires_at": new.expires_at,
        "revoked_at": None,
        "last_used_at": None,
    }

    def add(tx: Tx) -> Answer:
        api_keys.add(tx, row)
        _note(tx, "api_key.created", key_id, caller, now)
        made = api_keys.get(tx, key_id)
        assert made is not None, "we have just stored it"
        return Answer(201, shapes.success(api_key(made, now), shapes.warned(warnings), key=text))

    return await env.store.write(
        lambda tx: idempotency.once(tx, claim, now, lambda: add(tx), env.vault)
    )


async def revoke(env: Env, caller: Caller, key_id: str) -> ApiKey:
    """End a key at once; a second time changes nothing.

    Raises:
        Refusal: KEY_NOT_FOUND.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> ApiKey:
        key = api_keys.get(tx, key_id)
        if key is None:
            raise Refusal(ErrorCode.KEY_NOT_FOUND)
        if key.revoked_at is None:
            api_keys.revoke(tx, key_id, now)
            _note(tx, "api_key.revoked", key_id, caller, now)
        ended = api_keys.get(tx, key_id)
        assert ended is not None, "keys are never deleted"
        return ended

    return await env.store.write(job)


def _note(tx: Tx, kind: str, key_id: str, caller: Caller, now: int) -> None:
    events.add(tx, type=kind, mode=Mode.LIVE, at=now, actor=caller.name, data={"key_id": key_id})
