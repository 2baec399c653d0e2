"""A whole message as it was stored, and what it turned out to be."""

from dataclasses import dataclass, field
from typing import Any, Final, Self

from daemon.core.model import Message
from daemon.intake.desk import Desk
from daemon.intake.parts import Whole
from daemon.store.balances import Chain
from daemon.wire import MessageState

OUR_FAULTS: Final = (AssertionError, LookupError, TypeError, ValueError, ArithmeticError)
"""What a bug of ours raises. Not what the disk raises: that is nobody's message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A whole message: the same whether it comes in now or was held and pays later.

    Attributes:
        payment_method_id: The number that its SIM held when it came; None when unplaced.
        provider: Of the SIM's network; None when that is not known.
        sent_at: SMSC time, None when unknown.
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

    @classmethod
    def now(cls, desk: Desk, whole: Whole, provider: str | None) -> Self:
        """Return the message whose last part is just in."""
        return cls(
            id=whole.message_id,
            sim_key=desk.source.sim_key,
            device_id=desk.source.device_id,
            slot_index=desk.source.slot_index,
            payment_method_id=desk.line_id,
            provider=provider,
            sender=whole.last.sender,
            smsc=whole.last.smsc,
            sent_at=whole.sent_at,
            stored_at=desk.now,
            body=whole.body,
        )

    @classmethod
    def before(cls, row: Message) -> Self:
        """Return a message that came in before and was concluded then."""
        return cls(
            id=row.id,
            sim_key=row.sim_key,
            device_id=row.device_id,
            slot_index=row.slot_index,
            payment_method_id=row.payment_method_id,
            provider=row.provider,
            sender=row.sender,
            smsc=row.smsc,
            sent_at=row.sent_at,
            stored_at=row.received_at,
            body=row.body or "",
        )

    @property
    def chain(self) -> Chain:
        """The chain of balances that it belongs to."""
        assert self.provider is not None, "a trusted message is of a network that we know"
        return Chain(self.sim_key, self.provider)

    @property
    def at(self) -> int:
        """When it was sent, as far as that is known."""
        return self.stored_at if self.sent_at is None else self.sent_at


@dataclass(slots=True)
class Outcome:
    """What a message turned out to be, filled in step by step."""

    state: MessageState
    kind: str | None = None
    provider: str | None = None
    wording: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    trusted: bool | None = None
    reasons: list[str] = field(default_factory=list)
    payment_id: str | None = None
