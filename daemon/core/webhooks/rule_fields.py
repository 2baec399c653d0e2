"""Fields that a routing rule can compare: the members of a payload's `data`, each with its kind. Pure.

A value has three forms: JSON (`"25.00"`), raw (2500 hundredths), and folded (reference texts in one case), which is the
compared form. Times are whole milliseconds, as in the JSON, so that evaluating a recorded decision again gives the same
result.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

from msgspec import Struct, field

from daemon.core.json_values import payer_of, timestamp
from daemon.core.limits import MILLISECOND_US
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.names import canonical_name, canonical_names, network_of
from daemon.core.payments.matching import compare_amounts
from daemon.core.payments.transaction_json import VERIFIED
from parsers import times
from parsers.money import EXPONENTS
from parsers.phone import read_phone

Value = str | int | bool | None
"""Raw or folded; None is unknown."""
ORDER_OPERATORS: Final = ("$gt", "$gte", "$lt", "$lte")
PART_OPERATORS: Final = ("$startsWith", "$endsWith", "$contains")
META: Final = "meta."
META_PATH_CHARACTERS_MAX: Final = 200
_AMOUNT: Final = re.compile(r"(-?)([0-9]{1,13})(?:\.([0-9]{1,2}))?", re.ASCII)
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_PHONE_START: Final = re.compile(r"\+[0-9]*", re.ASCII)
_DIGITS: Final = re.compile(r"\+?[0-9]*", re.ASCII)


class FieldKind(Struct, frozen=True):
    """How the values of a field are read and compared.

    Attributes:
        needs: The required form of a value, after "must be".
        raw: Converts a JSON value that is not null to a raw value; None if it is not of this kind.
        fold: Converts a raw value to the compared form.
        show: Converts a raw value to JSON.
        operators: The comparisons beyond `$eq $neq $in $nin $exist`.
        part: Converts JSON to the text for `$startsWith`, `$endsWith` and `$contains`; None if no value can contain it.
        part_needs: The required form of that text.
    """

    needs: str
    raw: Callable[[Any], Value]
    fold: Callable[[Any], Value] = lambda value: value
    show: Callable[[Any], Any] = lambda value: value
    operators: tuple[str, ...] = ()
    part: Callable[[Any, str], str | None] = lambda _value, _operator: None
    part_needs: str = "a string"


def _hundredths(value: Any) -> Value:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    match = _AMOUNT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    minor = int(match[2] + (match[3] or "").ljust(2, "0"))
    return -minor if match[1] else minor


def _show_hundredths(value: int) -> str:
    return f"{'-' if value < 0 else ''}{abs(value) // 100}.{abs(value) % 100:02d}"


def _whole(value: Any) -> Value:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(value: Any) -> Value:
    found = times.read_iso(value) if isinstance(value, str) else None
    return None if found is None else found // MILLISECOND_US * MILLISECOND_US


def _flag(value: Any) -> Value:
    # Also as text: on a command line every value is text.
    found = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
    return found if isinstance(found, bool) else None


def _text(value: Any) -> Value:
    return value if isinstance(value, str) else None


def _phone(value: Any) -> Value:
    return read_phone(value) if isinstance(value, str) else None


def _phone_part(value: Any, operator: str) -> str | None:
    pattern = _PHONE_START if operator == "$startsWith" else _DIGITS
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _free(value: Any) -> Value:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _words(words: tuple[str, ...], fold: Callable[[str], str | None] = str.upper) -> FieldKind:
    def raw(value: Any) -> Value:
        found = fold(value) if isinstance(value, str) else None
        return found if found in words else None

    return FieldKind(f"one of {', '.join(words)}", raw)


def _folded(fold: Callable[[str], str]) -> FieldKind:
    def part(value: Any, _operator: str) -> str | None:
        return fold(value) if isinstance(value, str) else None

    return FieldKind("a string", _text, fold=fold, operators=PART_OPERATORS, part=part)


MONEY: Final = FieldKind('an amount such as "50.00"', _hundredths, show=_show_hundredths, operators=ORDER_OPERATORS)
WHOLE: Final = FieldKind("a whole number", _whole, operators=ORDER_OPERATORS)
TIME: Final = FieldKind(
    "ISO 8601 with a zone, such as 2026-01-31T08:00:00Z", _time, show=timestamp, operators=ORDER_OPERATORS
)
FLAG: Final = FieldKind("true or false", _flag)
TEXT: Final = _folded(str)
"""Compared unchanged."""
ANY_CASE: Final = _folded(str.casefold)
"""Compared without regard to case: typed texts, and values that have one case only."""
PHONE: Final = FieldKind(
    "a phone number, local or E.164",
    _phone,
    operators=PART_OPERATORS,
    part=_phone_part,
    part_needs="a part of an E.164 number, such as +23324 for its start",
)
SOURCE: Final = _words(("receipt", "request"), str.lower)
FREE: Final = FieldKind(
    "a string, number or boolean",
    _free,
    operators=PART_OPERATORS,
    part=lambda value, _operator: value if isinstance(value, str) else None,
)
"""A member of `meta`: compared as text, so that 4 and "4" are the same."""


class PaymentFacts(Struct, frozen=True):
    """The facts of a verified payment, as in its payload."""

    transaction: Transaction
    payment: Payment
    method: PaymentMethod | None
    _known: dict[str, Value] = field(default_factory=dict)

    def value(self, name: str) -> Value:
        """Return the raw value of a field, cached because many rules use the same one."""
        if name not in self._known:
            if name in FIELDS:
                self._known[name] = FIELDS[name].get(self)
            else:
                steps = name.removeprefix(META).split(".")
                found = _walk(_meta(self.transaction.meta), steps)
                self._known[name] = None if found is None else _free(found)
        return self._known[name]


class RuleField(Struct, frozen=True):
    """A member of `data`: its kind, and the function that returns its raw value."""

    kind: FieldKind
    get: Callable[[PaymentFacts], Value]


def _in_hundredths(minor: int | None, currency: str) -> int | None:
    return None if minor is None else minor * 10 ** (2 - EXPONENTS[currency])


def _difference(of: PaymentFacts) -> tuple[Value, Value]:
    expected = of.transaction.expected_minor
    if expected is None:
        return None, None
    verdict = compare_amounts(of.payment.amount_minor, expected)
    minor = verdict.difference_minor or None
    return _in_hundredths(minor, of.payment.currency), verdict.difference_type.upper()


def _payer(of: PaymentFacts, name: str, member: str) -> Value:
    payer, source = payer_of(of.transaction, of.payment)
    found: Value = getattr(payer if name == "payer" else source, member)
    return found


def _milliseconds(at_us: int | None) -> int | None:
    return None if at_us is None else at_us // MILLISECOND_US * MILLISECOND_US


FIELDS: Final[Mapping[str, RuleField]] = {
    "transaction_id": RuleField(ANY_CASE, lambda of: of.transaction.id),
    "reference": RuleField(ANY_CASE, lambda of: of.transaction.reference),
    "svc_code": RuleField(ANY_CASE, lambda of: of.transaction.svc_code),
    "status": RuleField(_words(tuple(VERIFIED)), lambda of: of.transaction.status),
    "amount": RuleField(MONEY, lambda of: _in_hundredths(of.payment.amount_minor, of.payment.currency)),
    "currency": RuleField(ANY_CASE, lambda of: of.payment.currency),
    "expected_amount": RuleField(MONEY, lambda of: _in_hundredths(of.transaction.expected_minor, of.transaction.currency)),
    "actual_amount": RuleField(MONEY, lambda of: _in_hundredths(of.payment.amount_minor, of.payment.currency)),
    "difference": RuleField(MONEY, lambda of: _difference(of)[0]),
    "difference_type": RuleField(_words(("EXACT", "UNDERPAID", "OVERPAID")), lambda of: _difference(of)[1]),
    "client_reference": RuleField(TEXT, lambda of: of.transaction.client_reference),
    "payer.phone_number": RuleField(PHONE, lambda of: _payer(of, "payer", "phone_number")),
    "payer.name": RuleField(ANY_CASE, lambda of: _payer(of, "payer", "name")),
    "payer_source.phone_number": RuleField(SOURCE, lambda of: _payer(of, "payer_source", "phone_number")),
    "payer_source.name": RuleField(SOURCE, lambda of: _payer(of, "payer_source", "name")),
    "telco.provider": RuleField(_words(tuple(map(network_of, canonical_names())), str.lower), lambda of: network_of(of.payment.provider)),
    "telco.transaction_id": RuleField(ANY_CASE, lambda of: of.payment.telco_id_as_read),
    "telco.timestamp": RuleField(TIME, lambda of: _milliseconds(of.payment.telco_at)),
    "telco.reference_text": RuleField(ANY_CASE, lambda of: of.payment.reference_text),
    "payment_method.id": RuleField(ANY_CASE, lambda of: None if of.method is None else of.method.id),
    "payment_method.phone_number": RuleField(PHONE, lambda of: None if of.method is None else of.method.phone_number),
    "payment_method.account_name": RuleField(ANY_CASE, lambda of: None if of.method is None else of.method.account_name),
    "payment_method.provider": RuleField(_words(canonical_names(), canonical_name),
        lambda of: None if of.method is None else of.method.provider),
    "sim.device_id": RuleField(ANY_CASE, lambda of: of.payment.device_id),
    "sim.slot_index": RuleField(WHOLE, lambda of: of.payment.slot_index),
    "branch.id": RuleField(ANY_CASE, lambda of: of.payment.branch_id),
    "received_at": RuleField(TIME, lambda of: _milliseconds(of.payment.stored_at)),
    "completed_at": RuleField(TIME, lambda of: _milliseconds(of.transaction.completed_at)),
    "placed": RuleField(FLAG, lambda of: of.payment.placed),
    "late": RuleField(FLAG, lambda of: of.transaction.late),
    "matched_by": RuleField(_words(("code", "telco_id", "reconcile", "review", "none"), str.lower), lambda of: of.transaction.matched_by),
}  # fmt: skip
"""The members of `data` of `transaction.forwarded`; every `meta.NAME` is a field too."""


def kind_of(name: str) -> FieldKind | None:
    """Return the kind of a field; None if there is no such field."""
    if name in FIELDS:
        return FIELDS[name].kind
    if name.startswith(META) and len(name) <= META_PATH_CHARACTERS_MAX:
        return FREE if all(name.split(".")) else None
    return None


class RuleValues(Protocol):
    """The values that rules are evaluated against."""

    def value(self, name: str) -> Value:
        """Return the raw value of a known field; None if the payment has no value."""


class ShownFacts:
    """The facts in a JSON object: a sample, or the record of a decision. Names are dotted or nested."""

    def __init__(self, shown: Mapping[str, Any]) -> None:
        self._shown = shown

    def value(self, name: str) -> Value:
        """Return the raw value of a field; None if it is missing or of another kind."""
        kind = kind_of(name)
        found = self._shown.get(name)
        if found is None:
            found = _walk(self._shown, name.split("."))
        return None if kind is None or found is None else kind.raw(found)


def show(name: str, value: Value) -> Any:
    """Return the JSON of a field's raw value."""
    kind = kind_of(name)
    return None if value is None or kind is None else kind.show(value)


@lru_cache(maxsize=16)
def _meta(text: str) -> Any:
    return json.loads(text, parse_float=str)


def _walk(here: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(here, Mapping):
            return None
        here = here.get(step)
    return here
