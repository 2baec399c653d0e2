"""Trust in a message: rules 1 to 4 of decisions.md section 4, and doubts about its route, ID, time and typed text. Pure.

The rules are checked before a payment row is made. They return reasons, not booleans, so that the operator sees which one
failed. A forged sender name passes rule 1; the doubts find other mistakes that a forgery makes. `holding_doubts` selects
the doubts that hold a message.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.limits import DAY_US, HISTORY_US, MINUTE_US
from daemon.core.messages.balance import Ruling
from daemon.core.messages.balance_chain import Entry, Standing, Why, id_number
from parsers.times import read_iso

REFERENCE_CHARACTERS_MAX: Final = 60
"""The longest typed text in real receipts has about 55 characters; phones and networks cut it there."""
PRINTED_APART_US_MAX: Final = 2 * MINUTE_US
"""In 1,691 genuine messages the printed time and the SMSC time differed by 58 s at most."""
ID_MINUTE_US: Final = MINUTE_US
"""A time in an ID has no seconds."""
IDS_PER_DAY: Final = {"momo_mtn": 67_000_000, "momo_telecel": 10_000_000}
"""IDs per day of each network, measured in 2026."""
ID_SPEED_FACTOR_MAX: Final = 3
"""IDs may rise up to this many times faster."""
ID_SLACK_DAYS: Final = 3
"""Tolerance in days' worth of IDs: the check looks for IDs that are far off."""
ID_SEEN_MIN: Final = 3
ID_SEEN_MAX: Final = 9
"""The ID clock needs at least a few messages, and the nearest in time are enough."""
_DATED_ID: Final = re.compile(
    r"[A-Z]{2}(\d\d)(\d\d)(\d\d)\.(\d\d)(\d\d)\.[A-Z]\d{4,6}", re.ASCII | re.IGNORECASE
)
_RECEIPT_WORDS: Final = re.compile(
    r"transaction\s+(?:id\b|fee\b)|payment\s+(?:received|made)\b|you\s+have\s+received\b"
    r"|\b(?:current|available|new|cash)\s+balance\b|\bbalance\s{0,9}(?::|is\b)|\bconfirmed\s{0,9}\.",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SenderEvidence:
    """Facts about one message.

    Attributes:
        sender: The decoded originating address, None if the PDU could not be read.
        sender_is_alphanumeric: Its type of number is alphanumeric (3GPP TS 23.040 clause 9.1.2.5).
        network: The network of the receiving SIM, None if its IMSI is of no known network.
        network_senders: The sender names of this network's payment messages.
    """

    sender: str | None
    sender_is_alphanumeric: bool
    network: str | None
    network_senders: Collection[str]


def untrusted_reasons(evidence: SenderEvidence) -> list[str]:
    """Return why the message cannot be trusted, empty if it can (rule 1).

    The comparison is exact to the byte: `Mobile-Money`, `MobiIeMoney` and a phone number are not `MobileMoney`.
    """
    found = []
    if evidence.network is None:
        found.append("sim_network_unknown")
    if not evidence.sender_is_alphanumeric:
        found.append("sender_is_a_number")
    elif evidence.sender not in evidence.network_senders:
        found.append("sender_not_of_network")
    return found


def is_history(sent_at: int | None, line_created_at: int) -> bool:
    """Return whether a message is older than its line by more than 10 minutes (rule 4)."""
    return sent_at is not None and sent_at < line_created_at - HISTORY_US


class IdReuse(StrEnum):
    """The classes of a second message with a known transaction ID."""

    DUPLICATE = "duplicate"
    """The same again: some networks send every message twice."""
    CONFLICT = "conflict"
    """Another claim about the same transaction: review `id_conflict`."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A message's claim about a transaction.

    Attributes:
        pays: It says that money came in.
        amount_minor: The amount moved; None if the message does not name it.
        currency: ISO 4217 code.
        line: The merchant number it came to.
    """

    pays: bool
    amount_minor: int | None
    currency: str | None
    line: str | None


def classify_id_reuse(first: Claim, second: Claim) -> IdReuse:
    """Classify the second of two trusted messages with one ID (decisions.md section 1, payment).

    A message that pays nothing never conflicts: a purchase of airtime and the arrival of the airtime share their ID.
    """
    same = first == second
    return IdReuse.DUPLICATE if same or not second.pays else IdReuse.CONFLICT


class Doubt(StrEnum):
    """A reason not to trust a message."""

    SMSC_NEW = "smsc_new"
    ID_TOO_LOW = "id_too_low"
    ID_TOO_HIGH = "id_too_high"
    ID_OF_ANOTHER_TIME = "id_of_another_time"
    PRINTED_TIME = "printed_time"
    REFERENCE_TOO_LONG = "reference_too_long"
    REFERENCE_LIKE_A_RECEIPT = "reference_like_a_receipt"


ROUTE_DOUBTS: Final = frozenset(
    {
        Doubt.SMSC_NEW,
        Doubt.ID_TOO_LOW,
        Doubt.ID_TOO_HIGH,
        Doubt.ID_OF_ANOTHER_TIME,
        Doubt.PRINTED_TIME,
    }
)


"""Doubts about the route: whether the network sent the message at all. Doubts about the typed text are not among them.
Only these make an entry of the balance chain `doubted`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that the doubts are judged by.

    Attributes:
        provider: Canonical name (`momo_mtn`).
        telco_id: The transaction ID; None when the message has none.
        sent_at: SMSC time, microseconds; None when unknown.
        printed_at: The time that the text prints, microseconds; None when it prints none.
        reference: The reference that the payer typed.
        payer_name: As printed.
        smsc: The service centre that forwarded the message; None when the PDU names none.
        smscs_known: The service centres that sent the SIM genuine messages before.
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
    """Return all doubts about a message from the network's own sender.

    Args:
        facts: The message.
        chain: The messages of its line, as for `daemon.core.messages.balance.judge`: their IDs are the clock.
    """
    found = (
        smsc_doubt(facts.smsc, facts.smscs_known),
        id_doubt(facts.provider, facts.telco_id, facts.sent_at, chain),
        printed_time_doubt(facts.printed_at, facts.sent_at),
        *(text_doubt(text) for text in (facts.reference, facts.payer_name)),
    )
    return list(dict.fromkeys(doubt for doubt in found if doubt is not None))


def holding_doubts(doubts: Iterable[Doubt], ruling: Ruling | None = None) -> list[Doubt]:
    """Return the doubts that hold a message; empty when it may pay.

    A new SMSC counts only together with another doubt (decisions.md section 4, rule 6). A broken balance is such a doubt.
    The ruling already includes the SMSC, so it is given only to show the operator both.
    """
    found = list(dict.fromkeys(doubts))
    alone = found == [Doubt.SMSC_NEW] and (ruling is None or not ruling.holds)
    return [] if alone else found


def concerns_route(doubts: Iterable[Doubt]) -> bool:
    """Return whether the message's entry in the balance chain is `doubted`."""
    return not ROUTE_DOUBTS.isdisjoint(doubts)


def smsc_doubt(smsc: str | None, known: Collection[str]) -> Doubt | None:
    """Doubt a service centre that never sent the SIM a genuine message. While none is known, none is new."""
    return Doubt.SMSC_NEW if known and smsc not in known else None


def proves_smsc(ruling: Ruling, doubts: Collection[Doubt]) -> bool:
    """Return whether a message proves that its SMSC is the network's: a receipt that fits, or the first of its line."""
    fits = ruling.entry.standing is Standing.ACCEPTED and ruling.why in {Why.JOINS, Why.FIRST}
    return ruling.entry.pays and fits and not holding_doubts(doubts)


def text_doubt(text: str | None) -> Doubt | None:
    """Doubt a free field that is longer than people type, or worded like a receipt."""
    if text is None:
        return None
    if _RECEIPT_WORDS.search(text):
        return Doubt.REFERENCE_LIKE_A_RECEIPT
    return Doubt.REFERENCE_TOO_LONG if len(text.strip()) > REFERENCE_CHARACTERS_MAX else None


def printed_time_doubt(printed_at: int | None, sent_at: int | None) -> Doubt | None:
    """Doubt a message if its printed time is not the time at which it was sent."""
    if printed_at is None or sent_at is None:
        return None
    return Doubt.PRINTED_TIME if abs(printed_at - sent_at) > PRINTED_APART_US_MAX else None


def id_doubt(
    provider: str, telco_id: str | None, sent_at: int | None, chain: Sequence[Entry]
) -> Doubt | None:
    """Doubt an ID that is far too low or too high for its date, or that contains another date.

    Networks number all transactions of a country in one sequence, so the IDs that a line has seen are a clock. The nearest
    in time vote, because one of them may be forged. Fewer than three are no clock.
    """
    if telco_id is None or sent_at is None:
        return None
    inside = _time_inside(telco_id)
    if inside is not None:
        # The ID contains the minute in which the transaction began.
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
    """Compare with one other message: IDs never fall, and do not rise faster than the limit."""
    other = id_number(seen.telco_id)
    if other is None:
        return None
    moved = ID_SPEED_FACTOR_MAX * per_day * (sent_at - seen.at) // DAY_US
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
