"""The unit files of momo that this machine has: systemd's of the user and of the system, launchd's."""

from pathlib import Path
from typing import Final

from daemon.doctor.checks import Patient

SYSTEM: Final = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")


def found(patient: Patient, suffix: str) -> list[tuple[Path, bool]]:
    """Return (file, whether it is the user's own) of each unit whose name begins with momo.

    Args:
        patient: Whose machine and home are looked at.
        suffix: `service`, `timer`.
    """
    home = Path(patient.environ.get("HOME", "/nonexistent"))
    config = Path(patient.environ.get("XDG_CONFIG_HOME") or home / ".config")
    seen = [(path, True) for path in sorted((config / "systemd" / "user").glob(f"momo*.{suffix}"))]
    for folder in SYSTEM:
        seen += [(path, False) for path in sorted((patient.root / folder).glob(f"momo*.{suffix}"))]
    if suffix == "service":
        agents = sorted((home / "Library" / "LaunchAgents").glob("*momo*.plist"))
        seen += [(path, True) for path in agents]
    return seen
