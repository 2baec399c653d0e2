"""Momo with one trust rule dropped, and the games or tests that must notice it.

A mutant is a patch of functions or constants of the product. `patches` name them as `module:attribute` or
`module:Class.attribute`; the value is the replacement.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from daemon.core.messages.line_trust import LineState
from tests.simulation.trust.game import Setting
from tests.simulation.trust.traffic import Size

WEEK: Final = Size(days=7)
RULES_TESTS: Final = "tests/core/messages/test_line_trust.py"
PARTS_TESTS: Final = "tests/flows/messages/test_rival_parts.py"
ATTACKS: Final = "tests/flows/messages/test_balance.py"
PROOF_TESTS: Final = "tests/flows/lines/test_wallet.py"
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Mutant:
    """One dropped rule.

    Attributes:
        rule: Its number in docs/contributing/trust.md.
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


def _taken_over_firmly(state: LineState, now: int, *, proved: bool) -> LineState:
    return replace(state, provisional=None, since=now, joined=0, base=state.position + 1)


def _nothing(*_: Any, **__: Any) -> None:
    return None


_JUDGE, _PARTS, _LINE = ("daemon.steps.judge", "daemon.steps.store_parts", "daemon.core.messages.line_trust")
_FOREIGN_HOMES = ("+233240000099", "+447700900123", "+447000000001")

MUTANTS: Final = (
    Mutant(1, "every centre is home", {f"{_JUDGE}:is_home": _always}, weeks(1)),
    Mutant(1, "only the very numbers are home", {"daemon.core.messages.trust:_stem": lambda number: number}, weeks(1)),
    Mutant(1, "a doubted message moves the balance", {f"{_JUDGE}:doubts_about": lambda *_, **__: []}, tests=ATTACKS),
    Mutant(2, "an emptied wallet and a first message are firm", {f"{_LINE}:_provisional_after": _nothing}, tests=RULES_TESTS),
    Mutant(2, "a large fee is no doubt", {f"{_JUDGE}:fee_doubt": _nothing}, tests="tests/flows/messages/test_made_up_fees.py"),
    Mutant(3, "a break pays without a limit", {f"{_LINE}:has_room": _always}, weeks(3), tests=ATTACKS),
    Mutant(3, "nothing is a flood", {f"{_LINE}:is_flood": _never}, tests=ATTACKS),
    Mutant(3, "contradicted money is no strike", {f"{_JUDGE}:Line.strike": _nothing}, tests=PROOF_TESTS),
    Mutant(4, "a proof refutes what lies before an unexplained change", {f"{_LINE}:is_contradicted": _always}, tests=PROOF_TESTS),
    Mutant(4, "an emptied wallet proves a receipt", {"daemon.steps.prove:SWEPT_MINOR": -1}, tests=PROOF_TESTS),
    Mutant(4, "one message makes a centre home", {"daemon.steps.prove:PROVED_MESSAGES": 1, "daemon.steps.prove:PROVED_DAYS": 1}, tests=PROOF_TESTS),
    Mutant(5, "three messages win at once", {f"{_LINE}:WINNING_RECEIPTS": 0}, tests=RULES_TESTS),
    Mutant(5, "what wins by silence is firm", {f"{_LINE}:taken_over": _taken_over_firmly}, tests=ATTACKS),
    Mutant(6, "parts of foreign and home centres join", {f"{_PARTS}:is_home": _always, f"{_PARTS}:_homes": lambda _: _FOREIGN_HOMES}, tests=PARTS_TESTS),
    Mutant(6, "an assembly with rivals counts at once", {f"{_PARTS}:_counts_at_once": _always}, tests=PARTS_TESTS),
    Mutant(6, "a part that comes too late asks nobody", {f"{_PARTS}:_beside_whole": lambda *_: []}, tests=PARTS_TESTS),
    Mutant(7, "a rejected message is not judged again", {"daemon.steps.take_back:_judge_again": _nothing}, tests="tests/flows/payments/test_take_back.py"),
    Mutant(7, "an approval taken back is told to nobody", {"daemon.store.webhooks.outbox:Outbox.take_back": _nothing}, tests="tests/flows/payments/test_take_back.py"),
    Mutant(8, "imported money is reconciled by a key", {"daemon.flows.payments.reconcile:is_unconfirmed_history": _never}, tests="tests/flows/payments/test_reconcile.py"),
    Mutant(8, "a pesewa with a code makes an order partial", {"daemon.core.payments.matching:is_too_small": _never}, tests="tests/flows/payments/test_suggestions.py"),
    Mutant(1, "a name beside the network's own is the network's", {"daemon.core.messages.trust:untrusted_reasons": lambda *_, **__: []}, tests="tests/flows/messages/test_untrusted_sender.py"),
    Mutant(2, "what a payer types is a gap", {"daemon.steps.process_message:choose_reading": lambda _, __, read_as: read_as}, (Setting(1, 0, WEEK),), tests=ATTACKS),
)  # fmt: skip
