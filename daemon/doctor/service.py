"""The area `service`: does the daemon start by itself, and does the machine stay awake for it."""

import pwd
from collections.abc import Iterator

from daemon.core.awake import Hold
from daemon.doctor import units
from daemon.doctor.checks import Check, Patient, Status


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the unit files; what they do is systemd's own affair (`systemctl status`)."""
    yield _awake(patient)
    found = units.found(patient, "service")
    if not found:
        yield Check(
            "service.installed", Status.WARN,
            "no service is installed: after a power cut somebody has to start momo", "momo service install",
        )  # fmt: skip
        return
    names = ", ".join(str(path) for path, _ in found)
    yield Check("service.installed", Status.OK, f"installed: {names}")
    own = [path for path, is_own in found if is_own and path.suffix == ".service"]
    if not own:
        return
    name = _name(patient.user.uid)
    if (patient.root / "var" / "lib" / "systemd" / "linger" / name).exists():
        yield Check("service.linger", Status.OK, "it starts with the machine")
    else:
        yield Check(
            "service.linger", Status.WARN, f"it starts only when {name} logs in",
            f"sudo loginctl enable-linger {name}",
        )  # fmt: skip


def _awake(patient: Patient) -> Check:
    """Say whether the machine may fall asleep, and no payment be read, while the shop is served."""
    name, running = "service.awake", patient.running
    if running is None:
        return Check(
            name, Status.SKIP, "the daemon does not run, so nothing keeps the machine awake", "momo daemon start"
        )  # fmt: skip
    why = running.awake.why
    match running.awake.hold:
        case Hold.OFF:
            return Check(
                name, Status.SKIP, "the machine may sleep, and read no payment meanwhile",
                "momo config set power.keep_awake plugged",
            )  # fmt: skip
        case Hold.ON_BATTERY:
            return Check(name, Status.OK, "on battery, where it may sleep")
        case Hold.HELD:
            return Check(
                name, Status.OK, "the machine does not sleep while momo serves, but for its lid"
            )
        case Hold.IDLE_ONLY:
            return Check(
                name, Status.WARN, f"a desktop's own timer may still put the machine to sleep ({why})",
                "switch automatic suspend off in the desktop's settings, or momo service install --system",
            )  # fmt: skip
    return Check(
        name, Status.WARN, f"the machine cannot be kept awake ({why})",
        "switch automatic suspend off in the machine's settings",
    )  # fmt: skip


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
