"""What may stand for an id: the whole of it, a name, the beginning of it, or its two ends as tables cut it.

Exactly one thing must be meant; with two, none is taken. A whole id is never looked up: what is wrong with it is for
the daemon to say (docs/decisions/0040).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from daemon.wire import ErrorCode, Path
from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.text import clean

_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_CUT: Final = re.compile(r"…|~|\.\.\.", re.ASCII)
"""What stands in the middle of an id that a narrow table has cut, and what people write for it."""
_SHOWN_MIN: Final = 4
"""Characters of an id that must be given; fewer are a slip of the hand."""


class Kind(NamedTuple):
    """Things of one kind: where they are listed, and by what they are known.

    Attributes:
        what: One of them, in a sentence.
        path: Lists them all.
        code: What the daemon says when there is no such one.
        listed: The command that shows them.
        names: By what else people know a row.
    """

    what: str
    path: str
    code: ErrorCode
    listed: str
    names: Callable[[Row], Iterable[object]]


def _host(row: Row) -> str:
    return clean(row.get("url")).partition("://")[2].partition("/")[0]


ORDERS: Final = Kind(
    "order",
    Path.TRANSACTIONS,
    ErrorCode.TRANSACTION_NOT_FOUND,
    "momo tx list",
    lambda _: (),
)
METHODS: Final = Kind(
    "number",
    Path.PAYMENT_METHODS,
    ErrorCode.PAYMENT_METHOD_NOT_FOUND,
    "momo methods list",
    lambda row: (row.get("phone_number"), row.get("account_name")),
)
ENDPOINTS: Final = Kind(
    "endpoint",
    Path.ENDPOINTS,
    ErrorCode.ENDPOINT_NOT_FOUND,
    "momo endpoints list",
    lambda row: (row.get("description"), row.get("url"), _host(row)),
)


def method_id(client: Client, typed: str) -> str:
    """Return the id of a number: given whole or in part, or by the number itself, or the name on it."""
    return _id(client, METHODS, typed)


def endpoint_id(client: Client, typed: str) -> str:
    """Return the id of an endpoint: given whole or in part, or by its label, URL or host."""
    return _id(client, ENDPOINTS, typed)


def fits(typed: str, whole: str) -> bool:
    """Say whether what was typed is the beginning of an id, or its two ends."""
    whole = whole.lower()
    head, *tail = _CUT.split(typed.lower(), maxsplit=1)
    told = len(head.removeprefix("svc_").removeprefix("trx_")) + sum(map(len, tail))
    if told < _SHOWN_MIN:
        return False
    return whole.startswith(head) and (not tail or whole.endswith(tail[0]))


def written(typed: str) -> str:
    """Return it with `…` where it is cut, however that was written."""
    return _CUT.sub("…", typed, count=1)


def one_of(typed: str, rows: Sequence[Row], kind: Kind, *, id_: str = "id") -> Row:
    """Return the one row that is meant.

    Raises:
        Failure: The kind's code when none is, USAGE when several are.
    """
    same = _comparable(typed)
    tests: tuple[Callable[[Row], bool], ...] = (
        lambda row: str(row.get(id_)).lower() == typed.lower(),
        lambda row: same in [_comparable(clean(name)) for name in kind.names(row) if name],
        lambda row: fits(typed, str(row.get(id_))),
    )
    for test in tests:
        found = [row for row in rows if test(row)]
        if len(found) > 1:
            ids = ", ".join(clean(row.get(id_)) for row in found[:5])
            raise usage(f"{len(found)} {kind.what}s are meant by {typed!r}: {ids}", kind.listed)
        if found:
            return found[0]
    raise Failure(kind.code, f"no {kind.what} is meant by {typed!r}")


def _id(client: Client, kind: Kind, typed: str) -> str:
    if _UUID.fullmatch(typed):
        return typed
    return str(one_of(typed, client.get(kind.path).data or (), kind)["id"])


def _comparable(name: str) -> str:
    """Return a name without what people leave out: case, and of a number the spaces and the country."""
    digits = name.replace(" ", "").replace("-", "")
    if digits.removeprefix("+").isdigit() and digits.isascii():
        return digits.removeprefix("+233").removeprefix("0")
    return name.casefold().rstrip("/")
