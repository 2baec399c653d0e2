"""Wordings and senders that the shop has confirmed by a genuine message.

One genuine message is enough. It confirms its exact wording from its exact sender,
byte for byte. If a network's senders are known, they stay the only trusted ones: confirmations add wordings and never
weaken a check.
"""

from collections.abc import Collection
from dataclasses import replace

from daemon.core.model import Message
from daemon.env import Env
from daemon.modem.codec.pdu_fields import SenderType
from daemon.steps.context import Context, JoinedMessage
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.messages import balances, messages
from daemon.wire import MessageState
from parsers.read import PROVIDERS, read
from parsers.reading import Payment, Reading, Reversal, Unreadable


def trusted_senders(context: Context, provider: str | None) -> Collection[str]:
    """Return the trusted senders of a network: the built-in ones, else those that the shop has confirmed."""
    if provider is None:
        return ()
    of = PROVIDERS[provider]
    return of.senders or messages.senders(context.tx, context.mode, of.network)


def confirmed_reading(context: Context, sender: str | None, reading: Reading) -> Reading:
    """Return the reading, without its `unverified` mark if the shop has confirmed the wording from this sender."""
    if isinstance(reading, Unreadable):
        perhaps = (confirmed_reading(context, sender, one) for one in reading.perhaps)
        return replace(reading, perhaps=tuple(one for one in perhaps if not isinstance(one, Unreadable)))
    if not isinstance(reading, Payment | Reversal) or not reading.unverified or sender is None:
        return reading
    if messages.is_confirmed(context.tx, context.mode, reading.network, reading.wording, sender):
        return replace(reading, unverified=False)
    return reading


def unverified_reading(env: Env, message: Message) -> Payment | Reversal | str:
    """Read a message by its SIM's network as if it were trusted; return a sentence if it can confirm no wording."""
    why = _why_not(message)
    if why is not None:
        return why
    assert message.provider is not None, "it was looked at"
    of = PROVIDERS[message.provider]
    reading = read(message.sender, message.body or "", network=of.network, own=env.own_wordings.wordings)
    if not isinstance(reading, Payment | Reversal):
        return "it is not a receipt of its SIM's network"
    return reading if reading.unverified else "its wording needs no confirmation"


def _why_not(message: Message) -> str | None:
    """Return why a message cannot confirm a wording, apart from its text; None if it can."""
    if message.body is None or message.state not in (MessageState.HELD, MessageState.PAYMENT):
        return "only a held or approved message can confirm a wording"
    if message.sender_type != SenderType.ALPHANUMERIC or message.sender is None:
        return "it came from a phone number; networks send receipts under a sender name"
    if message.provider is None:
        return "the network of the SIM that received it is not known"
    of = PROVIDERS[message.provider]
    if of.senders and message.sender not in of.senders:
        return f"{of.display_name} sends from {', '.join(of.senders)}, not from {message.sender}"
    return None


def confirm(tx: Tx, env: Env, message: Message, *, by: str, now: int) -> messages.Confirmed | str:
    """Confirm a message's wording from its sender; return a sentence if the message cannot confirm it."""
    reading = unverified_reading(env, message)
    if isinstance(reading, str):
        return reading
    assert message.sender is not None, "it was looked at"
    row = messages.Confirmed(message.mode, reading.network, reading.wording, message.sender, message.id, by, now)
    if messages.add_wording(tx, row):
        _log(tx, row, "wording.confirmed", by, now)
    return row


def is_proved_by_test_payment(
    context: Context, whole: JoinedMessage, reading: Reading, doubts: Collection[str]
) -> bool:
    """Confirm the first sender of a network by the owner's test payment; return whether it did.

    Only for a network whose sender nobody knows yet, from a sender name, and of exactly the amount that is expected now.
    """
    network = context.sim.network
    of = next((one for one in PROVIDERS.values() if one.network == network), None)
    if (
        of is None
        or of.senders
        or context.imported
        or not context.expects_test_payment
        or not isinstance(reading, Payment)
        or reading.network != network
        or set(doubts) != {"sender_not_of_network"}
        or messages.senders(context.tx, context.mode, of.network)
    ):
        return False
    expected = balances.expected_test_payment(context.tx, context.sim.sim_key, context.now)
    if expected is None or expected[0] != reading.amount.minor or whole.last.sender is None:
        return False
    row = messages.Confirmed(
        context.mode, reading.network, reading.wording, whole.last.sender, whole.message_id, "test payment", context.now
    )
    if messages.add_wording(context.tx, row):
        _log(context.tx, row, "wording.confirmed", row.confirmed_by, context.now)
    return True


def revoke(tx: Tx, env: Env, message: Message, *, by: str, now: int) -> messages.Confirmed | str:
    """Remove the confirmation of a message's wording; return a sentence if there is none."""
    row = confirmation_of(tx, env, message)
    if row is None:
        return "this message confirms no wording"
    messages.remove_wording(tx, row.network, row.wording)
    _log(tx, row, "wording.unconfirmed", by, now)
    return row


def confirmation_of(reader: Reader, env: Env, message: Message) -> messages.Confirmed | None:
    """Return the confirmation of a message's wording, whichever message gave it."""
    reading = unverified_reading(env, message)
    if isinstance(reading, str):
        return None
    return next(
        (
            row
            for row in messages.all_confirmed(reader)
            if (row.network, row.wording, row.mode) == (reading.network, reading.wording, message.mode)
        ),
        None,
    )


def _log(tx: Tx, row: messages.Confirmed, kind: str, by: str, now: int) -> None:
    data = {"network": row.network, "wording": row.wording, "sender": row.sender}
    journal.add(tx, kind, now, actor=by, message_id=row.message_id, mode=row.mode, data=data)
