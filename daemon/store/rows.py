"""Rows to values: the one place that knows how a dataclass of `core.model` lies in a table."""

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")

_CONVERTERS: dict[type, tuple[tuple[int, Callable[[Any], Any]], ...]] = {}


@functools.cache
def columns(model: type, prefix: str = "") -> str:
    """Return the column list of a model, in the order that `load` expects, such as `t.seq, t.id`."""
    return ", ".join(f"{prefix}{field.name}" for field in fields(model))


def load(model: type[T], row: Sequence[Any]) -> T:
    """Make the value of one row whose columns are `columns(model)`."""
    values = list(row)
    for index, convert in _converters(model):
        if values[index] is not None:
            values[index] = convert(values[index])
    return model(*values)


def load_optional(model: type[T], row: Sequence[Any] | None) -> T | None:
    """Like `load`, for a row that may not be there."""
    return None if row is None else load(model, row)


def load_all(model: type[T], rows: Sequence[Sequence[Any]]) -> list[T]:
    """Make the values of many rows."""
    return [load(model, row) for row in rows]


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Return the lines of a VALUES list with a place for each of `values(rows)`.

    One statement for many rows: each step of a statement lets another thread in, and the writer's turn comes back late.
    The places have no names: SQLite finds the name of each by going through those before it, which for 50 rows of 7
    takes longer than writing them.
    """
    return ", ".join(f"({listed(row)})" for row in rows)


def values(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the parameters of `table(rows)`."""
    return [value for row in rows for value in row]


def listed(members: Collection[Any]) -> str:
    """Return the places of an IN list: one for each member, without names for the same reason."""
    return ", ".join("?" * len(members))


def _converters(model: type) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    known = _CONVERTERS.get(model)
    if known is None:
        hints = get_type_hints(model)
        found: list[tuple[int, Callable[[Any], Any]]] = []
        for index, field in enumerate(fields(model)):
            parts = getattr(hints[field.name], "__args__", (hints[field.name],))
            found += [(index, part) for part in parts if _is_converted(part)]
        known = _CONVERTERS[model] = tuple(found)
    return known


def _is_converted(kind: object) -> bool:
    return kind is bool or (isinstance(kind, type) and issubclass(kind, Enum))
