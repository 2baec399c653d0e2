"""The area `timers`: does something make a backup every night."""

from collections.abc import Iterator

from daemon.doctor import units
from daemon.doctor.checks import Check, Patient, Status


def checks(patient: Patient) -> Iterator[Check]:
    """Look for timers of systemd; a crontab of the user's can be read only by its own program."""
    found = units.found(patient, "timer")
    if found:
        names = ", ".join(path.name for path, _ in found)
        yield Check("timers.installed", Status.OK, f"installed: {names}")
        return
    cron = patient.root / "etc" / "cron.d"
    for path in sorted(cron.glob("*")) if cron.is_dir() else ():
        try:
            if "momo " in path.read_text("utf-8", "replace"):
                yield Check("timers.installed", Status.OK, f"{path} runs momo")
                return
        except OSError:
            continue
    yield Check(
        "timers.installed", Status.SKIP,
        "no timer is installed; a crontab may do the same, and momo doctor backup says whether one does",
        "momo service install --timers",
    )  # fmt: skip
