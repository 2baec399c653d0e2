"""The language of routing rules: which payments does an endpoint claim? Pure (decisions.md section 5).

A filter is JSON: an implicit AND over fields of the payload's `data`,

    {"payment_method.phone_number": "+233241234567",
     "amount": {"$gte": "50.00"},
     "$or": [{"telco.reference_text": {"$startsWith": "RENT"}}, {"client_reference": {"$exist": false}}]}

It is read once into a tree, and everything that is wrong with it is said at once. The tree is then held against a payment
and never raises. An unknown value equals null and nothing else: it is not greater, less, or the beginning of anything, so
`$neq` and `$nin` hold for it. `$not` always gives the opposite. There are no regular expressions: nobody can write a
filter that takes long.

A few lines over 300: reading a filter and holding it against a payment are one language.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from daemon.core.errors import FieldError
from daemon.core.limits import FILTER_BYTES_MAX, FILTER_DEPTH_MAX
from daemon.core.rule_fields import FIELDS, META, PARTS, Facts, Kind, Value, kind_of, show

ERRORS_MAX: Final = 50
"""A filter of 4 KB could be wrong in a thousand places."""

_LOGIC: Final = ("$and", "$or", "$not")
_EQUALITY: Final = ("$eq", "$neq", "$in", "$nin", "$exist")
OPERATORS: Final = (
    "$eq", "$neq", "$gt", "$gte", "$lt", "$lte", "$in", "$nin",
    "$startsWith", "$endsWith", "$contains", "$exist", *_LOGIC,
)  # fmt: skip

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda seen, wanted: seen > wanted,
    "$gte": lambda seen, wanted: seen >= wanted,
    "$lt": lambda seen, wanted: seen < wanted,
    "$lte": lambda seen, wanted: seen <= wanted,
    "$startsWith": lambda seen, wanted: seen.startswith(wanted),
    "$endsWith": lambda seen, wanted: seen.endswith(wanted),
    "$contains": lambda seen, wanted: wanted in seen,
}


@dataclass(frozen=True, slots=True)
class Clause:
    """One comparison.

    Attributes:
        path: Where it stands in the filter, such as `$or[0].amount.$gte`.
        wanted: Folded; a tuple for `$in` and `$nin`, true or false for `$exist`.
        given: The value as the filter has it.
    """

    path: str
    name: str
    operator: str
    wanted: Value | tuple[Value, ...]
    given: Any = field(hash=False)

    def holds(self, facts: Facts) -> bool:
        """Say whether a payment is so."""
        return self.holds_for(facts.value(self.name))

    def holds_for(self, raw: Value) -> bool:
        """Say the same of the field's raw value."""
        kind = kind_of(self.name)
        assert kind is not None, "a clause is read with its field"
        if self.operator == "$exist":
            return (raw is not None) is self.wanted
        seen = None if raw is None else kind.fold(raw)
        if self.operator in ("$in", "$nin"):
            assert isinstance(self.wanted, tuple)
            return (seen in self.wanted) is (self.operator == "$in")
        if self.operator in ("$eq", "$neq"):
            return (seen == self.wanted) is (self.operator == "$eq")
        return seen is not None and _COMPARE[self.operator](seen, self.wanted)

    def clauses(self) -> Iterator["Clause"]:
        """Return itself."""
        yield self


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold; so does nothing at all."""

    parts: tuple["Node", ...]

    def holds(self, facts: Facts) -> bool:
        """Say whether a payment is so."""
        return all(part.holds(facts) for part in self.parts)

    def clauses(self) -> Iterator[Clause]:
        """Return every comparison within, in order."""
        for part in self.parts:
            yield from part.clauses()


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple["Node", ...]

    def holds(self, facts: Facts) -> bool:
        """Say whether a payment is so."""
        return any(part.holds(facts) for part in self.parts)

    def clauses(self) -> Iterator[Clause]:
        """Return every comparison within, in order."""
        for part in self.parts:
            yield from part.clauses()


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Node"

    def holds(self, facts: Facts) -> bool:
        """Say whether a payment is so."""
        return not self.part.holds(facts)

    def clauses(self) -> Iterator[Clause]:
        """Return every comparison within, in order."""
        return self.part.clauses()


Node = Clause | Every | Some | Not


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that was read.

    Attributes:
        root: What must hold.
        names: The fields that it looks at.
    """

    root: Node
    names: frozenset[str]


NEVER: Final = Filter(Some(()), frozenset())


@dataclass(frozen=True, slots=True)
class Seen:
    """What one comparison found: the clause itself holds or not, whatever stands around it."""

    clause: Clause
    actual: Any
    holds: bool

    def as_json(self) -> dict[str, Any]:
        """Return it for people and programs."""
        return {
            "path": self.clause.path,
            "field": self.clause.name,
            "operator": self.clause.operator,
            "expected": self.clause.given,
            "actual": self.actual,
            "matched": self.holds,
        }


def explain(found: Filter, facts: Facts) -> list[Seen]:
    """Hold every comparison of a filter against a payment, also those that decide nothing."""
    return [
        Seen(clause, show(clause.name, raw), clause.holds_for(raw))
        for clause in found.root.clauses()
        for raw in (facts.value(clause.name),)
    ]


def read_filter(text: str) -> Filter | list[FieldError]:
    """Read a filter.

    Args:
        text: Compact JSON of an object; its numbers may have fractions, which are never judged as floats.

    Returns:
        The filter, or everything that is wrong with it, each with its path below `filter`.
    """
    if len(text.encode()) > FILTER_BYTES_MAX:
        size = f"is larger than {FILTER_BYTES_MAX} bytes as compact JSON"
        return [FieldError("filter", "too_long", size)]
    reader = _Reader()
    root = reader.all_of(json.loads(text, parse_float=str), "filter", 1)
    if reader.errors:
        return reader.errors[:ERRORS_MAX]
    return Filter(root, frozenset(clause.name for clause in root.clauses()))


@lru_cache(maxsize=2048)
def stored_filter(text: str) -> Filter:
    """Read a filter that was valid when it was stored: once for each text, so a payment costs no reading.

    One that a newer momo wrote and this one cannot read claims nothing: it must not stop a payment.
    """
    found = read_filter(text)
    return found if isinstance(found, Filter) else NEVER


class _Reader:
    """Reads one filter and notes all that is wrong with it."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def fail(self, path: str, code: str, message: str) -> None:
        self.errors.append(FieldError(path, code, message))

    def all_of(self, value: Any, path: str, depth: int) -> Node:
        """Read a filter: fields and logic, all of which must hold."""
        if not isinstance(value, dict):
            self.fail(path, "wrong_type", "must be an object of fields and conditions")
            return Every(())
        if depth > FILTER_DEPTH_MAX:
            self.fail(path, "too_deep", f"filters are nested at most {FILTER_DEPTH_MAX} deep")
            return Every(())
        parts: list[Node] = []
        for key, inner in value.items():
            here = f"{path}.{key}"
            if key in _LOGIC:
                parts.append(
                    self._logic(key, inner, here, lambda v, p: self.all_of(v, p, depth + 1))
                )
            elif key.startswith("$"):
                self.fail(here, "unknown_operator", _no_operator(key, _LOGIC, "beside fields"))
            else:
                parts.append(self._field(key, inner, here, depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _logic(
        self, operator: str, value: Any, path: str, read: Callable[[Any, str], Node]
    ) -> Node:
        if operator == "$not":
            return Not(read(value, path))
        if not isinstance(value, list) or not value:
            self.fail(path, "wrong_type", "must be a list of at least one condition")
            return Every(())
        parts = tuple(read(each, f"{path}[{place}]") for place, each in enumerate(value))
        return Every(parts) if operator == "$and" else Some(parts)

    def _field(self, name: str, value: Any, path: str, depth: int) -> Node:
        kind = kind_of(name)
        if kind is None:
            self.fail(path, "unknown_field", _no_field(name))
            return Every(())
        return self._conditions(name, kind, value, path, depth)

    def _conditions(self, name: str, kind: Kind, value: Any, path: str, depth: int) -> Node:
        """Read what a field must be: a value, or an object of operators, all of which must hold."""
        if not isinstance(value, dict):
            return self._clause(name, kind, "$eq", value, path)
        if not value:
            self.fail(path, "required", "names no condition")
        if depth > FILTER_DEPTH_MAX:
            self.fail(path, "too_deep", f"filters are nested at most {FILTER_DEPTH_MAX} deep")
            return Every(())
        parts: list[Node] = []
        allowed = (*_EQUALITY, *kind.operators, *_LOGIC)
        for operator, wanted in value.items():
            here = f"{path}.{operator}"
            if operator in _LOGIC:
                parts.append(
                    self._logic(
                        operator,
                        wanted,
                        here,
                        lambda v, p: self._conditions(name, kind, v, p, depth + 1),
                    )
                )
            elif operator in allowed:
                parts.append(self._clause(name, kind, operator, wanted, here))
            else:
                text = _no_operator(operator, allowed, f"for {name}")
                self.fail(here, "unknown_operator", text)
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _clause(self, name: str, kind: Kind, operator: str, value: Any, path: str) -> Node:
        wanted: Value | tuple[Value, ...]
        if operator == "$exist":
            wanted = value if isinstance(value, bool) else None
            if wanted is None:
                self.fail(path, "wrong_type", "must be true or false")
        elif operator in ("$in", "$nin"):
            if not isinstance(value, list) or not value:
                self.fail(path, "wrong_type", "must be a list of at least one value")
                value = []
            wanted = tuple(
                self._wanted(kind, each, f"{path}[{place}]", null=True)
                for place, each in enumerate(value)
            )
        elif operator in PARTS:
            wanted = kind.part(value, operator)
            if wanted is None:
                self.fail(path, "invalid", f"must be {kind.part_needs}")
        else:
            wanted = self._wanted(kind, value, path, null=operator in ("$eq", "$neq"))
        return Clause(path.removeprefix("filter."), name, operator, wanted, value)

    def _wanted(self, kind: Kind, value: Any, path: str, *, null: bool) -> Value:
        if value is None and null:
            return None
        scalar = not isinstance(value, dict | list)
        raw = kind.raw(value) if scalar and value is not None else None
        if raw is None:
            self.fail(path, "invalid", f"must be {kind.needs}{' or null' if null else ''}")
            return None
        return kind.fold(raw)


def _no_field(name: str) -> str:
    inside = [known for known in FIELDS if known.startswith(f"{name}.")]
    if inside:
        return f"holds several fields; write one of {', '.join(inside)}"
    if name == META.rstrip("."):
        return "holds what the order was made with; write meta.NAME"
    return f"there is no such field; there are {', '.join(FIELDS)} and meta.NAME"


def _no_operator(operator: str, allowed: tuple[str, ...], where: str) -> str:
    there = f"there are {', '.join(allowed)}"
    if not operator.startswith("$"):
        return f"is no operator; {there}"
    return f"there is no {operator} {where}; {there}"
