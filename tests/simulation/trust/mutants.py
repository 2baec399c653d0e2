"""Momo with one trust rule dropped, and the games or tests that must notice it.

A mutant is a patch of functions or constants of the product. `patches` name them as `module:attribute` or
`module:Class.attribute`; the value is the replacement.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.core.messages import balance
from daemon.core.messages.balance_chain import ChainEntry, Standing, Why
from daemon.core.messages.foreign_path import PathSearch
from tests.simulation.trust.game import Setting
from tests.simulation.trust.traffic import Size

WEEK: Final = Size(days=7)
RULES_TESTS: Final = "tests/core/messages/test_balance.py"
PARTS_TESTS: Final = "tests/flows/messages/test_rival_parts.py"
ATTACKS: Final = "tests/flows/messages/test_balance.py"
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Mutant:
    """One dropped rule.

    Attributes:
        rule: Its number in the design of the trust rules, section 3.
        name: A short description of the mutant.
        patches: `module:attribute` -> its replacement.
        games: Games without violations; with the mutant, some of them must violate a demand.
        tests: Or some test of this file must fail; for a rule that a game of a few weeks does not show.
    """

    rule: int
    name: str
    patches: dict[str, Any] = field(default_factory=dict)
    games: tuple[Setting, ...] = ()
    tests: str = ""


@contextmanager
def patched(mutant: Mutant) -> Iterator[None]:
    """Drop the rule while the block runs. The game must run in this process."""
    undo = []
    try:
        for target, value in mutant.patches.items():
            module_name, _, path = target.partition(":")
            *owners, attribute = path.split(".")
            owner: Any = importlib.import_module(module_name)
            for name in owners:
                owner = getattr(owner, name)
            undo.append((owner, attribute, vars(owner).get(attribute, _MISSING)))
            setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, before in reversed(undo):
            if before is _MISSING:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, before)


def weeks(level: int, *, first: int = 1, count: int = 4) -> tuple[Setting, ...]:
    """Return some weeks of a level."""
    return tuple(Setting(seed, level, WEEK) for seed in range(first, first + count))


def _always(*_: Any, **__: Any) -> bool:
    return True


def _never(*_: Any) -> bool:
    return False


def _any_centre_stays_in(new: ChainEntry) -> Why | None:
    return Why.NO_BALANCE if new.after is None or not new.effects else None


def _any_path(search: PathSearch, left: int) -> tuple[ChainEntry, ...] | None:
    search._walk(left, ())
    return search._found[0][0] if search._found else None


def _approve_alone(line: balance.LineMessages, key: str) -> bool:
    line._put(line[key], standing=Standing.ACCEPTED, why=Why.PERSON, row=None)
    return True


def _reject_alone(line: balance.LineMessages, key: str) -> None:
    line._refute(line[key], Why.PERSON)


_JUDGE, _PARTS, _LINE = (
    "daemon.steps.judge",
    "daemon.steps.store_parts",
    "daemon.core.messages.balance",
)
_SETTLE = "daemon.flows.messages.settle_lines"

MUTANTS: Final = (
    Mutant(1, "parts of foreign and home centres join", {f"{_PARTS}:is_home": _always, f"{_PARTS}:_homes": lambda _: ("+233240000099", "+447700900123", "+447000000001")}, tests=PARTS_TESTS),
    Mutant(1, "an assembly with rivals counts at once", {f"{_PARTS}:_counts_at_once": _always}, tests=PARTS_TESTS),
    Mutant(2, "every centre is home", {f"{_JUDGE}:is_home": _always}, weeks(1)),
    Mutant(2, "only the very numbers are home", {"daemon.core.messages.trust:_stem": lambda number: number}, weeks(1)),
    Mutant(2, "three receipts make a centre home", {f"{_SETTLE}:LEARN_RECEIPTS": 3, f"{_SETTLE}:LEARN_DAYS": 1}, tests=ATTACKS),
    Mutant(3, "a foreign message continues the chain", {f"{_LINE}:_stays_out": _any_centre_stays_in}, weeks(1)),
    Mutant(3, "a doubted message continues the chain", {f"{_LINE}:ROUTE_DOUBTS": frozenset()}, tests=RULES_TESTS),
    Mutant(4, "a break pays without a limit", {f"{_JUDGE}:_limit": lambda *_: 10**12}, weeks(3)),
    Mutant(4, "no row is refuted", {f"{_LINE}:LineMessages.is_passed": _never}, tests=RULES_TESTS),
    Mutant(4, "three messages confirm a row", {f"{_LINE}:CONFIRMING_RECEIPTS": 0}, weeks(3)),
    Mutant(5, "a foreign receipt is released without waiting 90 minutes", {f"{_LINE}:BETWEEN_US": 0}, weeks(2, first=8)),
    Mutant(5, "a foreign receipt is released by one of several ways", {f"{_LINE}:PathSearch.only_path": _any_path}, tests=RULES_TESTS),
    Mutant(5, "a made-up debit releases a receipt", {f"{_LINE}:all": _always}, tests=RULES_TESTS),
    Mutant(6, "an approval judges only its own message", {f"{_LINE}:LineMessages.approve": _approve_alone}, tests=ATTACKS),
    Mutant(6, "a rejection judges only its own message", {f"{_LINE}:LineMessages.reject": _reject_alone}, tests=ATTACKS),
)  # fmt: skip
