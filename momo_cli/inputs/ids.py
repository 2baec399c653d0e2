"""Look up an id from a name, the beginning of an id, or both its ends as tables shorten it; SIMs as `DEVICE:SLOT`.

The typed text must match exactly one thing; several are an error. A complete id is not looked up: the daemon checks it
(docs/decisions/0014).
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from daemon.wire import ErrorCode, Path, receiver_of
from momo_cli.errors import Failure, usage
from momo_cli.show.answer import Row
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, path_of
from momo_cli.text import clean

_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_CUT: Final = re.compile(r"…|~|\.\.\.", re.ASCII)
"""The mark in the middle of an id that a table has shortened, and the forms in which people type it."""
_SHOWN_MIN: Final = 4
"""The least characters of an id that are accepted; fewer are probably a typing error."""
_LOOKED_AT_MAX: Final = 2000
"""How many of the newest rows of a long list are searched; tables show rows from among them."""


def split_sim(text: str, flag: str) -> tuple[str, int]:
    """Split `DEVICE:SLOT`; fail (exit 2) if it does not have that form."""
    device, colon, slot = text.rpartition(":")
    if not colon or not device or not slot.isascii() or not slot.isdigit():
        raise usage(f"{flag}: {text!r} is not DEVICE:SLOT, such as zte-front:0", "momo phones list")
    return device, int(slot)


def sim_object(client: Client, device: str, slot: int) -> dict[str, Any]:
    """Return the `sim` member of a payment method; fail if no phone, or two (USAGE), have that id or name."""
    phones: Sequence[Row] = client.get(Path.SIMS).data or ()
    found = [p for p in phones if p.get("device_id") == device.lower()]
    found = found or [p for p in phones if p.get("name") == device]
    if not found:
        names = ", ".join(clean(p.get("name")) for p in phones) or "none"
        why = f"no phone is called {device!r}; connected: {names}"
        simulated = () if client.sandbox else replace(client, sandbox=True).find(Path.SIMS) or ()
        if any(device in (p.get("device_id"), p.get("name")) for p in simulated):
            why = f"{device!r} is a phone of the sandbox: repeat the command with --sandbox"
            raise Failure(ErrorCode.DEVICE_NOT_FOUND, why, next=("momo phones list --sandbox",))
        raise Failure(ErrorCode.DEVICE_NOT_FOUND, why)
    if len(found) > 1:
        ids = ", ".join(clean(p.get("device_id")) for p in found)
        raise usage(f"two phones are called {device!r}; give one of {ids}", "momo phones list")
    return {"device_id": found[0]["device_id"], "slot_index": slot}


def sim_name(sim: object) -> str:
    """Return the `sim` member of a payment method as `zte-front:0`; empty if there is none."""
    if not isinstance(sim, dict):
        return ""
    return f"{clean(sim.get('device_name') or sim.get('device_id'))}:{sim.get('slot_index')}"


def check_branch(client: Client, name: str | None, command: str) -> None:
    """Fail unless `--branch` has no name or that of a branch (BRANCH_NOT_FOUND, NOT_A_HUB); a list would be empty.

    `command` is the same command without `--branch`.
    """
    if name is None:
        return
    try:
        rows: Sequence[Row] = client.get(Path.LOCAL_HUB).data or ()
    except Failure as failure:
        if failure.code == ErrorCode.NOT_A_HUB:
            failure.message = "this shop is not a hub and has no branches: leave --branch out"
            failure.body, failure.next = {}, (command,)
        raise
    names = [clean(row.get("name")) for row in rows]
    if name in names:
        return
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake needs it

    meant = next(iter(get_close_matches(name, names, n=1)), "")
    known = f"the branches are: {', '.join(names)}" if names else "no branch has joined yet"
    why = f"there is no branch {name!r}; " + (f"did you mean {meant!r}?" if meant else known)
    raise Failure(ErrorCode.BRANCH_NOT_FOUND, why, next=("momo hub status",))


class IdKind(NamedTuple):
    """A kind of things with ids: its noun, its path, the error code of a missing one, and the command that lists them.

    `names` are the members of a row that name it too; `host` is that of its `url`. A call returns at most `page` rows, 0
    for all of them; `query` includes all in the list.
    """

    what: str
    path: str
    code: ErrorCode
    listed: str
    names: tuple[str, ...] = ()
    page: int = 0
    query: Mapping[str, object] = {}


def _receiver(row: Row) -> str:
    return receiver_of(clean(row.get("url")))


_E = ErrorCode
TRANSACTIONS: Final = IdKind("transaction", Path.TRANSACTIONS, _E.TRANSACTION_NOT_FOUND, "momo tx list")
METHODS: Final = IdKind(
    "payment method", Path.PAYMENT_METHODS, _E.PAYMENT_METHOD_NOT_FOUND, "momo lines list", ("phone_number", "account_name"),
)  # fmt: skip
ENDPOINTS: Final = IdKind(
    "endpoint", Path.ENDPOINTS, _E.ENDPOINT_NOT_FOUND, "momo endpoints list", ("description", "url", "host")
)
REVIEWS: Final = IdKind(
    "review", Path.REVIEWS, _E.REVIEW_NOT_FOUND, "momo review list --all", page=200, query={"state": "all"}
)
MESSAGES: Final = IdKind("message", Path.LOCAL_MESSAGES, _E.MESSAGE_NOT_FOUND, "momo messages list", page=500)
DELIVERIES: Final = IdKind("delivery", Path.DELIVERIES, _E.DELIVERY_NOT_FOUND, "momo deliveries list", page=200)
DEAD_LETTERS: Final = IdKind(
    "dead letter", Path.DEAD_LETTERS, _E.DEAD_LETTER_NOT_FOUND, "momo dead-letters list --include-replayed",
    page=500, query={"include_replayed": "true"},
)  # fmt: skip
KEYS: Final = IdKind("key", Path.KEYS, _E.KEY_NOT_FOUND, "momo keys list", ("name", "hint"))
PAYERS: Final = IdKind(
    "approved payer", Path.APPROVED_PAYERS, _E.APPROVED_PAYER_NOT_FOUND, "momo review payers list",
    ("phone_number", "name"), page=200,
)  # fmt: skip
NOTICES: Final = IdKind(
    "notice", Path.LOCAL_NOTICES, _E.NOTICE_NOT_FOUND, "momo notices list --all", page=500, query={"all": "1"}
)


def endpoint_id(client: Client, typed: str) -> str:
    """Return the id of an endpoint, given in whole or in part, or by its label, URL or host."""
    return id_of(client, ENDPOINTS, typed)


def endpoint_name(row: Row, rows: Iterable[Row]) -> str:
    """Return the name of an endpoint for commands: its host, or its id if several of the rows have that host."""
    host = _receiver(row)
    alone = sum(_receiver(other) == host for other in rows) == 1
    return host if host and alone else clean(row.get("id"))


def endpoint_word(client: Client, terminal: Terminal, id_: str) -> str:
    """Return the name of the endpoint with this id, quoted for a shell; the id if the daemon does not list it."""
    rows: Sequence[Row] = (client.find(Path.ENDPOINTS) if terminal.human else None) or ()
    mine = next((row for row in rows if row.get("id") == id_), None)
    return id_ if mine is None else shlex.quote(endpoint_name(mine, rows))


def rule_id(client: Client, endpoint: str, typed: str) -> str:
    """Return the id of a rule of one endpoint, given in whole or in part, or by its name or position."""
    kind = IdKind(
        "rule",
        path_of(Path.RULES, id=endpoint),
        ErrorCode.RULE_NOT_FOUND,
        f"momo endpoints rules list {endpoint}",
        ("name", "position"),
    )
    return id_of(client, kind, typed)


def id_of(client: Client, kind: IdKind, typed: str) -> str:
    """Return the id of the one thing that matches, a complete id unchanged; fail as `find_match`."""
    typed = typed.strip()
    if _UUID.fullmatch(typed):
        return typed
    return str(find_match(typed, list(_listed(client, kind)), kind)["id"])


def ids_of(client: Client, kind: IdKind, typed: Sequence[str]) -> list[str]:
    """Return the ids, each once; a text without a match stays, and the daemon refuses it; several matches fail."""
    if all(_UUID.fullmatch(each) for each in typed):
        return list(typed)
    rows = list(_listed(client, kind))
    return list(dict.fromkeys(_id_or_typed(each, rows, kind) for each in typed))


def _id_or_typed(typed: str, rows: Sequence[Row], kind: IdKind) -> str:
    if _UUID.fullmatch(typed):
        return typed
    try:
        return str(find_match(typed, rows, kind)["id"])
    except Failure as failure:
        if failure.code == ErrorCode.USAGE:
            raise
        return typed


def _listed(client: Client, kind: IdKind) -> Iterator[Row]:
    """Yield the rows of a kind, newest first, page by page."""
    if not kind.page:
        yield from client.get(kind.path, **kind.query).data or ()
        return
    yield from islice(client.rows(kind.path, kind.query, page=kind.page), _LOOKED_AT_MAX)


def matches_part(typed: str, whole: str) -> bool:
    """Return whether the typed text is the beginning of an id, or both its ends."""
    whole = whole.lower()
    head, *tail = _CUT.split(typed.lower(), maxsplit=1)
    given = len(head.removeprefix("svc_").removeprefix("trx_")) + sum(map(len, tail))
    if given < _SHOWN_MIN:
        return False
    return whole.startswith(head) and (not tail or whole.endswith(tail[0]))


def with_ellipsis(typed: str) -> str:
    """Return the typed text with `…` as the mark of the omitted middle."""
    return _CUT.sub("…", typed, count=1)


def find_match(typed: str, rows: Sequence[Row], kind: IdKind, *, id_: str = "id") -> Row:
    """Return the one row that matches; fail with the kind's code if none does, with USAGE if several do."""
    same = _comparable(typed)
    tests: tuple[Callable[[Row], bool], ...] = (
        lambda row: str(row.get(id_)).lower() == typed.lower(),
        lambda row: same in [_comparable(name) for name in _names(row, kind) if name],
        lambda row: matches_part(typed, str(row.get(id_))),
    )
    for test in tests:
        found = [row for row in rows if test(row)]
        if len(found) > 1:
            ids = ", ".join(clean(row.get(id_)) for row in found[:5])
            many = f"{kind.what[:-1]}ies" if kind.what.endswith("ry") else f"{kind.what}s"
            raise usage(f"{typed!r} matches {len(found)} {many}: {ids}", kind.listed)
        if found:
            return found[0]
    raise Failure(kind.code, f"no {kind.what} matches {typed!r}", next=(kind.listed,))


def _names(row: Row, kind: IdKind) -> list[str]:
    return [_receiver(row) if name == "host" else clean(row.get(name)) for name in kind.names]


def _comparable(name: str) -> str:
    """Return a name for comparison: without case; a phone number without spaces and country code."""
    digits = name.replace(" ", "").replace("-", "")
    if digits.removeprefix("+").isdigit() and digits.isascii():
        return digits.removeprefix("+233").removeprefix("0")
    return name.casefold().rstrip("/")
