"""The lines of the shop, each judged whether it can receive now."""

from collections.abc import Iterable
from typing import Final

from daemon.core.lines import receiving
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.receiving import Line
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices, payment_methods

_TABLES: Final = ("devices", "sims", "payment_methods")


def read_lines(reader: Reader, phones: Iterable[ModemHealth], now: int) -> list[Line]:
    """Return the live lines; `phones` is the current state of the ports."""
    rows = reader.shared(_rows, *_TABLES) if isinstance(reader, Tx) else _rows(reader)
    return receiving.judge(*rows, phones, now)


def _rows(reader: Reader) -> tuple[list[Device], list[Sim], list[PaymentMethod]]:
    return (
        devices.known(reader),
        devices.sims_in_phones(reader),
        payment_methods.in_use(reader),
    )
