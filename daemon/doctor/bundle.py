"""The support bundle of `momo doctor --bundle`: findings, versions, schema, counts and logs, without private data.

Phone numbers, tokens and PDUs are masked as in the log. Names in the database (the shop, its accounts, payers) are removed
everywhere; of web addresses only the host stays. The bundle contains no message, no payment and no key.
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

from daemon.doctor import checks
from daemon.doctor.checks import System, open_database
from daemon.store.upkeep import inspect
from parsers.masking import mask_text

LOG_BYTES: Final = 256 * 1024
"""Bytes from the end of each log file."""
LOG_FILES: Final = 6
NAMES: Final = 20_000
"""Number of newest payer names to remove."""
_NAME_CHARACTERS_MIN: Final = 3


def files(system: System, document: dict[str, Any]) -> dict[str, bytes]:
    """Return the content of every file of the bundle by name."""
    try:
        with open_database(system) as reader:
            known = inspect.names(reader, NAMES)
    except inspect.UnreadableShop:
        known = []
    hidden = sorted({n for n in known if len(n) >= _NAME_CHARACTERS_MIN}, key=len, reverse=True)
    names = re.compile("|".join(re.escape(name) for name in hidden), re.IGNORECASE) if hidden else None

    def hide(text: str) -> str:
        if names is not None:
            text = names.sub("***", text)
        return "\n".join(mask_text(line) for line in text.split("\n"))

    made: dict[str, Callable[[], str]] = {
        "doctor.json": lambda: json.dumps(document, ensure_ascii=False, indent=1),
        "versions.txt": lambda: _versions(system),
        "schema.sql": lambda: _asked(system, _schema),
        "counts.json": lambda: _asked(system, lambda it: json.dumps(inspect.counts(it), indent=1)),
        "config.toml": lambda: _settings(system),
        "udev.txt": lambda: "\n".join(_udev(system.root)),
        "security.txt": lambda: _security(system),
    }
    found = {name: hide(make()).encode() for name, make in made.items()}
    for path in _logs(system):
        found[f"log/{path.name}"] = hide(_end(path)).encode()
    return found


def write(target: Path, content: dict[str, bytes]) -> int:
    """Write a .tar.gz that only its owner may read, and return its size in bytes.

    Raises:
        OSError: The file exists already, or cannot be written.
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


def _versions(system: System) -> str:
    sqlite, fixed = inspect.sqlite_version()
    running = "not running" if system.running is None else system.running.version
    return "\n".join(
        (
            f"momo {system.version}",
            f"daemon {running}",
            f"python {sys.version}",
            f"sqlite {sqlite} (free of the WAL-reset bug: {fixed})",
            f"system {platform.platform()}",
        )
    )


def _asked(system: System, look: Callable[[Any], str]) -> str:
    try:
        with open_database(system) as reader:
            return look(reader)
    except inspect.UnreadableShop as error:
        return str(error)


def _schema(reader: Any) -> str:
    has, known = inspect.schema(reader)
    return "\n".join([f"-- schema {has}, this program knows {known}", *inspect.tables(reader)])


def _settings(system: System) -> str:
    """Return the settings with only numbers and true/false; other values may be private and are masked."""
    try:
        lines = Path(system.shop.config).read_text("utf-8", "replace").splitlines()
    except OSError as error:
        return f"# {error}"
    masked = []
    for line in lines:
        key, equals, value = line.partition("=")
        is_plain = bool(re.fullmatch(r"\s*(true|false|[0-9_.\[\], ]+)\s*", value))
        masked.append(line if not equals or is_plain else f'{key}= "***"')
    return "\n".join(masked)


def _udev(root: Path) -> Iterator[str]:
    for port in sorted((root / "sys" / "class" / "tty").glob("tty[UA][SC]*")):
        try:
            number = (port / "dev").read_text().strip()
            noted = (root / "run" / "udev" / "data" / f"c{number}").read_text("utf-8", "replace")
        except OSError:
            continue
        yield f"{port.name} {number}"
        for line in noted.splitlines():
            # A serial number identifies one modem, and may contain its IMEI.
            if line.startswith("E:ID_") and "SERIAL" not in line:
                yield f"  {line}"


def _security(system: System) -> str:
    program = shutil.which("systemd-analyze")
    found = [str(path) for path, _ in checks.installed_units(system, "service") if path.suffix == ".service"]
    if program is None or not found:
        return "no systemd unit file" if program else "systemd-analyze is not installed"
    try:
        done = subprocess.run(  # noqa: S603 -- systemd's own program, on files of momo's name
            [program, "security", "--offline=true", "--no-pager", *found],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout or done.stderr


def _logs(system: System) -> list[Path]:
    found = [path for path in Path(system.shop.log).glob("*") if path.is_file()]
    state = Path(system.shop.state)
    # Crash files of the daemon and of the command line.
    found += [*state.glob("crash-*.txt"), *state.glob("crash/*.log")]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[:LOG_FILES]


def _end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            return file.read(LOG_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return str(error)
