"""The area `sim`: has every SIM that is in a phone its number, and is it heard."""

from collections.abc import Iterator

from daemon.doctor.checks import Check, Patient, Status, first_of
from daemon.doctor.of_shop import asked
from daemon.store import examine
from daemon.store.engine import Reader


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the SIMs. What a phone says of a PIN is in the area `modem`."""
    if patient.running is None:
        yield Check(
            "sim.line", Status.SKIP, "the daemon does not run, so nobody knows which SIMs are in",
            "momo daemon start",
        )  # fmt: skip
        return
    yield from asked(patient, "sim.line", _look)


def _look(reader: Reader) -> Iterator[Check]:
    found = examine.sims(reader)
    if not found:
        yield Check("sim.line", Status.SKIP, "no SIM is in a phone", "momo doctor modem")
        return
    lacking = (
        Check(
            "sim.line", Status.FAIL,
            f"the SIM {one.device}:{one.slot_index} ({one.network or 'unknown network'}) has no number: its "
            "payments wait for one",
            f"momo sims assign {one.device}:{one.slot_index} METHOD_ID",
        )
        for one in found
        if not one.has_line
    )  # fmt: skip
    yield from first_of(lacking, Check("sim.line", Status.OK, "every SIM has its number"))
    silent = (
        Check(
            "sim.heard", Status.WARN,
            f"{one.device}:{one.slot_index} is silent for longer than is usual at this hour", "momo modems list",
        )
        for one in found
        if one.silent
    )  # fmt: skip
    yield from first_of(silent, Check("sim.heard", Status.OK, "no SIM is unusually silent"))
