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
    """Return the lines of a VALUES list with a named parameter for each value of `values(rows)`.

    One statement for many rows: each step of a statement lets another thread in, and the writer's turn comes back late.
    """
    return ", ".join(f"(:{', :'.join(names)})" for names in _names(tuple(map(len, rows))))


def values(rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the parameters of `table(rows)`."""
    return {
        name: value
        for names, row in zip(_names(tuple(map(len, rows))), rows, strict=True)
        for name, value in zip(names, row, strict=True)
    }


def listed(members: Collection[Any]) -> str:
    """Return the parameters of an IN list, of `listed_values(members)`."""
    return ", ".join(f":in{place}" for place in range(len(members)))


def listed_values(members: Collection[Any]) -> dict[str, Any]:
    """Return the values of an IN list."""
    return {f"in{place}": member for place, member in enumerate(members)}


@functools.lru_cache(maxsize=64)
def _names(widths: tuple[int, ...]) -> list[list[str]]:
    """Return a name for each place of lines so wide."""
    return [[f"v{line}_{place}" for place in range(width)] for line, width in enumerate(widths)]


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
