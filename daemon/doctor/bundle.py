"""What `momo doctor --bundle` packs for whoever helps: what was found, versions, schema, counts, logs. Nothing private.

Phone numbers, tokens and PDUs are masked as in the log; names that the database knows (the shop, its accounts, those who
paid) are taken out wherever they stand; of web addresses the host alone stays. No message, no row of money, no key.
"""

import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from daemon.doctor import units
from daemon.doctor.checks import Patient
from daemon.store import examine
from privacy.masking import scrubbed

LOG_BYTES: Final = 256 * 1024
"""The end of each log file that is taken."""
LOG_FILES: Final = 6
NAMES: Final = 20_000
"""Newest payers whose names are taken out."""
_NAME_CHARACTERS_MIN: Final = 3


def files(patient: Patient, document: dict[str, Any]) -> dict[str, bytes]:
    """Return the name and the content of every file of the bundle."""
    hide = _hider(patient)
    made: dict[str, Callable[[], str]] = {
        "doctor.json": lambda: json.dumps(document, ensure_ascii=False, indent=1),
        "versions.txt": lambda: _versions(patient),
        "schema.sql": lambda: _asked(patient, _schema),
        "counts.json": lambda: _asked(patient, _counts),
        "config.toml": lambda: _settings(patient),
        "udev.txt": lambda: "\n".join(_udev(patient.root)),
        "security.txt": lambda: _security(patient),
    }
    found = {name: hide(make()).encode() for name, make in made.items()}
    for path in _logs(patient):
        found[f"log/{path.name}"] = hide(_end(path)).encode()
    return found


def write(target: Path, content: dict[str, bytes]) -> int:
    """Write a .tar.gz that only its owner may read; returns its size.

    Raises:
        OSError: It is there already, or cannot be written.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in content.items():
            entry = tarfile.TarInfo(f"momo-doctor/{name}")
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(buffer.getvalue())
    return len(buffer.getvalue())


def _hider(patient: Patient) -> Callable[[str], str]:
    """Return what takes everything private out of a text."""
    try:
        with examine.opened(patient.shop.database) as reader:
            known = examine.names(reader, NAMES)
    except examine.Unreadable:
        known = []
    hidden = sorted({n for n in known if len(n) >= _NAME_CHARACTERS_MIN}, key=len, reverse=True)
    names = (
        re.compile("|".join(re.escape(name) for name in hidden), re.IGNORECASE) if hidden else None
    )

    def hide(text: str) -> str:
        if names is not None:
            text = names.sub("***", text)
        return "\n".join(scrubbed(line) for line in text.split("\n"))

    return hide


def _versions(patient: Patient) -> str:
    sqlite, fixed = examine.sqlite_version()
    running = "does not run" if patient.running is None else patient.running.version
    return "\n".join(
        (
            f"momo {patient.version}",
            f"daemon {running}",
            f"python {sys.version}",
            f"sqlite {sqlite} (free of the WAL-reset bug: {fixed})",
            f"system {platform.platform()}",
        )
    )


def _asked(patient: Patient, look: Callable[[Any], str]) -> str:
    try:
        with examine.opened(patient.shop.database) as reader:
            return look(reader)
    except examine.Unreadable as error:
        return str(error)


def _schema(reader: Any) -> str:
    has, known = examine.schema(reader)
    return "\n".join([f"-- schema {has}, this program knows {known}", *examine.tables(reader)])


def _counts(reader: Any) -> str:
    return json.dumps(examine.counts(reader), indent=1)


def _settings(patient: Patient) -> str:
    """Return the settings; a value that may be a word of a person's own stays out."""
    try:
        lines = Path(patient.shop.config).read_text("utf-8", "replace").splitlines()
    except OSError as error:
        return f"# {error}"
    told = []
    for line in lines:
        key, equals, value = line.partition("=")
        is_plain = bool(re.fullmatch(r"\s*(true|false|[0-9_.\[\], ]+)\s*", value))
        told.append(line if not equals or is_plain else f'{key}= "***"')
    return "\n".join(told)


def _udev(root: Path) -> Iterator[str]:
    """Say what udev noted of each serial port."""
    for port in sorted((root / "sys" / "class" / "tty").glob("tty[UA][SC]*")):
        try:
            number = (port / "dev").read_text().strip()
            noted = (root / "run" / "udev" / "data" / f"c{number}").read_text("utf-8", "replace")
        except OSError:
            continue
        yield f"{port.name} {number}"
        for line in noted.splitlines():
            # A serial number is one modem's own; an IMEI may be in it.
            if line.startswith("E:ID_") and "SERIAL" not in line:
                yield f"  {line}"


def _security(patient: Patient) -> str:
    """Return what systemd thinks of the unit files."""
    program = shutil.which("systemd-analyze")
    found = [str(path) for path, _ in units.found(patient, "service") if path.suffix == ".service"]
    if program is None or not found:
        return "no unit file of systemd's" if program else "systemd-analyze is not here"
    try:
        done = subprocess.run(  # noqa: S603 -- systemd's own program, on files of momo's name
            [program, "security", "--offline=true", "--no-pager", *found],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout or done.stderr


def _logs(patient: Patient) -> list[Path]:
    found = [path for path in Path(patient.shop.log).glob("*") if path.is_file()]
    state = Path(patient.shop.state)
    # The daemon's own, and those of the command line.
    found += [*state.glob("crash-*.txt"), *state.glob("crash/*.log")]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[:LOG_FILES]


def _end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            return file.read(LOG_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return str(error)
