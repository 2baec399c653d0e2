"""Rows as values of the structs of `core.model`, lists of parameters, and the conditions of a list.

A statement names the columns of a struct as `*`, or `p.*` in a join, and so can be run as it stands; `of_struct` and
`of_join` put the columns into it.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct, field

from daemon.core.lines import silence
from daemon.core.lines.silence import Rhythm
from daemon.core.messages.balance_chain import ChainEntry
from daemon.core.messages.line_trust import Row as TrustRow
from daemon.core.messages.message_json import all_fields
from daemon.core.model import ApiKey, Delivery, Event, Message, Payment, Transaction, User

Row = tuple[Any, ...]
T = TypeVar("T", bound=Struct)
_ZERO: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""U+0000 in JSON, and not a backslash before `u0000`."""
_CONVERTERS: dict[type, tuple[tuple[int, Callable[[Any], Any]], ...]] = {}


_BY_NUMBER: Final[Mapping[type, Mapping[str, str]]] = {
    Delivery: {"endpoint_id": "endpoints", "transaction_id": "transactions"},
    Event: {
        "transaction_id": "transactions",
        "payment_id": "payments",
        "message_id": "messages",
        "endpoint_id": "endpoints",
    },
    Message: {"payment_method_id": "payment_methods"},
    Payment: {"message_id": "messages", "payment_method_id": "payment_methods"},
    Transaction: {"payment_id": "payments", "held_payment_id": "payments"},
}
"""Model -> ids that its table has as the number of the row, and the table of that row."""

_BRANCH: Final = "(SELECT b.name FROM branches b WHERE b.id = {prefix}branch_id)"
_OF_PAYMENT: Final = {
    name: f"COALESCE(NULLIF({{prefix}}{name}, ''), (SELECT y.{name} FROM payments y WHERE y.id = {{prefix}}payment_id), {{prefix}}{name})"
    for name in ("sim_key", "device_id", "kind", "provider")
}
"""What the copy of a payment's message at a hub does not have, because the payment has it."""
_READ_AS: Final[Mapping[type, Mapping[str, str]]] = {
    ApiKey: {"branch": _BRANCH},
    User: {"branch": _BRANCH},
    Message: _OF_PAYMENT,
    # A message that lacks parts may go, so its id is kept.
    Event: {"message_id": "COALESCE({named}, {prefix}message_id)"},
    ChainEntry: {"key": "(SELECT id FROM messages WHERE seq = {prefix}message_seq)"},
}
"""Model -> fields that are not simply a column or an id by number, and the expression that reads each."""


def by_number(model: type[Struct]) -> Mapping[str, str]:
    """Return the ids that the table of a model has as the number of the row, each with the table of that row."""
    return _BY_NUMBER.get(model, {})


_COLUMN: Final[Mapping[type, Mapping[str, str]]] = {
    ChainEntry: {
        "amount": "amount_minor",
        "effect": "effect_minor",
        "after": "after_minor",
        "row": "row_number",
        "gap_left": "gap_left_minor",
    },
    TrustRow: {"number": "seq", "before": "before_minor", "after": "after_minor"},
}
"""Model -> fields whose column has another name."""
_READ: Final[Mapping[type, Mapping[str, Callable[[str], Any]]]] = {
    Message: {"fields": all_fields},
    ChainEntry: {"doubts": msgspec.json.Decoder(tuple[str, ...]).decode},
    Rhythm: {"counts": silence.from_text},
}
"""Model -> fields that are stored as another text, and what makes their value of it."""


@functools.cache
def columns(model: type[Struct], prefix: str = "") -> str:
    """Return the column list of a model, in the order that `load` expects, such as `t.seq, t.id`."""
    return ", ".join(column(model, name, prefix) for name in model.__struct_fields__)


def column(model: type[Struct], name: str, prefix: str = "") -> str:
    """Return the expression that reads one field of a model."""
    table = by_number(model).get(name)
    named = f"(SELECT id FROM {table} WHERE seq = {prefix}{numbered(name)})" if table else ""
    read_as = _READ_AS.get(model, {}).get(name)
    if read_as is not None:
        return read_as.format(named=named, prefix=prefix)
    return named or f"{prefix}{_COLUMN.get(model, {}).get(name, name)}"


def numbered(name: str) -> str:
    """Return the column with the number of the row that a field names: `payment_seq` of `payment_id`."""
    return f"{name.removesuffix('id')}seq"


SIM: Final = "(SELECT seq FROM sims WHERE sim_key = :sim_key)"
"""The expression of the number of a SIM; NULL if it is not stored."""


@functools.cache
def insertion(table: str, model: type[Struct], *defaults: str, **expressions: str) -> str:
    """Return the INSERT of a row with every column of a model but `seq` and those that keep their default.

    `expressions` store something else than the parameter of a field's name.
    """
    given = {**assignments(model, "seq", *defaults), **expressions}
    return f"INSERT INTO {table} ({', '.join(given)}) VALUES ({', '.join(given.values())})"


@functools.cache
def update(table: str, model: type[Struct], *kept: str) -> str:
    """Return the UPDATE of every column of a model's fields but `kept`, without its condition."""
    given = assignments(model, "seq", *kept).items()
    return f"UPDATE {table} SET {', '.join(f'{name} = {value}' for name, value in given)}"


@functools.cache
def assignments(model: type[Struct], *kept: str) -> Mapping[str, str]:
    """Return the columns of a model's fields but `kept`, each with the expression that stores the parameter of that name."""
    referred, hints = by_number(model), get_type_hints(model)
    found = {}
    for name in model.__struct_fields__:
        if name in kept:
            continue
        if name in referred:
            of = number_or_none if type(None) in get_args(hints[name]) else number
            found[numbered(name)] = of(referred[name], f":{name}")
        else:
            found[_COLUMN.get(model, {}).get(name, name)] = f":{name}"
    return found


def anew(model: type[Struct]) -> str:
    """Return what follows `ON CONFLICT ... DO UPDATE SET`, for every column of a model's fields."""
    return ", ".join(f"{name} = excluded.{name}" for name in assignments(model, "seq"))


def number(table: str, row_id: str) -> str:
    """Return the expression of the number of the row with this id; NULL if there is none."""
    return f"(SELECT seq FROM {table} WHERE id = {row_id})"


def number_or_none(table: str, row_id: str) -> str:
    """Return the expression of the number of the row with this id, for a column where NULL means that none was given.

    An unknown id is number 0, which such a column refuses.
    """
    known = f"COALESCE({number(table, row_id)}, 0)"
    return f"CASE WHEN CAST({row_id} AS TEXT) IS NOT NULL THEN {known} END"


def load(model: type[T], row: Sequence[Any]) -> T:
    """Return the value of one row with the columns `columns(model)`."""
    values = list(row)
    for index, convert in _converters(model):
        if values[index] is not None:
            values[index] = convert(values[index])
    return model(*values)


@functools.lru_cache(maxsize=1024)
def of_struct(model: type[Struct], sql: str) -> str:
    """Return a statement with the columns of a model for each `*` that it selects or returns, also of one table (`t.*`)."""
    return _STAR.sub(lambda match: f"{match[1]}{columns(model, match[2] or '')}", sql)


_STAR: Final = re.compile(r"(\b(?:SELECT|RETURNING) )(\w+\.)?\*")
_PART: Final = re.compile(r"'[^']*'|[(),]|\bSELECT\b|\bFROM\b")
Slices = tuple[tuple[int, int, type[Struct] | None], ...]


@functools.lru_cache(maxsize=1024)
def of_join(sql: str, models: tuple[tuple[str, type[Struct]], ...]) -> tuple[str, Slices]:
    """Return a statement with the columns of the model for each `p.*`, and where each selected value is in a row.

    The statement may begin with other ones (`WITH`). `models` has the name of a table in it, such as `p`, and its
    model.
    """
    depth, edges = 0, list[int]()
    for match in _PART.finditer(sql):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0 and match[0] in {"SELECT", "FROM", ","}:
            if match[0] == "SELECT":
                edges = [match.end()]
            elif edges:
                edges.append(match.start())
            if match[0] == "FROM" and edges:
                break
    known, places, place = {f"{name}.*": model for name, model in models}, list[Any](), 0
    selected = [sql[i:j].lstrip(",").strip() for i, j in itertools.pairwise(edges)]
    for index, item in enumerate(selected):
        model = known.get(item)
        width = 1 if model is None else len(model.__struct_fields__)
        places.append((place, place + width, model))
        place += width
        selected[index] = item if model is None else columns(model, item[:-1])
    return f"{sql[: edges[0]]} {', '.join(selected)} {sql[edges[-1] :]}", tuple(places)


def load_joined(places: Slices, row: Sequence[Any]) -> Row:
    """Return the values of a row: a struct for each model, None for one whose row is missing, the other columns as they are."""
    return tuple(
        row[start] if model is None or row[start] is None else load(model, row[start:stop])
        for start, stop, model in places
    )


def _converters(model: type[Struct]) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    known = _CONVERTERS.get(model)
    if known is None:
        hints = get_type_hints(model)
        found: list[tuple[int, Callable[[Any], Any]]] = []
        for index, name in enumerate(model.__struct_fields__):
            if (read := _READ.get(model, {}).get(name)) is not None:
                found.append((index, read))
                continue
            parts = getattr(hints[name], "__args__", (hints[name],))
            found += [(index, _converter(part)) for part in parts if _is_converted(part)]
        known = _CONVERTERS[model] = tuple(found)
    return known


def _converter(kind: Any) -> Callable[[Any], Any]:
    """Return the fastest way from a stored value to the field's."""
    if kind is bool:
        return bool
    members = {member.value: member for member in kind}

    def member_of(value: Any) -> Any:
        found = members.get(value)
        return kind(value) if found is None else found

    return member_of


def _is_converted(kind: object) -> bool:
    return kind is bool or (isinstance(kind, type) and issubclass(kind, Enum))


def json_rows(rows: Sequence[object]) -> str:
    """Return rows or members as the JSON array that a statement reads with `json_each`, however many they are.

    U+0000, which PostgreSQL refuses in JSON, is U+FFFD in it, as in the other parameters of a statement there.
    """
    found = msgspec.json.encode(rows).decode()
    return _ZERO.sub(r"\1\\ufffd", found) if "\\u0000" in found else found


def json_ids(ids: Iterable[str]) -> str:
    """Return ids as `json_rows` with one column, for `IN (SELECT value ->> 0 FROM json_each(:ids))`."""
    return json_rows([(one,) for one in ids])


class Conditions(Struct):
    """The conditions of a list, all of which must hold, and their parameters."""

    tests: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)

    def always(self, test: str) -> None:
        """Add a condition without a parameter."""
        self.tests.append(test)

    def by(self, test: str, **given: object) -> None:
        """Add a condition with one parameter, unless the given value is None."""
        ((name, value),) = given.items()
        if value is not None:
            self.tests.append(test)
            self.params[name] = value

    @property
    def where(self) -> str:
        """Return the condition as SQL."""
        return " AND ".join(self.tests) or "1 = 1"
