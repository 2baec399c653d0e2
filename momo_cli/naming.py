"""What may stand for an id: the whole of it, a name, the beginning of it, or its two ends as tables cut it.

Exactly one thing must be meant; with two, none is taken. A whole id is never looked up: what is wrong with it is for
the daemon to say (docs/decisions/0040).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from daemon.wire import ErrorCode, Path
from momo_cli.answer import Row
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure, usage
from momo_cli.text import clean

_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_CUT: Final = re.compile(r"…|~|\.\.\.", re.ASCII)
"""What stands in the middle of an id that a narrow table has cut, and what people write for it."""
_SHOWN_MIN: Final = 4
"""Characters of an id that must be given; fewer are a slip of the hand."""
_LOOKED_AT_MAX: Final = 2000
"""Of a long list the newest so many are looked at; what tables show is among them."""


def _nothing(_: Row) -> Iterable[object]:
    """Return no name: things of this kind have none."""
    return ()


class Kind(NamedTuple):
    """Things of one kind: where they are listed, and by what they are known.

    Attributes:
        what: One of them, in a sentence.
        path: Lists them all.
        code: What the daemon says when there is no such one.
        listed: The command that shows them.
        names: By what else people know a row.
        page: The most rows that one call returns; 0 when it returns them all.
        query: What makes the list hold all of them.
    """

    what: str
    path: str
    code: ErrorCode
    listed: str
    names: Callable[[Row], Iterable[object]] = _nothing
    page: int = 0
    query: Mapping[str, object] = {}


def _host(row: Row) -> str:
    return clean(row.get("url")).partition("://")[2].partition("/")[0]


ORDERS: Final = Kind(
    "order",
    Path.TRANSACTIONS,
    ErrorCode.TRANSACTION_NOT_FOUND,
    "momo tx list",
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
REVIEWS: Final = Kind(
    "review",
    Path.REVIEWS,
    ErrorCode.REVIEW_NOT_FOUND,
    "momo review list --all",
    page=200,
    query={"state": "all"},
)
MESSAGES: Final = Kind(
    "message",
    Path.LOCAL_MESSAGES,
    ErrorCode.MESSAGE_NOT_FOUND,
    "momo messages list",
    page=500,
)
DELIVERIES: Final = Kind(
    "delivery",
    Path.DELIVERIES,
    ErrorCode.DELIVERY_NOT_FOUND,
    "momo deliveries list",
    page=200,
)
DEAD_LETTERS: Final = Kind(
    "dead letter",
    Path.DEAD_LETTERS,
    ErrorCode.DEAD_LETTER_NOT_FOUND,
    "momo dead-letters list --include-replayed",
    page=500,
    query={"include_replayed": "true"},
)
KEYS: Final = Kind(
    "key",
    Path.KEYS,
    ErrorCode.KEY_NOT_FOUND,
    "momo keys list",
    lambda row: (row.get("name"), row.get("hint")),
)
PAYERS: Final = Kind(
    "approved payer",
    Path.APPROVED_PAYERS,
    ErrorCode.APPROVED_PAYER_NOT_FOUND,
    "momo payers list",
    lambda row: (row.get("phone_number"), row.get("name")),
    page=200,
)
NOTICES: Final = Kind(
    "notice",
    Path.LOCAL_NOTICES,
    ErrorCode.NOTICE_NOT_FOUND,
    "momo notices list --all",
    page=500,
    query={"all": "1"},
)


def method_id(client: Client, typed: str) -> str:
    """Return the id of a number: given whole or in part, or by the number itself, or the name on it."""
    return id_of(client, METHODS, typed)


def endpoint_id(client: Client, typed: str) -> str:
    """Return the id of an endpoint: given whole or in part, or by its label, URL or host."""
    return id_of(client, ENDPOINTS, typed)


def rule_id(client: Client, endpoint: str, typed: str) -> str:
    """Return the id of a rule of one endpoint, which is given by its id: whole or in part, or by its name or place."""
    kind = Kind(
        "rule",
        path_of(Path.RULES, id=endpoint),
        ErrorCode.RULE_NOT_FOUND,
        f"momo rules list {endpoint}",
        lambda row: (row.get("name"), str(row.get("position"))),
    )
    return id_of(client, kind, typed)


def id_of(client: Client, kind: Kind, typed: str) -> str:
    """Return the id of the one thing that is meant; a whole id as it is.

    Raises:
        Failure: The kind's code when none is meant, USAGE when several are.
    """
    if _UUID.fullmatch(typed):
        return typed
    return str(one_of(typed, list(_listed(client, kind)), kind)["id"])


def ids_of(client: Client, kind: Kind, typed: Sequence[str]) -> list[str]:
    """Return the ids of many, each once; what nothing is meant by stays as it is, for the daemon to refuse alone.

    Raises:
        Failure: USAGE, when one of them means several.
    """
    if all(_UUID.fullmatch(each) for each in typed):
        return list(typed)
    rows = list(_listed(client, kind))
    found = dict.fromkeys(_id_or_typed(each, rows, kind) for each in typed)
    return list(found)


def _id_or_typed(typed: str, rows: Sequence[Row], kind: Kind) -> str:
    if _UUID.fullmatch(typed):
        return typed
    try:
        return str(one_of(typed, rows, kind)["id"])
    except Failure as failure:
        if failure.code == ErrorCode.USAGE:
            raise
        return typed


def _listed(client: Client, kind: Kind) -> Iterator[Row]:
    """Yield the rows of a kind, newest first, page by page."""
    if not kind.page:
        yield from client.get(kind.path, **kind.query).data or ()
        return
    for offset in range(0, _LOOKED_AT_MAX, kind.page):
        rows = client.get(kind.path, **kind.query, limit=kind.page, offset=offset).data or ()
        yield from rows
        if len(rows) < kind.page:
            return


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
            raise usage(f"{len(found)} {_many(kind)} are meant by {typed!r}: {ids}", kind.listed)
        if found:
            return found[0]
    raise Failure(kind.code, f"no {kind.what} is meant by {typed!r}", next=(kind.listed,))


def _many(kind: Kind) -> str:
    return f"{kind.what[:-1]}ies" if kind.what.endswith("ry") else f"{kind.what}s"


def _comparable(name: str) -> str:
    """Return a name without what people leave out: case, and of a number the spaces and the country."""
    digits = name.replace(" ", "").replace("-", "")
    if digits.removeprefix("+").isdigit() and digits.isascii():
        return digits.removeprefix("+233").removeprefix("0")
    return name.casefold().rstrip("/")
