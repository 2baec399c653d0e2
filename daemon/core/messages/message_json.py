"""A message and its balance chain as JSON. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.json_values import Json, amount_or_none, timestamp, timestamp_or_none
from daemon.core.messages.balance_chain import ChainEntry, Why, in_order
from daemon.core.model import Message
from daemon.wire import MessageState, Mode, SourceKind
from parsers.money import render
from parsers.reading import FIELD_WORDS

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_NO_FIELDS: Final = "{}"
NEIGHBOURS_SHOWN: Final = 2
"""Messages shown on each side."""
_EXPLANATIONS: Final = {
    Why.JOINS: "Its balance follows from the balance before it.",
    Why.FILLS_GAP: "It came late, and its balance fits where a message was missing.",
    Why.BETWEEN: "It came through an unknown service centre, and the messages before and after it prove its balance.",
    Why.CONFIRMED: "Its balance did not follow, and the later messages of the line confirmed it.",
    Why.TEST_PAYMENT: "It is the owner's test payment.",
    Why.PERSON: "An operator decided.",
    Why.FIRST: "There is no earlier balance to compare with.",
    Why.BREAKS: "Its balance does not follow from any message before it. If the following messages continue it, they "
    "confirm it; if they continue the earlier balance, it is refuted.",
    Why.FOREIGN: "It came through a service centre that this SIM never used. If the messages before and after it prove "
    "its balance, it pays by itself after 90 minutes.",
    Why.NO_SMSC: "Its source does not tell the service centre. Its balance does not follow from the last confirmed one, or too many "
    "messages waited when it came. It pays by itself when the missing messages arrive.",
    Why.DOUBTED: "There are other doubts about it, so it waits for an operator.",
    Why.NO_BALANCE: "It names no balance. If the next message shows that its money came in, it pays by itself.",
    Why.IMPOSSIBLE: "It names a balance below its own amount.",
    Why.CONTRADICTED: "The messages around it follow from each other without it.",
}


class ChainPosition(Struct, frozen=True):
    """The position of a message in its chain.

    Attributes:
        entry: The message.
        beside: The messages around it on its line, in any order, without it.
        currency: The currency of the wallet.
    """

    entry: ChainEntry
    beside: Sequence[ChainEntry]
    currency: str


def balance_chain(place: ChainPosition) -> Json:
    """Return `balance_chain`: the standing of a message, and the message among its neighbours in the order of the line."""
    line = in_order([*place.beside, place.entry])
    at = next(index for index, entry in enumerate(line) if entry.key == place.entry.key)
    return {
        "standing": place.entry.standing,
        "why": place.entry.why,
        "explanation": _EXPLANATIONS[place.entry.why],
        "doubts": list(place.entry.doubts),
        "currency": place.currency,
        "messages": list(
            _messages(line[max(at - NEIGHBOURS_SHOWN, 0) : at + NEIGHBOURS_SHOWN + 1], place)
        ),
    }


def _messages(line: Iterable[ChainEntry], place: ChainPosition) -> Iterable[Json]:
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


def stored_fields(fields: Mapping[str, str | None]) -> str:
    """Return the fields of a reading as they are stored: without those that the message lacks, unless it has none."""
    present = {name: value for name, value in fields.items() if value is not None}
    return _encode(present or fields).decode()


def all_fields(stored: str) -> str:
    """Return the stored fields of a message with those that it lacks; none if it was not read, or was erased."""
    if stored == _NO_FIELDS:
        return stored
    return _encode(dict.fromkeys(FIELD_WORDS) | _decode(stored)).decode()


def message(row: Message, line: str | None, *, show_body: bool) -> Json:
    """Return one message; `line` is the merchant number that received it."""
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
        "recovered": row.recovered,
        "source": row.source or SourceKind.MODEM,
        "trust_level": row.level,
        "synthesised": row.synthesised,
    }
    if show_body:
        shape["body"] = row.body if row.state is not MessageState.INCOMPLETE else None
    return shape
