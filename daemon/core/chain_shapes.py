"""How a message stands among those of its line, as a person is shown it: the balances before it and behind it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.balance_line import Entry, Why, in_order
from daemon.core.shapes import Json, amount_or_none, timestamp
from parsers.money import render

BESIDE: Final = 2
"""Messages shown on each side."""

_EXPLANATIONS: Final = {
    Why.OFF: "The balance is not checked ([trust] balance_check = off).",
    Why.NO_BALANCE: "It names no balance.",
    Why.FIRST: "It is the first receipt of its line.",
    Why.JOINS: "Its balance follows from that of the message beside it.",
    Why.SKIPS: "It goes on from the balance before the last one, so the last one is doubtful.",
    Why.EXPLAINED: "Its balance does not follow, which a debit, an unreadable message or the modem's absence explains.",
    Why.BREAKS: "Its balance follows from none before it.",
    Why.REPEATED: "It leaves the balance where it was: perhaps an old text, used again.",
    Why.IMPOSSIBLE: "It names a balance below its own amount.",
    Why.CONTRADICTED: "The messages around it follow from each other without it.",
    Why.ID_TAKEN: "Another message has its transaction ID.",
    Why.PERSON: "A person decided.",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands.

    Attributes:
        entry: The message.
        beside: Messages of its line around it, in any order, without it.
        why: What decided its standing.
        doubts: What else spoke against it.
        currency: Of the wallet.
    """

    entry: Entry
    beside: Sequence[Entry]
    why: Why
    doubts: Sequence[str]
    currency: str


def balance_chain(place: Place) -> Json:
    """Make `balance_chain`: what is thought of a message, and it among its neighbours, in the order of the line."""
    line = in_order([*place.beside, place.entry])
    at = next(index for index, entry in enumerate(line) if entry.key == place.entry.key)
    return {
        "standing": place.entry.standing,
        "why": place.why,
        "explanation": _EXPLANATIONS[place.why],
        "doubts": list(place.doubts),
        "currency": place.currency,
        "messages": list(_messages(line[max(at - BESIDE, 0) : at + BESIDE + 1], place)),
    }


def _messages(line: Iterable[Entry], place: Place) -> Iterable[Json]:
    for entry in line:
        effect = entry.effects[0] if entry.effects else None
        yield {
            "message_id": entry.key,
            "this": entry.key == place.entry.key,
            "transaction_id": entry.telco_id,
            "timestamp": timestamp(entry.at),
            "moved": None if effect is None else render(effect, place.currency),
            "balance": amount_or_none(entry.after, place.currency),
            "standing": entry.standing,
            "unaccounted": amount_or_none(entry.gap_minor, place.currency),
        }
