"""What the shop has vouched for: wordings that no genuine message had confirmed, and senders of networks that name none.

One genuine message is enough (decisions.md section 4: `unverified`). It confirms its wording, as it stands, from its sender,
to the byte. Where a network's senders are known they stay the only ones: a wording of the shop's adds, and never weakens.
"""

from collections.abc import Collection
from dataclasses import replace

from daemon.core.model import Message
from daemon.env import Env
from daemon.intake.desk import Desk
from daemon.modem.pdu_fields import SenderType
from daemon.store import confirmed, events
from daemon.store.engine import Reader, Tx
from daemon.wire import MessageState
from parsers.read import PROVIDERS, read
from parsers.reading import Payment, Reading, Reversal


def senders(desk: Desk, provider: str | None) -> Collection[str]:
    """Return the senders of a network's payment messages: those we know, else those that the shop has confirmed."""
    if provider is None:
        return ()
    of = PROVIDERS[provider]
    return of.senders or confirmed.senders(desk.tx, desk.mode, of.network)


def settled(desk: Desk, sender: str | None, reading: Reading) -> Reading:
    """Return the reading, no longer unverified where the shop has confirmed its wording from this sender."""
    if not isinstance(reading, Payment | Reversal) or not reading.unverified or sender is None:
        return reading
    if confirmed.is_confirmed(desk.tx, desk.mode, reading.network, reading.wording, sender):
        return replace(reading, unverified=False)
    return reading


def proof_in(env: Env, message: Message) -> Payment | Reversal | str:
    """Read a message by its SIM's network, as it is read once it is trusted; a sentence when it proves no wording."""
    why = _no_proof(message)
    if why is not None:
        return why
    assert message.provider is not None, "it was looked at"
    of = PROVIDERS[message.provider]
    reading = read(message.sender, message.body or "", network=of.network, own=env.own.wordings)
    if not isinstance(reading, Payment | Reversal):
        return "it is no receipt of its SIM's network"
    return reading if reading.unverified else "its wording needs no confirmation"


def _no_proof(message: Message) -> str | None:
    """Say why a message cannot prove anything, whatever it says."""
    if message.body is None or message.state not in (MessageState.HELD, MessageState.PAYMENT):
        return "only a message that is held, or was approved, shows that a wording is genuine"
    if message.sender_type != SenderType.ALPHANUMERIC or message.sender is None:
        return "it came from a number, and no network sends its receipts from one"
    if message.provider is None:
        return "the network of the SIM that got it is not known"
    of = PROVIDERS[message.provider]
    if of.senders and message.sender not in of.senders:
        return f"{of.display_name} sends from {', '.join(of.senders)} and not from {message.sender}"
    return None


def confirm(tx: Tx, env: Env, message: Message, *, by: str, now: int) -> confirmed.Confirmed | str:
    """Take a message for the proof that its wording, from its sender, is genuine; a sentence when it is none."""
    reading = proof_in(env, message)
    if isinstance(reading, str):
        return reading
    assert message.sender is not None, "it was looked at"
    row = confirmed.Confirmed(
        message.mode, reading.network, reading.wording, message.sender, message.id, by, now
    )
    if confirmed.add(tx, row):
        _tell(tx, row, "wording.confirmed", by, now)
    return row


def take_back(
    tx: Tx, env: Env, message: Message, *, by: str, now: int
) -> confirmed.Confirmed | str:
    """End what a message had proven."""
    row = of_message(tx, env, message)
    if row is None:
        return "this message confirms no wording"
    confirmed.remove(tx, row.network, row.wording)
    _tell(tx, row, "wording.unconfirmed", by, now)
    return row


def of_message(reader: Reader, env: Env, message: Message) -> confirmed.Confirmed | None:
    """Return the confirmation of a message's wording, whichever message proved it."""
    reading = proof_in(env, message)
    if isinstance(reading, str):
        return None
    return next(
        (
            row
            for row in confirmed.every(reader)
            if (row.network, row.wording, row.mode)
            == (reading.network, reading.wording, message.mode)
        ),
        None,
    )


def _tell(tx: Tx, row: confirmed.Confirmed, kind: str, by: str, now: int) -> None:
    events.add(
        tx,
        type=kind,
        mode=row.mode,
        at=now,
        actor=by,
        message_id=row.message_id,
        data={"network": row.network, "wording": row.wording, "sender": row.sender},
    )
