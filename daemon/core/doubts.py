"""What speaks against one message of the right sender: its route, its ID, its time, and the text that the payer typed.

`daemon.core.trust` asks whether the sender is the network's own; an exact forgery of the sender's name passes that. These
questions are about what such a forgery gets wrong. Each answers with a reason or with nothing; `counting` says which of
the reasons hold a message.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.balance import Ruling
from daemon.core.balance_line import Entry, Standing, Why, id_number
from daemon.core.limits import DAY_US, MINUTE_US
from parsers.when import read_iso

REFERENCE_CHARACTERS_MAX: Final = 60
"""The longest typed text in real receipts has about 55; phones and networks cut it there."""
PRINTED_APART_US_MAX: Final = 2 * MINUTE_US
"""Of 1,691 genuine messages the printed time and the SMSC's differed by 58 s at most."""
ID_MINUTE_US: Final = MINUTE_US
"""An ID with a time in it has no seconds."""
IDS_PER_DAY: Final = {"momo_mtn": 67_000_000, "momo_telecel": 10_000_000}
"""How fast the networks count, measured in 2026."""
ID_HASTE_MAX: Final = 3
"""So many times that speed is still believed."""
ID_SLACK_DAYS: Final = 3
"""So many days' worth of IDs may be wrong: it is the far ones that are looked for."""
ID_SEEN_MIN: Final = 3
ID_SEEN_MAX: Final = 9
"""The clock needs a few messages to be one, and the nearest in time are enough."""

_DATED_ID: Final = re.compile(
    r"[A-Z]{2}(\d\d)(\d\d)(\d\d)\.(\d\d)(\d\d)\.[A-Z]\d{4,6}", re.ASCII | re.IGNORECASE
)
_RECEIPT_WORDS: Final = re.compile(
    r"transaction\s+(?:id\b|fee\b)|payment\s+(?:received|made)\b|you\s+have\s+received\b"
    r"|\b(?:current|available|new|cash)\s+balance\b|\bbalance\s{0,9}(?::|is\b)|\bconfirmed\s{0,9}\.",
    re.ASCII | re.IGNORECASE,
)


class Doubt(StrEnum):
    """A reason not to take a message at its word."""

    SMSC_NEW = "smsc_new"
    ID_TOO_LOW = "id_too_low"
    ID_TOO_HIGH = "id_too_high"
    ID_OF_ANOTHER_TIME = "id_of_another_time"
    PRINTED_TIME = "printed_time"
    REFERENCE_TOO_LONG = "reference_too_long"
    REFERENCE_LIKE_A_RECEIPT = "reference_like_a_receipt"


OF_THE_ROUTE: Final = frozenset(
    {
        Doubt.SMSC_NEW,
        Doubt.ID_TOO_LOW,
        Doubt.ID_TOO_HIGH,
        Doubt.ID_OF_ANOTHER_TIME,
        Doubt.PRINTED_TIME,
    }
)
"""Doubts whether the network sent it at all, as against what the payer typed: an entry of the balance chain is
`doubted` for these alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the doubts are about.

    Attributes:
        provider: Canonical name (`momo_mtn`).
        telco_id: The transaction ID; None when the message has none.
        sent_at: SMSC time, microseconds; None when unknown.
        printed_at: The time that the text prints, microseconds; None when it prints none.
        reference: What the payer typed.
        payer_name: As printed.
        smsc: The service centre that sent the message on; None when the PDU names none.
        smscs_known: Those that the SIM is known to get genuine messages from.
    """

    provider: str
    telco_id: str | None
    sent_at: int | None
    printed_at: int | None
    reference: str | None
    payer_name: str | None
    smsc: str | None
    smscs_known: Collection[str]


def doubts_about(facts: Facts, chain: Sequence[Entry]) -> list[Doubt]:
    """Return everything that speaks against a message whose sender is the network's own.

    Args:
        facts: The message.
        chain: The messages of its line, as for `daemon.core.balance.judge`: their IDs are the clock.
    """
    found = (
        smsc_doubt(facts.smsc, facts.smscs_known),
        id_doubt(facts.provider, facts.telco_id, facts.sent_at, chain),
        printed_time_doubt(facts.printed_at, facts.sent_at),
        *(text_doubt(text) for text in (facts.reference, facts.payer_name)),
    )
    return list(dict.fromkeys(doubt for doubt in found if doubt is not None))


def counting(doubts: Iterable[Doubt], ruling: Ruling | None = None) -> list[Doubt]:
    """Return the doubts that hold a message, empty when it may pay.

    A new SMSC counts only together with another doubt (decisions.md section 4, rule 6). The broken balance is one; the
    ruling knows of the SMSC already, so it is given only to say both to a person.
    """
    found = list(dict.fromkeys(doubts))
    alone = found == [Doubt.SMSC_NEW] and (ruling is None or not ruling.holds)
    return [] if alone else found


def of_the_route(doubts: Iterable[Doubt]) -> bool:
    """Say whether the message's entry in the balance chain is `doubted`."""
    return not OF_THE_ROUTE.isdisjoint(doubts)


def smsc_doubt(smsc: str | None, known: Collection[str]) -> Doubt | None:
    """Doubt a service centre that the SIM never got a genuine message from; nothing is new while none is known."""
    return Doubt.SMSC_NEW if known and smsc not in known else None


def teaches_smsc(ruling: Ruling, doubts: Collection[Doubt]) -> bool:
    """Say whether a message proves that its SMSC is the network's: a receipt that fits, or the first of its line."""
    fits = ruling.entry.standing is Standing.ACCEPTED and ruling.why in {Why.JOINS, Why.FIRST}
    return ruling.entry.pays and fits and not counting(doubts)


def text_doubt(text: str | None) -> Doubt | None:
    """Doubt a free field that is longer than anybody types, or that speaks as a receipt does."""
    if text is None:
        return None
    if _RECEIPT_WORDS.search(text):
        return Doubt.REFERENCE_LIKE_A_RECEIPT
    return Doubt.REFERENCE_TOO_LONG if len(text.strip()) > REFERENCE_CHARACTERS_MAX else None


def printed_time_doubt(printed_at: int | None, sent_at: int | None) -> Doubt | None:
    """Doubt a message whose printed time is not the one at which it was sent."""
    if printed_at is None or sent_at is None:
        return None
    return Doubt.PRINTED_TIME if abs(printed_at - sent_at) > PRINTED_APART_US_MAX else None


def id_doubt(
    provider: str, telco_id: str | None, sent_at: int | None, chain: Sequence[Entry]
) -> Doubt | None:
    """Doubt an ID that is far too low or too high for its date, or that holds another date.

    Networks number all transactions of a country in one row, so the IDs that a line has seen are a clock. The nearest in
    time vote, because one of them may be forged; fewer than three are no clock.
    """
    if telco_id is None or sent_at is None:
        return None
    inside = _time_inside(telco_id)
    if inside is not None:
        # The ID names the minute in which the transaction began.
        apart = max(inside - sent_at, sent_at - inside - ID_MINUTE_US)
        return Doubt.ID_OF_ANOTHER_TIME if apart > PRINTED_APART_US_MAX else None
    number, per_day = id_number(telco_id), IDS_PER_DAY.get(provider)
    if number is None or per_day is None:
        return None
    seen = [entry for entry in chain if entry.standing is Standing.ACCEPTED and entry.telco_id]
    votes = [
        _vote(number, sent_at, entry, per_day)
        for entry in sorted(seen, key=lambda entry: abs(entry.at - sent_at))[:ID_SEEN_MAX]
    ]
    if len(votes) < ID_SEEN_MIN:
        return None
    for doubt in (Doubt.ID_TOO_LOW, Doubt.ID_TOO_HIGH):
        if 2 * votes.count(doubt) > len(votes):
            return doubt
    return None


def _vote(number: int, sent_at: int, seen: Entry, per_day: int) -> Doubt | None:
    """Compare with one earlier or later message: IDs never go back, and rise no faster than believed."""
    other = id_number(seen.telco_id)
    if other is None:
        return None
    moved = ID_HASTE_MAX * per_day * (sent_at - seen.at) // DAY_US
    slack = ID_SLACK_DAYS * per_day
    if number < other + min(moved, 0) - slack:
        return Doubt.ID_TOO_LOW
    return Doubt.ID_TOO_HIGH if number > other + max(moved, 0) + slack else None


def _time_inside(telco_id: str) -> int | None:
    """Return the time in an ID of the form `PPyymmdd.HHMM.Lnnnnn`, microseconds; Ghana's clock is UTC."""
    match = _DATED_ID.fullmatch(telco_id.strip())
    if match is None:
        return None
    year, month, day, hour, minute = match.groups()
    return read_iso(f"20{year}-{month}-{day}T{hour}:{minute}:00Z")


class Twin(StrEnum):
    """What a second message with a known transaction ID is."""

    DUPLICATE = "duplicate"
    """The same again: some networks tell everything twice."""
    CONFLICT = "conflict"
    """Another claim about one transaction: review `id_conflict`."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a message says about a transaction.

    Attributes:
        pays: It says that money came in.
        amount_minor: How much was moved; None where it does not say.
        currency: ISO 4217 code.
        line: The merchant number it came to.
    """

    pays: bool
    amount_minor: int | None
    currency: str | None
    line: str | None


def twin(first: Claim, second: Claim) -> Twin:
    """Say what the second of two trusted messages with one ID is (decisions.md section 1, payment).

    One that pays nothing conflicts with nothing: a purchase of airtime and the airtime's arrival share their ID.
    """
    same = first == second
    return Twin.DUPLICATE if same or not second.pays else Twin.CONFLICT
