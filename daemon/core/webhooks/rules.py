"""The filter language of routing rules. Pure.

A filter is JSON: an implicit AND over fields of the payload's `data`,

    {"payment_method.phone_number": "+233241234567",
     "amount": {"$gte": "50.00"},
     "$or": [{"telco.reference_text": {"$startsWith": "RENT"}}, {"client_reference": {"$exist": false}}]}

It is parsed once into a tree, and all its errors are reported at once. Evaluating the tree for a payment never raises. An
unknown value equals only null: no order or part comparison holds for it, so `$neq` and `$nin` hold. `$not` always gives the
opposite. There are no regular expressions, so no filter can take long to evaluate.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from daemon.core.errors import FieldError
from daemon.core.webhooks.rule_fields import FIELDS, META, PART_OPERATORS, FieldKind, RuleValues, Value, kind_of, show

FILTER_BYTES_MAX: Final = 4 * 1024
FILTER_DEPTH_MAX: Final = 4
"""Nesting depth, counting the outermost filter: each `$and`, `$or` and `$not` adds one."""
ERRORS_MAX: Final = 50
"""A filter of 4 KB could contain a thousand errors."""

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

    `path` is its place in the filter, such as `$or[0].amount.$gte`. `wanted` is the folded value of `given`: a tuple
    for `$in` and `$nin`, true or false for `$exist`.
    """

    path: str
    name: str
    operator: str
    wanted: Value | tuple[Value, ...]
    given: Any = field(hash=False)

    def holds(self, facts: RuleValues) -> bool:
        """Return whether the condition holds for a payment."""
        return self.holds_for(facts.value(self.name))

    def holds_for(self, raw: Value) -> bool:
        """Return whether the condition holds for a raw value of the field."""
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
        """Yield the clause itself."""
        yield self


class Conditions(Struct, frozen=True):
    """Conditions joined by AND or OR; without parts an AND holds and an OR does not."""

    parts: tuple["Node", ...]
    join: Callable[[Iterable[bool]], bool] = all

    def holds(self, facts: RuleValues) -> bool:
        """Return whether the condition holds for a payment."""
        return self.join(part.holds(facts) for part in self.parts)

    def clauses(self) -> Iterator[Clause]:
        """Return all comparisons in it, in order."""
        for part in self.parts:
            yield from part.clauses()


class Not(Struct, frozen=True):
    """NOT: the part does not hold."""

    part: "Node"

    def holds(self, facts: RuleValues) -> bool:
        """Return whether the condition holds for a payment."""
        return not self.part.holds(facts)

    def clauses(self) -> Iterator[Clause]:
        """Return all comparisons in it, in order."""
        return self.part.clauses()


Node = Clause | Conditions | Not


class Filter(Struct, frozen=True):
    """A parsed filter.

    `names` are the fields that it compares.
    """

    root: Node
    names: frozenset[str]


NEVER: Final = Filter(Conditions((), any), frozenset())


class ClauseResult(Struct, frozen=True):
    """Result of one clause alone, without the conditions around it."""

    clause: Clause
    actual: Any
    holds: bool


def explain_filter(found: Filter, facts: RuleValues) -> list[ClauseResult]:
    """Evaluate every comparison of a filter for a payment, including those that do not affect the result."""
    return [
        ClauseResult(clause, show(clause.name, raw), clause.holds_for(raw))
        for clause in found.root.clauses()
        for raw in (facts.value(clause.name),)
    ]


def read_filter(text: str) -> Filter | list[FieldError]:
    """Parse a filter; return it, or all its errors, each with its path below `filter`.

    `text` is compact JSON of an object; numbers with a fraction are read as text, never as floats.
    """
    if len(text.encode()) > FILTER_BYTES_MAX:
        size = f"is larger than {FILTER_BYTES_MAX} bytes as compact JSON"
        return [FieldError("filter", "too_long", size)]
    reader = _Reader()
    root = reader.all_of(json.loads(text, parse_float=str), "filter", 1)
    if reader.errors:
        return reader.errors[:ERRORS_MAX]
    return Filter(root, frozenset(clause.name for clause in root.clauses()))


# The key is the filter's text and not a version number: a rolled back transaction gives the same number out twice.
@lru_cache(maxsize=2048)
def stored_filter(text: str) -> Filter:
    """Parse a stored filter, which was valid when it was stored; cached, so that payments cost no parsing."""
    found = read_filter(text)
    # A filter of a newer momo that this one cannot parse claims no payment: it must not stop one.
    return found if isinstance(found, Filter) else NEVER


class _Reader:
    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def fail(self, path: str, code: str, message: str) -> None:
        self.errors.append(FieldError(path, code, message))

    def all_of(self, value: Any, path: str, depth: int) -> Node:
        """Parse a filter: fields and logical operators, joined by AND."""
        if not isinstance(value, dict):
            self.fail(path, "wrong_type", "must be an object of fields and conditions")
            return Conditions(())
        if depth > FILTER_DEPTH_MAX:
            self.fail(path, "too_deep", f"filters are nested at most {FILTER_DEPTH_MAX} deep")
            return Conditions(())
        parts: list[Node] = []
        for key, inner in value.items():
            here = f"{path}.{key}"
            if key in _LOGIC:
                parts.append(self._logic(key, inner, here, lambda v, p: self.all_of(v, p, depth + 1)))
            elif key.startswith("$"):
                self.fail(here, "unknown_operator", _no_operator(key, _LOGIC, "beside fields"))
            else:
                kind = kind_of(key)
                if kind is None:
                    self.fail(here, "unknown_field", _no_field(key))
                else:
                    parts.append(self._conditions(key, kind, inner, here, depth))
        return parts[0] if len(parts) == 1 else Conditions(tuple(parts))

    def _logic(self, operator: str, value: Any, path: str, read: Callable[[Any, str], Node]) -> Node:
        if operator == "$not":
            return Not(read(value, path))
        if not isinstance(value, list) or not value:
            self.fail(path, "wrong_type", "must be a list of at least one condition")
            return Conditions(())
        parts = tuple(read(each, f"{path}[{place}]") for place, each in enumerate(value))
        return Conditions(parts, all if operator == "$and" else any)

    def _conditions(self, name: str, kind: FieldKind, value: Any, path: str, depth: int) -> Node:
        """Parse the condition of a field: a value, or an object of operators joined by AND."""
        if not isinstance(value, dict):
            return self._clause(name, kind, "$eq", value, path)
        if not value:
            self.fail(path, "required", "has no condition")
        if depth > FILTER_DEPTH_MAX:
            self.fail(path, "too_deep", f"filters are nested at most {FILTER_DEPTH_MAX} deep")
            return Conditions(())
        parts: list[Node] = []
        allowed = (*_EQUALITY, *kind.operators, *_LOGIC)
        for operator, wanted in value.items():
            here = f"{path}.{operator}"
            if operator in _LOGIC:
                parts.append(
                    self._logic(operator, wanted, here, lambda v, p: self._conditions(name, kind, v, p, depth + 1))
                )
            elif operator in allowed:
                parts.append(self._clause(name, kind, operator, wanted, here))
            else:
                text = _no_operator(operator, allowed, f"for {name}")
                self.fail(here, "unknown_operator", text)
        return parts[0] if len(parts) == 1 else Conditions(tuple(parts))

    def _clause(self, name: str, kind: FieldKind, operator: str, value: Any, path: str) -> Node:
        wanted: Value | tuple[Value, ...]
        if operator == "$exist":
            wanted = value if isinstance(value, bool) else None
            if wanted is None:
                self.fail(path, "wrong_type", "must be true or false")
        elif operator in ("$in", "$nin"):
            if not isinstance(value, list) or not value:
                self.fail(path, "wrong_type", "must be a list of at least one value")
                value = []
            wanted = tuple(self._wanted(kind, each, f"{path}[{place}]", null=True) for place, each in enumerate(value))
        elif operator in PART_OPERATORS:
            wanted = kind.part(value, operator)
            if wanted is None:
                self.fail(path, "invalid", f"must be {kind.part_needs}")
        else:
            wanted = self._wanted(kind, value, path, null=operator in ("$eq", "$neq"))
        return Clause(path.removeprefix("filter."), name, operator, wanted, value)

    def _wanted(self, kind: FieldKind, value: Any, path: str, *, null: bool) -> Value:
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
        return "holds the shop's own data of the transaction; write meta.NAME"
    return f"there is no such field; there are {', '.join(FIELDS)} and meta.NAME"


def _no_operator(operator: str, allowed: tuple[str, ...], where: str) -> str:
    there = f"there are {', '.join(allowed)}"
    if not operator.startswith("$"):
        return f"is no operator; {there}"
    return f"there is no {operator} {where}; {there}"
