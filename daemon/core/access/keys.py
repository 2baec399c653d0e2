"""API keys as JSON, and their last uses, noted in memory and stored at intervals so that no call costs a write. Pure."""

import json
from typing import Annotated, Literal, NamedTuple, Self

from msgspec import Struct

from daemon.core.access.callers import KeyKind
from daemon.core.json_values import timestamp_or_none
from daemon.core.model import ApiKey
from daemon.core.shape import Id, NoTime, Time, sample, shown
from daemon.wire import Mode, Scope


class Use(NamedTuple):
    """One use of a key: time in microseconds, and origin: an IP address or `socket`; None if unknown."""

    at: int
    origin: str | None


class KeyUse:
    """The uses that were noted and not stored yet."""

    def __init__(self) -> None:
        self._noted: dict[str, Use] = {}

    def note(self, key_id: str, now_us: int, origin: str) -> None:
        """Note that a key was used."""
        self._noted[key_id] = Use(now_us, origin)

    def latest(self, key_id: str, written: Use | None) -> Use | None:
        """Return the later one of the noted and the stored use."""
        noted = self._noted.get(key_id)
        if noted is None or written is None:
            return noted if written is None else written
        return written if written.at > noted.at else noted

    def take(self) -> dict[str, Use]:
        """Return the uses to store, and clear them."""
        taken, self._noted = self._noted, {}
        return taken

    def put_back(self, taken: dict[str, Use]) -> None:
        """Note again the uses that could not be stored; uses noted meanwhile are later and win."""
        self._noted = {**taken, **self._noted}


class ApiKeyAnswer(Struct, frozen=True):
    """A key; the key itself is never part of it."""

    id: Id
    name: Annotated[str, sample("web shop")]
    mode: Annotated[Mode, sample(Mode.LIVE)]
    kind: Annotated[KeyKind, sample(KeyKind.SECRET)]
    hint: Annotated[str, sample("svc_live_sk_...x7Qd")]
    scopes: list[Annotated[Scope, sample(Scope.TRANSACTIONS_READ)]]
    state: Annotated[Literal["active", "revoked", "expired"], sample("active")]
    created_at: Time
    expires_at: NoTime
    revoked_at: NoTime
    last_used_at: Time | None
    last_used_from: Annotated[
        str | None, sample("102.176.10.7", "the address that used it last, or `socket`")
    ]

    @classmethod
    def of(cls, row: ApiKey, now_us: int, last_use: Use | None = None) -> Self:
        """Return the answer of a key.

        Args:
            row: The key.
            now_us: Now; it decides `state`.
            last_use: Its last use; None takes the one in the row.
        """
        use = last_use or last_written(row)
        state = "active"
        if row.revoked_at is not None:
            state = "revoked"
        elif row.expires_at is not None and now_us >= row.expires_at:
            state = "expired"
        return shown(
            cls,
            row,
            scopes=json.loads(row.scopes),
            state=state,
            last_used_at=timestamp_or_none(None if use is None else use.at),
            last_used_from=None if use is None else use.origin,
        )


def last_written(row: ApiKey) -> Use | None:
    """Return the stored last use of a key; None if there is none."""
    return None if row.last_used_at is None else Use(row.last_used_at, row.last_used_from)
