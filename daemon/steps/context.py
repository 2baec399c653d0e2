"""The state of one intake: its database transaction, time, SIM and line; a complete message; the result of processing it."""

from datetime import datetime
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.inputs import Source
from daemon.core.messages.trust import is_history
from daemon.core.model import Message, PaymentMethod, Sim
from daemon.core.shape import taken
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.modem.codec.pdu_fields import Deliver
from daemon.store.engine import Tx
from daemon.store.lines import devices, payment_methods
from daemon.store.messages.balances import Chain
from daemon.wire import Mode
from parsers.times import to_us


class Context(Struct, frozen=True):
    """The state of one intake.

    Attributes:
        times: The time at the start of the intake.
        sim: The SIM that received the messages.
        line: The merchant number on the SIM; None if it has none yet.
        homes: The home SMSCs of the SIM.
        expects_test_payment: A test payment was expected on the SIM when the intake began.
        lacks_since: When the oldest message of the SIM came that lacked parts when the intake began; None if none did.
        imported: The messages come from a file, or from a source that the owner has not opted in to. They are history
            regardless of their time (`steps.imported_message`).
        recovered: The messages come from the message journal, because the database had lost them.
    """

    env: Env
    tx: Tx
    source: Source
    times: Times
    sim: Sim
    line: PaymentMethod | None
    homes: list[str]
    expects_test_payment: bool
    lacks_since: int | None
    imported: bool = False
    recovered: bool = False

    @classmethod
    def open(cls, env: Env, tx: Tx, source: Source, times: Times, *, stored: bool = False) -> Self:
        """Look up the SIM and its number. That of a `stored` message may be unknown here: the message came back from a hub.

        Raises:
            Unavailable: The database is damaged. Nothing is stored, and the message stays where it is.
        """
        env.refuse_if_damaged()
        found = devices.receiver(tx, source.sim_key) or (devices.unknown(source, times.wall_us) if stored else None)
        assert found is not None, (
            "the loop stores a SIM before it hands over its messages; the schema has those of the sandbox"
        )
        expects, lacks_since = found.expects_test_payment, found.lacks_since
        homes = list(found.homes)
        return cls(env, tx, source, times, found.sim, found.line, homes, expects, lacks_since, imported=source.history)

    @classmethod
    def for_message(cls, env: Env, tx: Tx, row: Message, times: Times) -> Self:
        """Return the context of a stored message: its SIM, and the number that the SIM had when the message came."""
        test = row.mode is Mode.TEST
        # For a source with a name, `imported` marks the messages handed over as history.
        history = row.imported and row.source is not None
        source = Source(
            row.sim_key, row.device_id, row.slot_index, test=test, name=row.source, level=row.level, history=history
        )
        context = cls.open(env, tx, source, times, stored=True)
        line = row.payment_method_id and payment_methods.get(tx, row.payment_method_id, row.mode)
        return replace(context, line=line or None, imported=row.imported)

    @classmethod
    def of_line(cls, env: Env, tx: Tx, sim_key: str, times: Times) -> Self:
        """Return the context of a line without a message."""
        sim = devices.sim_by_key(tx, sim_key)
        assert sim is not None, "a line belongs to a SIM"
        return cls.open(env, tx, Source(sim.sim_key, sim.device_id, sim.slot_index), times)

    @property
    def now(self) -> int:
        """The wall clock, in microseconds."""
        return self.times.wall_us

    def is_history(self, sent_at: int | None) -> bool:
        """Return whether a message sent then is older than its line, or than the SIM without one (`trust.is_history`)."""
        return is_history(sent_at, self.since)

    @property
    def since(self) -> int:
        """When the line was set up, or the SIM without one was first seen."""
        since = self.sim.first_seen_at
        if self.line is not None and self.line.line_created_at is not None:
            since = self.line.line_created_at
        # A clock that was ahead may have dated the line in the future; it was not created later than now.
        return min(since, self.now)

    @property
    def mode(self) -> Mode:
        """The mode: test for a simulated phone, else live."""
        return Mode.TEST if self.source.test else Mode.LIVE

    @property
    def line_id(self) -> str | None:
        """The id of the payment method, for the rows; None without one."""
        return None if self.line is None else self.line.id


INTERNAL_ERROR: Final = "internal_error"
"""The reason of a message that met a bug in momo and is stored as unparsed."""
_BUGS: Final = (
    AssertionError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, NameError, RecursionError,
)  # fmt: skip


def internal_errors(env: Env) -> tuple[type[Exception], ...]:
    """Return the exceptions that a bug in momo raises, also those of the database about a row that momo may not write.

    Disk errors are not among them: the message is not their cause.
    """
    return (*_BUGS, *env.store.row_errors)


class JoinedMessage(Struct, frozen=True):
    """A complete message.

    Attributes:
        last: Its last part, decoded; all parts share the sender.
        sent_at: SMSC time of its first part, None when that cannot be read.
        parts: All its parts, in order of position.
        ambiguous: Other parts claim the same positions, and none is nearer in SMSC time.
    """

    message_id: str
    last: Deliver
    body: str
    sent_at: int | None
    parts: tuple[Deliver, ...]
    ambiguous: bool = False


class StoredMessage(Struct, frozen=True, kw_only=True):
    """A complete message, either new or held earlier and judged again.

    Attributes:
        payment_method_id: The merchant number on its SIM when it came; None when unplaced.
        provider: The provider of the SIM's network; None if it is not known.
        sent_at: SMSC time, None when unknown.
        split: Its payment code and its balance stand in different parts, so that another part could have been put in between.
        typed: Its payer typed words of a receipt, so that it could be read in another way.
    """

    id: str
    sim_key: str
    device_id: str
    slot_index: int
    payment_method_id: str | None
    provider: str | None
    sender: str | None
    smsc: str | None
    sent_at: int | None
    stored_at: int
    body: str
    split: bool = False
    typed: bool = False

    @classmethod
    def now(cls, context: Context, whole: JoinedMessage, provider: str | None) -> Self:
        """Return the message that its last part has just completed."""
        return cls(
            id=whole.message_id,
            sim_key=context.source.sim_key,
            device_id=context.source.device_id,
            slot_index=context.source.slot_index,
            payment_method_id=context.line_id,
            provider=provider,
            sender=whole.last.sender,
            smsc=whole.last.smsc,
            sent_at=whole.sent_at,
            stored_at=context.now,
            body=whole.body,
        )

    @classmethod
    def before(cls, row: Message) -> Self:
        """Return a message that came in earlier and was processed then."""
        return taken(cls, row, stored_at=row.received_at, body=row.body or "")

    @property
    def chain(self) -> Chain:
        """The balance chain of the message's line."""
        assert self.provider is not None, "a trusted message is of a network that we know"
        return Chain(self.sim_key, self.provider)

    @property
    def at(self) -> int:
        """Time sent, or time stored if that is unknown; microseconds."""
        return self.stored_at if self.sent_at is None else self.sent_at


def microseconds(at: datetime | None) -> int | None:
    """Return an aware time as microseconds since 1970 in UTC."""
    return None if at is None else to_us(at)
