"""The area `service`: does the daemon start by itself."""

import pwd
from collections.abc import Iterator

from daemon.doctor import units
from daemon.doctor.checks import Check, Patient, Status


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the unit files; what they do is systemd's own affair (`systemctl status`)."""
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


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
