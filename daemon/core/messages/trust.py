"""Trust in a message: its sender, its SMSC, and doubts about its ID and its times. Pure.

The rules are checked before a payment row is made. They return reasons, not booleans, so that the operator sees which one
failed. A forged sender name passes the check of the sender; the doubts find other mistakes that a forgery makes.
"""

import functools
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Final

from daemon.core.limits import DAY_US, MINUTE_US
from daemon.core.messages.balance_chain import ChainEntry, Standing, id_number
from parsers.reading import time_in_id
from parsers.times import to_us

HISTORY_US: Final = 10 * MINUTE_US
"""A message older than its line by more than this is history."""
REFERENCE_CHARACTERS_MAX: Final = 160
"""People type about 55 characters at most, narrations of banks are longer."""
VARYING_DIGITS: Final = 2
"""The SMSCs of one network are numbered side by side: 1,691 genuine messages came through two that differ in the last
digit."""
PROVED_MESSAGES: Final = 5
PROVED_DAYS: Final = 2
PROVED_PART: Final = 5
"""An SMSC becomes home after proofs have confirmed so many of its messages on so many days, a fifth of the line's."""

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
FEE_PARTS_MIN: Final = 10
"""A fee is at most this part of the amount. All 68 receipts of the corpus that name one name 0, and the dearest fee of the
messages about money sent is a tenth (GHS 0.50 of 5.00)."""
ID_SEEN_MIN: Final = 3
ID_SEEN_MAX: Final = 9
"""The ID clock needs at least a few messages, and the nearest in time are enough."""


def untrusted_reasons(
    sender: str | None, network: str | None, network_senders: Collection[str], *, is_alphanumeric: bool
) -> list[str]:
    """Return why a message cannot be trusted for its sender, empty if it can.

    The comparison is exact to the byte: `Mobile-Money`, `MobiIeMoney` and a phone number are not `MobileMoney`.

    Args:
        sender: The decoded originating address, None if the PDU could not be read.
        network: The network of the receiving SIM, None if its IMSI is of no known network.
        network_senders: The sender names of this network's payment messages.
        is_alphanumeric: Its type of number is alphanumeric (3GPP TS 23.040 clause 9.1.2.5).
    """
    found = []
    if network is None:
        found.append("sim_network_unknown")
    if not is_alphanumeric:
        found.append("sender_is_a_number")
    elif sender not in network_senders:
        found.append("sender_not_of_network")
    return found


class SmscSource(StrEnum):
    """The reason why an SMSC is home."""

    SIM = "sim"
    """The SIM itself names it (`AT+CSCA?`)."""
    TEST_PAYMENT = "test_payment"
    """It brought the owner's test payment."""
    APPROVED = "approved"
    """An operator approved a message through it."""
    PROVED = "proved"
    """What the wallet showed confirmed several of its messages."""
    NOTICED = "noticed"
    """It is foreign, and a notice has been given about it."""


def is_home(smsc: str | None, homes: Collection[str]) -> bool:
    """Return whether an SMSC is home, or differs from a home one in the last two digits only."""
    number = _digits(smsc)
    if number is None:
        return False
    return any(
        number == home or (len(number) == len(home) and _stem(number) == _stem(home))
        for home in map(_digits, homes)
        if home is not None
    )


@functools.lru_cache(maxsize=256)
def _digits(smsc: str | None) -> str | None:
    digits = "".join(c for c in smsc or "" if c.isdigit())
    return digits if len(digits) > VARYING_DIGITS else None


def _stem(number: str) -> str:
    return number[:-VARYING_DIGITS]


def is_history(sent_at: int | None, line_created_at: int) -> bool:
    """Return whether a message is older than its line by more than 10 minutes."""
    return sent_at is not None and sent_at < line_created_at - HISTORY_US


class Doubt(StrEnum):
    """A reason not to trust a message."""

    ID_TOO_LOW = "id_too_low"
    ID_TOO_HIGH = "id_too_high"
    ID_OF_ANOTHER_TIME = "id_of_another_time"
    PRINTED_TIME = "printed_time"
    REFERENCE_TOO_LONG = "reference_too_long"
    FEE_TOO_HIGH = "fee_too_high"
    NO_BALANCE = "no_balance"
    IMPOSSIBLE_BALANCE = "impossible_balance"
    REVERSAL_WITHOUT_BALANCE = "reversal_without_balance"


def doubts_about(
    chain: Sequence[ChainEntry],
    *,
    provider: str,
    telco_id: str | None,
    sent_at: int | None,
    printed_at: int | None,
    texts: Iterable[str | None],
) -> list[Doubt]:
    """Return all doubts about a message from the network's own sender.

    Args:
        chain: The messages of its line: their IDs are the clock.
        provider: Canonical name (`momo_mtn`).
        telco_id: The transaction ID; None when the message has none.
        sent_at: SMSC time, microseconds; None when unknown.
        printed_at: The time that the text prints, microseconds; None when it prints none.
        texts: The reference that the payer typed, and the payer's name as printed.
    """
    found = (
        id_doubt(provider, telco_id, sent_at, chain),
        printed_time_doubt(printed_at, sent_at),
        *(text_doubt(text) for text in texts),
    )
    return list(dict.fromkeys(doubt for doubt in found if doubt is not None))


def text_doubt(text: str | None) -> Doubt | None:
    """Doubt a free field that is longer than people and banks write. The parser refuses one that could move money."""
    long = text is not None and len(text.strip()) > REFERENCE_CHARACTERS_MAX
    return Doubt.REFERENCE_TOO_LONG if long else None


def fee_doubt(amount_minor: int, fee_minor: int) -> Doubt | None:
    """Doubt a message with a large fee: who chooses the fee chooses how the balance moves."""
    return Doubt.FEE_TOO_HIGH if fee_minor * FEE_PARTS_MIN > amount_minor else None


def printed_time_doubt(printed_at: int | None, sent_at: int | None) -> Doubt | None:
    """Doubt a message if its printed time is not the time at which it was sent."""
    if printed_at is None or sent_at is None:
        return None
    return Doubt.PRINTED_TIME if abs(printed_at - sent_at) > PRINTED_APART_US_MAX else None


def id_doubt(provider: str, telco_id: str | None, sent_at: int | None, chain: Sequence[ChainEntry]) -> Doubt | None:
    """Doubt an ID that is far too low or too high for its date, or that contains another date.

    Networks number all transactions of a country in one sequence, so the IDs that a line has seen are a clock. The nearest
    in time vote, because one of them may be forged. Fewer than three are no clock.
    """
    if telco_id is None or sent_at is None:
        return None
    minute = time_in_id(telco_id)
    if minute is not None:
        inside = to_us(minute)
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


def _vote(number: int, sent_at: int, seen: ChainEntry, per_day: int) -> Doubt | None:
    """Compare with one other message: IDs never fall, and do not rise faster than the limit."""
    other = id_number(seen.telco_id)
    if other is None:
        return None
    moved = ID_SPEED_FACTOR_MAX * per_day * (sent_at - seen.at) // DAY_US
    slack = ID_SLACK_DAYS * per_day
    if number < other + min(moved, 0) - slack:
        return Doubt.ID_TOO_LOW
    return Doubt.ID_TOO_HIGH if number > other + max(moved, 0) + slack else None
