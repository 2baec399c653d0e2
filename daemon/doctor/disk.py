"""The area `disk`: is there room to write payments down."""

from collections.abc import Iterator
from pathlib import Path

from daemon.core.disk_room import LOW_BYTES, TIGHT_BYTES
from daemon.doctor.checks import Check, Patient, Status


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the disk of the shop."""
    folder = Path(patient.shop.home)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = patient.free(folder)
    told = f"{free / 1e6:,.0f} MB free at {patient.shop.home}"
    if free < TIGHT_BYTES:
        yield Check(
            "disk.space", Status.FAIL,
            f"{told}: when it is full nothing can be stored, and SMS stay on their SIMs",
            "free some space; momo prune and momo backup prune remove what is old",
        )  # fmt: skip
    elif free < LOW_BYTES:
        yield Check("disk.space", Status.WARN, told, "free some space; momo backup prune")
    else:
        yield Check("disk.space", Status.OK, told)
