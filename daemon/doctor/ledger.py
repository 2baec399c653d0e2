"""The area `ledger`: does what always holds hold (docs/architecture.md)."""

from collections.abc import Iterator

from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import asked
from daemon.store import examine
from daemon.store.engine import Reader


def checks(patient: Patient) -> Iterator[Check]:
    """Ask the database every question of the ledger; each finding is a check of its own, `ledger.` before its id."""
    yield from asked(patient, "ledger.holds", _look)


def _look(reader: Reader) -> Iterator[Check]:
    found = examine.findings(reader)
    for name, sentence, count in found:
        yield Check(
            f"ledger.{name}", Status.FAIL, f"not always so: {sentence} ({count} times)",
            "momo doctor --bundle FILE.tar.gz, and report it; backups are made all the same",
        )  # fmt: skip
    if not found:
        many = examine.counts(reader)
        yield Check(
            "ledger.holds", Status.OK,
            f"payments: {many['payments']}, orders and sales: {many['transactions']}; each payment is used once and every "
            "verified request has its payment",
        )  # fmt: skip
