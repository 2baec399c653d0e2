"""A message and its balance chain as JSON. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import Struct

from daemon.core import shape
from daemon.core.json_values import amount_or_none, timestamp, timestamp_or_none
from daemon.core.messages.balance_chain import ChainEntry, Standing, Why, in_order
from daemon.core.model import Message
from daemon.core.shape import STORED_JSON, about, const, sample, shown
from daemon.wire import MessageState, Mode, SourceKind, TrustLevel
from parsers.reading import FIELD_WORDS

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_NO_FIELDS: Final = "{}"
NEIGHBOURS_SHOWN: Final = 2
"""Messages shown on each side."""
_EXPLANATIONS: Final = {
    Why.JOINS: "Its balance follows from the believed balance of the line.",
    Why.PROVED: "What the wallet showed proves it.",
    Why.SILENCE: "Its balance did not follow, and it went on while everything else was silent.",
    Why.PERSON: "An operator decided.",
    Why.BREAKS: "Its balance does not follow from the believed balance. If a late message leads to it, or the owner says that "
    "the wallet shows its balance, it is believed.",
    Why.FOREIGN: "It came through a service centre that is not home for this SIM. It changes nothing for another message.",
    Why.DOUBTED: "There are doubts about it, so it changes nothing for another message.",
    Why.CONTRADICTED: "The messages around it follow from each other without it.",
}


StandingAnswer = Annotated[Standing, sample(Standing.ACCEPTED)]


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


class ChainMessage(Struct, frozen=True):
    """A message of a chain, and what it says of the balance."""

    message_id: shape.Id
    this: Annotated[shape.On, about("the message under review")]
    transaction_id: shape.TelcoId | None
    timestamp: shape.Time
    moved: shape.Amount | None
    balance: shape.Amount | None
    standing: StandingAnswer
    unaccounted: Annotated[shape.Amount | None, sample(None)]


class BalanceChainAnswer(Struct, frozen=True):
    """The standing of a message, and the message among its neighbours in the order of the line."""

    standing: StandingAnswer
    why: Annotated[Why, sample(Why.JOINS)]
    explanation: Annotated[str, sample("Its balance follows from that of the message beside it.")]
    doubts: Annotated[list[Annotated[str, sample("smsc")]], sample([])]
    currency: shape.Currency
    messages: list[ChainMessage]


def balance_chain(place: ChainPosition) -> BalanceChainAnswer:
    """Return the position of a message in its chain."""
    line = in_order([*place.beside, place.entry])
    at = next(index for index, entry in enumerate(line) if entry.key == place.entry.key)
    messages = [
        ChainMessage(
            message_id=entry.key,
            this=entry.key == place.entry.key,
            transaction_id=entry.telco_id,
            timestamp=timestamp(entry.at),
            moved=amount_or_none(entry.effect, place.currency),
            balance=amount_or_none(entry.after, place.currency),
            standing=entry.standing,
            unaccounted=amount_or_none(entry.gap_minor, place.currency),
        )
        for entry in line[max(at - NEIGHBOURS_SHOWN, 0) : at + NEIGHBOURS_SHOWN + 1]
    ]
    return BalanceChainAnswer(
        standing=place.entry.standing, why=place.entry.why, explanation=_EXPLANATIONS[place.entry.why],
        doubts=list(place.entry.doubts), currency=place.currency, messages=messages,
    )  # fmt: skip


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


Sender = Annotated[str, sample("MobileMoney")]
Smsc = Annotated[str, sample("+233240000000")]
State = Annotated[MessageState, sample(MessageState.PAYMENT)]
KindOfMessage = Annotated[str, sample("payment")]
MessageFields = Annotated[dict[str, Any], sample({"amount": "25.00", "currency": "GHS"}, "the values read from it")]
Trusted = Annotated[shape.On, about("it passed all rules of trust, so it may become a payment")]
Reasons = Annotated[list[Annotated[str, sample("sender")]], sample([], "why it is not trusted")]


class Parts(Struct, frozen=True):
    """How many SMS a message has, and how many came."""

    total: Annotated[int, sample(1, ge=0)]
    seen: Annotated[int, sample(1, ge=0)]


class MessageAnswer(Struct, frozen=True):
    """A received SMS."""

    id: shape.Id
    line: Annotated[shape.Phone | None, about("the merchant number that it came to")]
    device_id: shape.Id | None
    sender: Sender
    smsc: Smsc | None
    smsc_ts: shape.Time | None
    received_at: shape.Time
    state: State
    kind: KindOfMessage | None
    provider: shape.Provider | None
    fields: Annotated[MessageFields, STORED_JSON]
    trusted: Trusted
    reasons: Reasons
    payment_id: shape.Id | None
    slot_index: shape.Count | None
    parts: Parts
    test: shape.Test
    recovered: Annotated[shape.Flag, about("it was lost with the database, and read again from the message journal")]
    source: Annotated[str, sample("modem", "its source in [[sources]]")]
    trust_level: Annotated[TrustLevel, sample(TrustLevel.FULL)]
    synthesised: Annotated[shape.Flag, about("its source gave a text, and momo made the PDU")]

    @classmethod
    def of(cls, row: Message, line: str | None, **more: Any) -> Self:
        """Return the answer of a message; `line` is the merchant number that received it."""
        return shown(
            cls, row, line=line, smsc_ts=timestamp_or_none(row.sent_at), reasons=reasons_of(row),
            parts=Parts(row.parts_total, row.parts_seen), test=row.mode is Mode.TEST,
            source=row.source or SourceKind.MODEM, trust_level=row.level, **more,
        )  # fmt: skip


class MessageInFullAnswer(MessageAnswer, frozen=True):
    """A received SMS with its text."""

    body: Annotated[str, sample("Payment received for GHS 25.00 from AMA MENSAH ...")] | None

    @classmethod
    def of(cls, row: Message, line: str | None, **more: Any) -> Self:
        """Return the answer; an SMS of which parts are missing has no text."""
        body = row.body if row.state is not MessageState.INCOMPLETE else None
        return super().of(row, line, body=body, **more)


class RepeatedMessageAnswer(Struct, frozen=True):
    """A copy of an SMS that came in before."""

    state: Annotated[str, const(MessageState.DUPLICATE), about("exactly the same SMS came in before")]
    sender: Sender
    body: Annotated[str, sample("Payment received ...")]
