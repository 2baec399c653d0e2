"""What is on the table while the parts of one SIM are taken in: one write transaction, one moment, one line."""

import json
from dataclasses import dataclass, replace
from typing import Final, Self

from daemon.core import sandbox
from daemon.core.model import Message, PaymentMethod, Sim
from daemon.core.provider_names import network_of
from daemon.core.requests import Source
from daemon.env import Env
from daemon.store import payment_methods, presence
from daemon.store.engine import Tx
from daemon.wire import Mode

IMPORTED: Final = "imported"
"""The first reason of every message that came out of a file, so that it stays one when it is read again."""


@dataclass(frozen=True, slots=True)
class Desk:
    """The state of one intake.

    Attributes:
        sim: The SIM that got the messages.
        line: The number it holds, None when it has none yet.
        imported: They come out of a file and not from a phone: history, whatever their time (`intake.imported`).
    """

    env: Env
    tx: Tx
    source: Source
    now: int
    sim: Sim
    line: PaymentMethod | None
    imported: bool = False

    @classmethod
    def lay(cls, env: Env, tx: Tx, source: Source, now: int) -> Self:
        """Look up the SIM and its number.

        Raises:
            Unavailable: The database is damaged: nothing is taken in, and the message stays where it is.
        """
        env.self_check.refuse_if_damaged()
        provider = sandbox.provider_of(source.sim_key)
        if provider is not None:
            # No row: what is made up must show in no list of SIMs. The number is one that the shop really has.
            line = payment_methods.of_provider(tx, provider)
            return cls(env, tx, source, now, _made_up(source, provider, now), line)
        sim = presence.sim(tx, source.sim_key)
        assert sim is not None, "the loop stores the SIM before it hands over its messages"
        return cls(env, tx, source, now, sim, payment_methods.on_sim(tx, sim.seq))

    @classmethod
    def lay_again(cls, env: Env, tx: Tx, row: Message, now: int) -> Self:
        """Look up what a stored message came to: its SIM, and the number that it held then, whatever it holds now."""
        test = row.mode is Mode.TEST
        desk = cls.lay(env, tx, Source(row.sim_key, row.device_id, row.slot_index, test=test), now)
        line = row.payment_method_id and payment_methods.get(tx, row.payment_method_id)
        return replace(desk, line=line or None, imported=IMPORTED in json.loads(row.reasons))

    @property
    def mode(self) -> Mode:
        """Everything from a simulated phone is test mode."""
        return Mode.TEST if self.source.test else Mode.LIVE

    @property
    def line_id(self) -> str | None:
        """The id of the number, for the rows."""
        return None if self.line is None else self.line.id


def _made_up(source: Source, provider: str, now: int) -> Sim:
    return Sim(
        seq=0,
        sim_key=source.sim_key,
        iccid=None,
        imsi=None,
        network=network_of(provider),
        device_id=source.device_id,
        slot_index=source.slot_index,
        present=True,
        first_seen_at=now,
        last_seen_at=now,
        read_payment_at=None,
    )
