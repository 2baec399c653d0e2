"""The areas `service` (the daemon starts with the machine, which stays awake) and `timers` (a backup every night)."""

import pwd
from collections.abc import Iterator

from daemon.core.upkeep.keep_awake import AwakeState
from daemon.doctor.checks import Check, Status, System, installed_units


def service_checks(system: System) -> Iterator[Check]:
    """Check the unit files; `systemctl status` shows their state."""
    yield _awake(system)
    found = installed_units(system, "service")
    if not found:
        yield Check(
            "service.installed", Status.WARN,
            "no service is installed: after a power cut you must start momo yourself", "momo daemon install",
        )  # fmt: skip
        return
    names = ", ".join(str(path) for path, _ in found)
    yield Check("service.installed", Status.OK, f"installed: {names}")
    own = [path for path, is_own in found if is_own and path.suffix == ".service"]
    if not own:
        return
    name = _name(system.user.uid)
    if (system.root / "var" / "lib" / "systemd" / "linger" / name).exists():
        yield Check("service.linger", Status.OK, "it starts with the machine")
    else:
        yield Check(
            "service.linger", Status.WARN, f"it starts only when {name} logs in",
            f"sudo loginctl enable-linger {name}",
        )  # fmt: skip


def _awake(system: System) -> Check:
    """Check whether the machine can go to sleep, when no payments are read, while the daemon runs."""
    name, running = "service.awake", system.running
    if running is None:
        return Check(
            name, Status.SKIP, "the daemon does not run, so nothing keeps the machine awake", "momo daemon start"
        )  # fmt: skip
    why = running.awake.why
    match running.awake.hold:
        case AwakeState.OFF:
            return Check(
                name, Status.SKIP, "the machine may go to sleep; while it sleeps, no payment is read",
                "momo config set power.keep_awake plugged",
            )  # fmt: skip
        case AwakeState.ON_BATTERY:
            return Check(name, Status.OK, "the machine is on battery and may sleep, as set")
        case AwakeState.HELD:
            return Check(
                name, Status.OK, "the machine stays awake while momo runs, unless its lid is closed"
            )
        case AwakeState.IDLE_ONLY:
            return Check(
                name, Status.WARN, f"the desktop's automatic suspend may still put the machine to sleep ({why})",
                "switch automatic suspend off in the desktop's settings, or momo daemon install --system",
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


def timer_checks(system: System) -> Iterator[Check]:
    """Check for systemd timers and /etc/cron.d; a user's crontab cannot be read without `crontab`."""
    found = installed_units(system, "timer")
    if found:
        names = ", ".join(path.name for path, _ in found)
        yield Check("timers.installed", Status.OK, f"installed: {names}")
        return
    cron = system.root / "etc" / "cron.d"
    for path in sorted(cron.glob("*")) if cron.is_dir() else ():
        try:
            if "momo " in path.read_text("utf-8", "replace"):
                yield Check("timers.installed", Status.OK, f"{path} runs momo")
                return
        except OSError:
            continue
    yield Check(
        "timers.installed", Status.SKIP,
        "no timer is installed; a crontab may do the same: momo doctor backup shows whether backups are recent",
        "momo daemon install --timers",
    )  # fmt: skip
