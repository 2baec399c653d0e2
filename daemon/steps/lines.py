"""The lines of the shop: whether each can receive now, and the status of each phone with its SIMs and their numbers."""

from collections.abc import Callable, Iterable, Sequence

from daemon.core.lines import readiness, receiving
from daemon.core.lines.line_json import LineStatusAnswer
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.receiving import ReceivingSim
from daemon.core.messages import sandbox
from daemon.core.messages.line_history import unaccounted
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices, payment_methods
from daemon.store.messages import balances
from daemon.wire import Mode


def attach_simulated(tx: Tx, now: int, new_id: Callable[[], str]) -> None:
    """Connect the phones of the sandbox, each with a number, so that a practice order has one to pay to."""
    devices.see_sandbox(tx, now)
    for sim in devices.sims_in_phones(tx, Mode.TEST):
        provider = sim.sim_key.removeprefix(sandbox.sim_key(""))
        if provider in sandbox.NUMBERS and payment_methods.on_sim(tx, sim.seq) is None:
            payment_methods.add(
                tx,
                {
                    "id": new_id(),
                    "mode": Mode.TEST,
                    "provider": provider,
                    "phone_number": sandbox.NUMBERS[provider],
                    "account_name": "PRACTICE SHOP",
                    "merchant_code": None,
                    "sim_seq": sim.seq,
                    "is_active": True,
                    "line_created_at": now,
                    "last_payment_at": None,
                    "created_at": now,
                    "updated_at": now,
                    "deleted_at": None,
                },
            )


def read_lines(reader: Reader, phones: Iterable[ModemHealth], now: int) -> list[ReceivingSim]:
    """Return the live lines; `phones` is the current state of the ports."""
    return receiving.judge(
        devices.known(reader), devices.sims_of_lines(reader), payment_methods.in_use(reader), phones, now
    )


def line_status(reader: Reader, now: int, phones: Sequence[ModemHealth], mode: Mode = Mode.LIVE) -> LineStatusAnswer:
    """Read the line status; `phones` is the current state of the ports."""
    gaps = balances.gaps_since(reader, now - readiness.UNACCOUNTED_WINDOW_US)
    since = now - readiness.UNPLACED_WINDOW_US
    return LineStatusAnswer.of(
        devices.known(reader, mode),
        devices.sims_of_lines(reader, mode),
        payment_methods.in_use(reader, mode),
        unplaced=payment_methods.unplaced_by_sim(reader, since, mode),
        gaps={sim_key: unaccounted(entries) for sim_key, entries in gaps.items()},
        phones=phones if mode is Mode.LIVE else None,
        now_us=now,
    )
