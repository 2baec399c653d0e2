"""Reading and checking of `config.toml` by the rows of `config`. An unknown key is an error, not a silent default."""

import os
import re
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from daemon.core.errors import MomoError
from daemon.runtime.config import (
    SOURCES,
    Config,
    Http,
    Row,
    SourceSettings,
    fault_of_sources,
    rows_of,
    sections,
)
from daemon.runtime.private_files import other_writers
from daemon.wire import HOME_VARIABLE

SYSTEM_PATH: Final = "/etc/momo/momo.toml"
"""Settings for all shops of a machine; ignored if `MOMO_HOME` is set."""


class ConfigError(MomoError):
    """`config.toml` is not valid; the text names the file, the line and the nearest known key.

    Attributes:
        what: The text without the file and the line; empty if it has none.
    """

    what: str = ""


Values = dict[str, dict[str, Any]]
"""Section -> field -> value, for the values that a file sets; `sources` has one field, its list."""


def load_config(path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH) -> Config:
    """Load the settings; without a file, return the defaults.

    With `MOMO_HOME` in `environ` the machine's settings in `system_path` are ignored; else the shop's settings override
    them, key by key.

    Raises:
        ConfigError: A file cannot be read, is not TOML, or has an unknown key or invalid value.
    """
    merged: Values = {}
    for file in _files(path, environ, system_path):
        for section, values in file.values().items():
            merged.setdefault(section, {}).update(values)
    return _config(merged)


def check_writers(path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH) -> None:
    """Check that no other user may write the settings: they name programs that the daemon runs, and its permitted users.

    Raises:
        ConfigError: Another user may; the text has the command that removes the permission.
    """
    for file in (path, *(() if environ.get(HOME_VARIABLE) else (system_path,))):
        try:
            fault = other_writers(file, os.getuid())
        except OSError:
            continue  # missing is allowed, and `load_config` names a file that cannot be read
        if fault:
            raise ConfigError(f"{fault} (the daemon does not use settings that others may change)")


def config_sources(
    path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH
) -> dict[str, str]:
    """Return `section.key` -> `FILE, line N` for each value set in the files, of the file that counts.

    Raises:
        ConfigError: As `load`.
    """
    found = {}
    for file in _files(path, environ, system_path):
        for section, values in file.values().items():
            for name in () if section == SOURCES else values:
                key = f"{section}.{name.removesuffix('_')}"
                found[key] = file.place(key)
    return found


def place_of(text: str, name: str) -> int | None:
    """Return the line, from 1, of a section or `section.key`; None if it is written in an unusual form."""
    return _File(text, "").line_of(name)


def _files(path: str, environ: Mapping[str, str], system_path: str) -> "list[_File]":
    found = []
    for each in [path] if environ.get(HOME_VARIABLE) else [system_path, path]:
        try:
            text = Path(each).read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{each}: cannot be read: {error}") from error
        found.append(_File(text, each))
    return found


def parse_config(text: str, path: str = "config.toml") -> Config:
    """Load settings from a text; `path` is used in error messages.

    Raises:
        ConfigError: As `load`.
    """
    return _config(_File(text, path).values())


def _config(values: Values) -> Config:
    kinds = sections()
    plain = {name: kinds[name](**values[name]) for name in values if name != SOURCES}
    config = Config(**plain, **values.get(SOURCES, {}))
    check_exposure(config.http, config.http.bind)
    return config


def check_exposure(http: Http, address: str) -> None:
    """Reject plain HTTP on a network address: keys and payers' data would be sent unencrypted.

    `address` is `HOST:PORT` to listen on, or `off`.

    Raises:
        ConfigError: Other machines can reach the address, and `insecure_http` is not set.
    """
    if address == "off" or http.tls_cert or http.insecure_http or is_inside(address):
        return
    raise ConfigError(
        f"{address} can be reached from other machines, without encryption: set tls_cert and tls_key under [http], "
        "listen on 127.0.0.1 behind a TLS proxy, or allow it with insecure_http = true under [http], or --insecure-http "
        "beside --http"
    )


def is_inside(address: str) -> bool:
    """Return whether only this machine can reach `HOST:PORT`."""
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _File:
    """One settings file: checked values, and errors with line numbers."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path

    def values(self) -> Values:
        """Return the values that the file sets."""
        try:
            raw = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            where = f"{self._path}, line {line.group(1)}" if line else self._path
            raise ConfigError(f"{where}: not valid TOML: {error}") from error
        kinds = sections()
        found: Values = {}
        for section, table in raw.items():
            if section == SOURCES:
                found[section] = {SOURCES: self._sources(table)}
                continue
            if section not in kinds:
                raise self._unknown("section", section, section, [*kinds, SOURCES])
            if not isinstance(table, dict):
                raise self._error(
                    section, f"{section} is a section: write its keys below a line [{section}]"
                )
            found[section] = self._section(rows_of(section, kinds[section]), section, table)
        return found

    def _sources(self, tables: Any) -> tuple[SourceSettings, ...]:
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            raise self._error(
                SOURCES, "sources is a list: begin each source with a line [[sources]]"
            )
        rows = rows_of(SOURCES, SourceSettings)
        read = [self._section(rows, SOURCES, table) for table in tables]
        found = [SourceSettings(**values) for values in read]
        key, why = fault_of_sources(
            [(one, frozenset(keys)) for one, keys in zip(found, read, strict=True)]
        )
        if why:
            raise self._error(f"{SOURCES}.{key}" if key else SOURCES, why)
        return tuple(found)

    def _section(
        self, rows: Mapping[str, Row], section: str, table: Mapping[str, Any]
    ) -> dict[str, Any]:
        found = {}
        for key, value in table.items():
            if key not in rows:
                raise self._unknown("key", key, f"{section}.{key}", list(rows))
            found[rows[key].field] = self._value(rows[key], rows[key].kind, value)
        return found

    def _value(self, row: Row, kind: Any, value: Any) -> Any:
        if get_origin(kind) is tuple:
            if not isinstance(value, list):
                raise self._wrong(row, "takes a list, in square brackets")
            if not value and row.setting.filled:
                raise self._wrong(row, "takes at least one value")
            return tuple(self._value(row, get_args(kind)[0], item) for item in value)
        if kind is float and type(value) is int:
            value = float(value)
        kinds = get_args(kind) or (kind,)
        if type(value) not in kinds:
            names = " or ".join(_TYPE_NAMES[kind] for kind in kinds)
            raise self._wrong(row, f"takes {names}, not {value!r}")
        why = row.setting.rule(value)
        if why:
            shown = value != "" and row.setting.quoted
            raise self._wrong(row, f"{why}, not {value!r}" if shown else why)
        return value

    def _unknown(self, what: str, key: str, name: str, known: list[str]) -> ConfigError:
        import difflib  # noqa: PLC0415 -- only for a misspelled key

        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        return self._error(name, f"unknown {what} {key}; {hint}")

    def _wrong(self, row: Row, why: str) -> ConfigError:
        return self._error(row.key, f"{row.name} {why}")

    def _error(self, name: str, what: str) -> ConfigError:
        error = ConfigError(f"{self.place(name)}: {what}")
        error.what = what
        return error

    def place(self, name: str) -> str:
        """Return `FILE, line N` of a key, or of its section."""
        line = self.line_of(name) or self.line_of(name.partition(".")[0])
        return f"{self._path}, line {line}" if line else self._path

    def line_of(self, name: str) -> int | None:
        """Return the line of a section or `section.key`, None if it is written in an unusual form."""
        inside = ""
        for number, line in enumerate(self._text.splitlines(), 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
            entry = re.match(r"\s*([\w.\"' -]+?)\s*=", line)
            if header:
                inside = re.sub(r"[\s\"']", "", header.group(1))
                here = inside
            elif entry:
                here = f"{inside}.{entry.group(1)}".lstrip(".")
                here = re.sub(r"[\s\"']", "", here)
            else:
                continue
            if here == name:
                return number
        return None


_TYPE_NAMES: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
}
