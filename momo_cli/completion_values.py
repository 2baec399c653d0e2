"""What the shop has just now, for TAB: asked of the daemon, which has 150 ms to say it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from daemon.wire import Path
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.flags import Flags
from momo_cli.locate import locate
from momo_cli.text import clean

_LIMIT_S: Final = 0.15
_MANY: Final = 50

Found = tuple[str, str]


class _Kind(NamedTuple):
    """Where one kind of thing is asked for, and how a row of it is offered."""

    path: str
    query: Mapping[str, object]
    offer: Callable[[Mapping[str, Any], str], Iterator[Found]]


def values(
    kind: str, current: str, environ: Mapping[str, str], uid: int | None = None
) -> list[Found]:
    """Return what there is of a kind; nothing when the daemon is down, slow, or says no.

    Args:
        kind: Of `_KINDS`.
        current: What is typed of it already.
        environ: The environment.
        uid: The user; None is who runs us.
    """
    import os  # noqa: PLC0415  # the one use

    asked = _KINDS.get(kind)
    if asked is None:
        return []
    located = locate(Flags(), environ, os.getuid() if uid is None else uid)
    client = Client(located, timeout_s=_LIMIT_S, warn=_say_nothing, pause=_no_pause)
    if not client.alive():
        return []
    try:
        rows = client.get(asked.path, **asked.query).data
    except Failure:
        return []
    found = [each for row in rows or () for each in asked.offer(row, current)]
    return [(name, clean(meaning)) for name, meaning in dict.fromkeys(found) if name]


def _say_nothing(_: str) -> None:
    """Drop what would go to stderr."""


def _no_pause(_: float) -> None:
    """Try again at once: there is no time to wait."""


def _order(row: Mapping[str, Any], current: str) -> Iterator[Found]:
    told = f"{row.get('status')} {row.get('expected_amount') or ''} {row.get('payer_name') or ''}"
    name = "reference" if current and "svc_trx_".startswith(current[:8]) else "svc_code"
    yield str(row.get(name) or ""), told.strip()


def _sim(row: Mapping[str, Any], current: str) -> Iterator[Found]:
    of = row.get("device_id") if current and str(row.get("device_id")).startswith(current) else None
    for sim in row.get("sims") or ():
        told = f"{sim.get('network') or ''} {sim.get('phone_number') or ''}"
        yield (
            f"{of or row.get('name') or row.get('device_id')}:{sim.get('slot_index')}",
            told.strip(),
        )


def _modem(row: Mapping[str, Any], _: str) -> Iterator[Found]:
    yield str(row.get("name") or row.get("device_id") or ""), str(row.get("state") or "")


def _by_id(*told: str) -> Callable[[Mapping[str, Any], str], Iterator[Found]]:
    def offer(row: Mapping[str, Any], _: str) -> Iterator[Found]:
        yield str(row.get("id") or ""), " ".join(str(row[name]) for name in told if row.get(name))

    return offer


_KINDS: Final[Mapping[str, _Kind]] = {
    "orders": _Kind(Path.TRANSACTIONS, {"per_page": _MANY}, _order),
    "sims": _Kind(Path.SIMS, {}, _sim),
    "modems": _Kind(Path.LOCAL_MODEMS, {}, _modem),
    "endpoints": _Kind(Path.ENDPOINTS, {}, _by_id("url", "description")),
    "methods": _Kind(Path.PAYMENT_METHODS, {}, _by_id("phone_number", "account_name")),
    "deliveries": _Kind(Path.DELIVERIES, {"limit": _MANY}, _by_id("status", "event")),
    "dead-letters": _Kind(Path.DEAD_LETTERS, {"limit": _MANY}, _by_id("cause", "url")),
    "review": _Kind(Path.REVIEWS, {}, _by_id("reason", "amount")),
    "keys": _Kind(Path.KEYS, {}, _by_id("name", "hint")),
    "payers": _Kind(Path.APPROVED_PAYERS, {}, _by_id("name")),
    "messages": _Kind(Path.LOCAL_MESSAGES, {"limit": _MANY}, _by_id("state", "received_at")),
    "templates": _Kind(Path.LOCAL_MESSAGES, {"limit": _MANY}, _by_id("state", "received_at")),
    "notices": _Kind(Path.LOCAL_NOTICES, {}, _by_id("kind", "text")),
}
