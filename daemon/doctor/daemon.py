"""The area `daemon`: does it run, is there a shop, do its settings hold."""

from collections.abc import Iterator
from pathlib import Path

from daemon.config import ConfigError, load
from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import NO_SHOP


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the daemon."""
    running = patient.running
    if running is None:
        yield Check(
            "daemon.running",
            Status.WARN,
            "the daemon does not run: SMS wait on their SIMs, and webhooks wait",
            "momo daemon start",
        )
    else:
        where = f", API on {running.http}" if running.http else ""
        yield Check(
            "daemon.running", Status.OK, f"runs as PID {patient.pid}, momo {running.version}{where}"
        )
    if Path(patient.shop.database).is_file():
        yield Check("daemon.shop", Status.OK, f"the shop is in {patient.shop.home}")
    else:
        yield Check("daemon.shop", Status.FAIL, f"{NO_SHOP} ({patient.shop.home})", "momo setup")
    try:
        load(patient.shop.config, patient.environ)
    except ConfigError as error:
        yield Check(
            "daemon.settings", Status.FAIL, f"the daemon will not start: {error}",
            f"edit {patient.shop.config}",
        )  # fmt: skip
    else:
        yield Check("daemon.settings", Status.OK, f"{patient.shop.config} holds, or is not needed")
