"""A message and its balance chain as JSON. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from daemon.core.json_values import Json, amount_or_none, timestamp, timestamp_or_none
from daemon.core.messages.balance_chain import Entry, Why, in_order
from daemon.core.model import Message
from daemon.wire import MessageState, Mode
from parsers.money import render

NEIGHBOURS_SHOWN: Final = 2
"""Messages shown on each side."""
_EXPLANATIONS: Final = {
    Why.OFF: "The balance is not checked ([trust] balance_check = off).",
    Why.NO_BALANCE: "It names no balance.",
    Why.FIRST: "It is the first receipt of its line.",
    Why.JOINS: "Its balance follows from that of the message beside it.",
    Why.SKIPS: "Its balance follows from the one before the last, so the last one is doubtful.",
    Why.EXPLAINED: "Its balance does not follow, which a debit, an unreadable message or the modem's absence explains.",
    Why.BREAKS: "Its balance does not follow from any message before it.",
    Why.REPEATED: "It leaves the balance unchanged: it may be an old text that is used again.",
    Why.IMPOSSIBLE: "It names a balance below its own amount.",
    Why.CONTRADICTED: "The messages around it follow from each other without it.",
    Why.ID_TAKEN: "Another message has its transaction ID.",
    Why.PERSON: "An operator decided.",
}


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """The position of a message in its chain.

    Attributes:
        entry: The message.
        beside: The messages around it on its line, in any order, without it.
        why: The deciding reason of its standing.
        doubts: Other reasons against it.
        currency: The currency of the wallet.
    """

    entry: Entry
    beside: Sequence[Entry]
    why: Why
    doubts: Sequence[str]
    currency: str


def balance_chain(place: ChainPosition) -> Json:
    """Return `balance_chain`: the standing of a message, and the message among its neighbours in the order of the line."""
    line = in_order([*place.beside, place.entry])
    at = next(index for index, entry in enumerate(line) if entry.key == place.entry.key)
    return {
        "standing": place.entry.standing,
        "why": place.why,
        "explanation": _EXPLANATIONS[place.why],
        "doubts": list(place.doubts),
        "currency": place.currency,
        "messages": list(
            _messages(line[max(at - NEIGHBOURS_SHOWN, 0) : at + NEIGHBOURS_SHOWN + 1], place)
        ),
    }


def _messages(line: Iterable[Entry], place: ChainPosition) -> Iterable[Json]:
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


def reasons_of(row: Message) -> list[str]:
    """Return the reasons of a message; for one imported from a file, `imported` is the first."""
    found = msgspec.json.decode(row.reasons, type=list[str])
    return ["imported", *found] if row.imported else found


def message(row: Message, line: str | None, *, show_body: bool) -> Json:
    """Return one message (cli.md, contract); `line` is the merchant number that received it."""
    shape: Json = {
        "id": row.id,
        "line": line,
        "device_id": row.device_id,
        "sender": row.sender,
        "smsc": row.smsc,
        "smsc_ts": timestamp_or_none(row.sent_at),
        "received_at": timestamp(row.received_at),
        "state": row.state,
        "kind": row.kind,
        "provider": row.provider,
        "fields": msgspec.Raw(row.fields.encode()),
        "trusted": row.trusted,
        "reasons": reasons_of(row),
        "payment_id": row.payment_id,
        "slot_index": row.slot_index,
        "parts": {"total": row.parts_total, "seen": row.parts_seen},
        "test": row.mode is Mode.TEST,
    }
    if show_body:
        shape["body"] = row.body if row.state is not MessageState.INCOMPLETE else None
    return shape
