"""The area `upgrade`: do the program, the daemon that runs and the database belong together."""

from collections.abc import Iterator

from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import asked
from daemon.store import examine
from daemon.store.engine import Reader


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the versions."""
    yield from asked(patient, "upgrade.schema", _schema)
    running = patient.running
    if running is None:
        yield Check("upgrade.daemon", Status.SKIP, "the daemon does not run", "momo daemon start")
    elif running.version != patient.version:
        yield Check(
            "upgrade.daemon", Status.WARN,
            f"momo {patient.version} is installed and {running.version} still runs",
            "momo daemon stop, then momo daemon start",
        )  # fmt: skip
    else:
        yield Check("upgrade.daemon", Status.OK, f"momo {patient.version} is installed and runs")


def _schema(reader: Reader) -> Iterator[Check]:
    has, known = examine.schema(reader)
    if has > known:
        yield Check(
            "upgrade.schema", Status.FAIL,
            f"the database has schema {has}, this momo knows {known}: a newer momo wrote it",
            "install the newer momo again, or momo restore a copy made before the upgrade",
        )  # fmt: skip
    elif has < known:
        yield Check(
            "upgrade.schema", Status.WARN,
            f"the database has schema {has}, this momo has {known}: the next start brings it there, after a backup",
            "momo daemon stop, then momo daemon start",
        )  # fmt: skip
    else:
        yield Check("upgrade.schema", Status.OK, f"schema {has}, as this momo knows it")
