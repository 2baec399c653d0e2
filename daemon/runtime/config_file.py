"""Reading, checking and editing of `config.toml` by the rows of `config`. An unknown key is an error, not a silent default."""

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from msgspec import Struct

from daemon import wire
from daemon.core.errors import MomoError
from daemon.runtime.config import (
    NO_FILE,
    SOURCES,
    Config,
    Http,
    SettingRow,
    SourceSettings,
    all_rows,
    fault_of_sources,
    folder_elsewhere,
    rows_of,
    sections,
    value_of,
)
from daemon.runtime.files import other_writers
from daemon.wire import HOME_VARIABLE

SYSTEM_PATH: Final = "/etc/momo/momo.toml"
"""Settings for all shops of a machine; ignored if `MOMO_HOME` is set."""


class ConfigError(MomoError):
    """`config.toml` is not valid; the text names the file, the line and the nearest known key.

    Attributes:
        what: The text without the file and the line; empty if it has none.
    """

    what: str = ""


class SettingsState(Struct):
    """How the settings files stand to the settings of a running daemon.

    Attributes:
        found: What the files said at the last look: settings, or why they cannot be used.
        waiting: The changed settings that take effect at the next start.
        unwatched: Why changes of the files are noticed only once a minute; empty if they are noticed at once.
        notified: The owner was notified of a problem that has not ended; None until that is known.
    """

    found: Config | str = ""
    waiting: tuple[str, ...] = ()
    unwatched: str = ""
    notified: bool | None = None

    @property
    def problem(self) -> str:
        """Why the files cannot be used, with file and line; empty if they can."""
        return self.found if isinstance(self.found, str) else ""


Values = dict[str, dict[str, Any]]
"""Section -> field -> value, for the values that a file sets; `sources` has one field, its list."""


def load_config(
    path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH, *, absent_files: bool = False
) -> Config:
    """Load the settings; without a file, return the defaults.

    With `absent_files`, the files that settings name need not be there yet.

    With `MOMO_HOME` in `environ` the machine's settings in `system_path` are ignored; else the shop's settings override
    them, key by key.

    Raises:
        ConfigError: A file cannot be read, is not TOML, or has an unknown key or invalid value.
    """
    merged: Values = {}
    for file in _files(path, environ, system_path):
        file.absent_files = absent_files
        for section, values in file.values().items():
            merged.setdefault(section, {}).update(values)
    return _config(merged)


def settings_files(path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH) -> tuple[str, ...]:
    """Return the paths of the settings files, those of the machine first; they need not exist."""
    return (path,) if environ.get(HOME_VARIABLE) else (system_path, path)


def check_writers(path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH) -> None:
    """Check that no other user may write the settings: they name programs that the daemon runs, and its permitted users.

    Raises:
        ConfigError: Another user may; the text has the command that removes the permission.
    """
    for file in settings_files(path, environ, system_path):
        try:
            fault = other_writers(file, os.getuid())
        except OSError:
            continue  # missing is allowed, and `load_config` names a file that cannot be read
        if fault:
            raise ConfigError(f"{fault} (the daemon does not use settings that others may change)")


def config_sources(path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH) -> dict[str, str]:
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
    for each in settings_files(path, environ, system_path):
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
        self.absent_files = False

    def values(self) -> Values:
        """Return the values that the file sets."""
        try:
            raw = tomllib.loads(self._text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
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
                raise self._error(section, f"{section} is a section: write its keys below a line [{section}]")
            found[section] = self._section(rows_of(section, kinds[section]), section, table)
        return found

    def _sources(self, tables: Any) -> tuple[SourceSettings, ...]:
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            raise self._error(SOURCES, "sources is a list: begin each source with a line [[sources]]")
        rows = rows_of(SOURCES, SourceSettings)
        read = [self._section(rows, SOURCES, table) for table in tables]
        found = [SourceSettings(**values) for values in read]
        key, why = fault_of_sources([(one, frozenset(keys)) for one, keys in zip(found, read, strict=True)])
        if why:
            raise self._error(f"{SOURCES}.{key}" if key else SOURCES, why)
        return tuple(found)

    def _section(self, rows: Mapping[str, SettingRow], section: str, table: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for key, value in table.items():
            if key not in rows:
                raise self._unknown("key", key, f"{section}.{key}", list(rows))
            found[rows[key].field] = self._value(rows[key], rows[key].kind, value)
        return found

    def _value(self, row: SettingRow, kind: Any, value: Any) -> Any:
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
        if why and not (self.absent_files and why == NO_FILE):
            shown = value != "" and row.setting.quoted
            raise self._wrong(row, f"{why}, not {value!r}" if shown else why)
        return value

    def _unknown(self, what: str, key: str, name: str, known: list[str]) -> ConfigError:
        import difflib  # noqa: PLC0415 -- only for a misspelled key

        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        return self._error(name, f"unknown {what} {key}; {hint}")

    def _wrong(self, row: SettingRow, why: str) -> ConfigError:
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


_TYPE_NAMES: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


# Editing, for `momo config` and the dashboard. A change edits only the lines of its key; comments and order stay. The edited
# text is read again, and saved only if exactly that key has changed.


class NoSuchKey(MomoError):
    """There is no setting of this name; the text names the nearest one."""


class WrongValue(ConfigError):
    """The value given for a setting is wrong; the file is valid and was not changed."""


class CannotEdit(MomoError):
    """The file is written in a form that this program does not edit; it must be edited by hand."""


def show_settings(places: wire.Places, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return all settings as `{key, value, default, origin, meaning, changed_by, live}`.

    `origin` is `default` or `FILE, line N`, `changed_by` who may change it in the dashboard, and `live` whether a change
    acts at once.

    Raises:
        ConfigError: A file is invalid.
    """
    config = load_config(places.config, environ)
    set_in = config_sources(places.config, environ)
    return [
        {
            "key": key,
            "value": as_typed(value_of(config, row)),
            "default": as_typed(row.default),
            "origin": set_in.get(key, "default"),
            "meaning": row.plain_meaning,
            "changed_by": row.setting.by,
            "live": row.setting.live,
        }
        for key, row in all_rows().items()
    ]


def get_setting(places: wire.Places, environ: Mapping[str, str], key: str) -> dict[str, Any]:
    """Return one setting.

    Raises:
        NoSuchKey: There is no such setting.
        ConfigError: A file is invalid.
    """
    find_row(key)
    return next(row for row in show_settings(places, environ) if row["key"] == key)


def change_setting(places: wire.Places, key: str, value: str | None, *, dry_run: bool = False) -> dict[str, Any]:
    """Set one setting in the shop's own file, or remove it from the file if `value` is None.

    With `dry_run` nothing is written. A missing file is created. `value` is as typed: a text, a number, true or false,
    a list as TOML or separated by commas. Return `{key, value, old, path, changed, live, warning}`; `warning` is empty
    without one.

    Raises:
        NoSuchKey: There is no such setting.
        WrongValue: The value is invalid, or a folder for second copies that cannot be used.
        ConfigError: The file has another error.
        CannotEdit: The file must be edited by hand.
    """
    row = find_row(key)
    path, text = _own_file(places)
    before = None
    with contextlib.suppress(ConfigError):  # an invalid file, which this change may correct
        before = as_typed(value_of(parse_config(text), row))
    new = _edited(text, key, None if value is None else _literal(row.kind, value))
    after = as_typed(value_of(_checked(text, new, str(path), row), row))
    was, is_now = tomllib.loads(text), tomllib.loads(new)
    section, _, name = key.partition(".")
    for values in (was, is_now):
        values.get(section, {}).pop(name, None)
        if not values.get(section):
            values.pop(section, None)
    if was != is_now:
        raise CannotEdit(f"changing {key} would change other settings too; edit the file by hand")
    warning = ""
    if new != text and value and row.setting.rule is folder_elsewhere:
        warning = _check_elsewhere(places, key, Path(after), dry_run=dry_run)
    if new != text and not dry_run:
        _write(path, new)
    return {
        "key": key,
        "value": after,
        "old": before,
        "path": str(path),
        "changed": new != text,
        "live": row.setting.live,
        "warning": warning,
    }


def _check_elsewhere(places: wire.Places, key: str, folder: Path, *, dry_run: bool) -> str:
    """Check a folder for second copies, and create it on another disk if only its last part is missing.

    On the shop's disk nothing is created: the path may be the mount point of a stick that is not plugged in. Return a
    warning if the folder is on the shop's own disk, else "".

    Raises:
        WrongValue: The folder does not exist, and is not created.
    """
    home = Path(places.home)
    while not home.exists():
        home = home.parent
    missing = "plug in the stick, or correct the path; nothing was changed"
    try:
        if folder.is_dir():
            same = disk_of(folder) == disk_of(home)
            where = f"{folder} is on the same disk as the shop"
            return f"{where}: if the disk fails, the copies are lost too" if same else ""
        if not folder.parent.is_dir():
            raise WrongValue(f"{key}: the folder {folder.parent} does not exist: {missing}")
        if disk_of(folder.parent) == disk_of(home):
            why = "does not exist, and would be on the shop's own disk"
            raise WrongValue(f"{key}: the folder {folder} {why}: {missing}")
        if not dry_run:
            folder.mkdir(0o700)
    except OSError as error:
        why = f"cannot be used: {error.strerror}"
        raise WrongValue(f"{key}: the folder {folder} {why}; nothing was changed") from error
    return ""


def disk_of(folder: Path) -> int:
    """Return the number of the file system of a folder."""
    return folder.stat().st_dev


def _checked(old: str, new: str, path: str, row: SettingRow) -> Config:
    """Return the settings of the changed text; an error that the old text does not have is that of the value."""
    try:
        return parse_config(new, path)
    except ConfigError as error:
        try:
            parse_config(old, path)
        except ConfigError:
            raise error from None
        if not error.what:
            raise
        what = error.what if error.what.startswith(f"{row.name} ") else f"{row.name}: {error.what}"
        example = row.default
        if isinstance(example, int | float):
            such = f", such as {str(example).removesuffix('.0')}, not"
            what = re.sub(r"^(\S+ takes a (?:whole )?number), not", rf"\1{such}", what)
        raise WrongValue(f"{row.section}.{what}; nothing was changed") from error


def add_hilink(places: wire.Places, url: str) -> dict[str, Any]:
    """Add a HiLink source to the shop's own file, unless one with this address is there.

    Return `{name, url, path, changed}`.

    Raises:
        ConfigError: The address is invalid, or the file has another error.
    """
    path, text = _own_file(places)
    before = parse_config(text, str(path)).sources
    known = next((one for one in before if one.url == url and one.kind == "hilink"), None)
    if known is not None:
        return {"name": known.name, "url": url, "path": str(path), "changed": False}
    names = {one.name for one in before}
    named = chain(["stick"], (f"stick-{number}" for number in count(2)))
    name = next(one for one in named if one not in names)
    return {"url": url, **add_source(places, {"name": name, "kind": "hilink", "url": url})}


def add_source(places: wire.Places, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Add an entry of `[[sources]]` to the shop's own file, unless an equal one is there.

    Return `{name, path, changed}`. `entry` has keys and values, such as `{"name": "phone1", "kind": "android",
    "networks": ["mtn"]}`.

    Raises:
        ConfigError: A value is invalid, the name is taken, or the file has another error.
    """
    path, text = _own_file(places)
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in entry.items()]
    done = {"name": entry.get("name"), "path": str(path)}
    if any(each == dict(entry) for each in tomllib.loads(text).get("sources", ())):
        return {**done, "changed": False}
    new = f"{text}{_gap(text)}[[sources]]\n{''.join(lines)}"
    parse_config(new, str(path))
    _write(path, new)
    return {**done, "changed": True}


def remove_source(places: wire.Places, name: str) -> dict[str, Any]:
    """Remove the entry of `[[sources]]` with this name from the shop's own file; return `{name, path, changed}`.

    Raises:
        NoSuchKey: There is no such source.
        ConfigError: The file has an error.
        CannotEdit: The file must be edited by hand.
    """
    path, text = _own_file(places)
    before = parse_config(text, str(path))
    if name not in [each.name for each in before.sources]:
        names = ", ".join(each.name for each in before.sources) or "none"
        raise NoSuchKey(f"there is no source {name!r} in {path}; there are: {names}")
    # A section begins at a line with a bracket; text before the first one belongs to none.
    blocks = re.split(r"(?m)^(?=[ \t]*\[)", text)
    kept = [block for block in blocks if not _is_source(block, name)]
    new = "".join(kept)
    wanted = tomllib.loads(text)
    wanted["sources"] = [each for each in wanted["sources"] if each.get("name") != name]
    if tomllib.loads(new) != {key: value for key, value in wanted.items() if value != []}:
        raise CannotEdit(f"the source {name} is written in a form that momo cannot edit: {path}")
    parse_config(new, str(path))
    _write(path, new)
    return {"name": name, "path": str(path), "changed": True}


def _own_file(places: wire.Places) -> tuple[Path, str]:
    """Return the shop's own settings file, and its text; empty if there is none."""
    path = Path(places.config)
    return path, path.read_text(encoding="utf-8") if path.exists() else ""


def _is_source(block: str, name: str) -> bool:
    try:
        found = tomllib.loads(block).get("sources", ())
    except tomllib.TOMLDecodeError:
        return False  # a list over several lines
    return isinstance(found, list) and [each.get("name") for each in found] == [name]


def validate_settings(places: wire.Places, environ: Mapping[str, str], file: str | None) -> dict[str, Any]:
    """Validate the settings, or another settings file; return `{path, valid: true}`.

    Raises:
        ConfigError: The settings are invalid; the text names file, line and the nearest known key.
    """
    if file is None:
        load_config(places.config, environ)
        return {"path": places.config, "valid": True}
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    parse_config(text, file)
    return {"path": file, "valid": True}


def find_row(key: str) -> SettingRow:
    """Return the row of a setting.

    Raises:
        NoSuchKey: There is no such setting.
    """
    rows = all_rows()
    if key not in rows:
        import difflib  # noqa: PLC0415 -- only for a misspelled key

        near = difflib.get_close_matches(key, rows, n=1)
        hint = f"did you mean {near[0]}?" if near else "momo config show lists all settings"
        raise NoSuchKey(f"there is no setting {key!r}; {hint}")
    return rows[key]


def as_typed(value: Any) -> Any:
    """Return a value as the file has it: a list where the settings have a tuple."""
    return list(value) if isinstance(value, tuple) else value


def _literal(kind: Any, text: str) -> str:
    """Return the value in TOML syntax, without checking it."""
    if kind is str:
        return _text(text)
    if get_origin(kind) is tuple and not text.lstrip().startswith("["):
        item = get_args(kind)[0]
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return f"[{', '.join(_literal(item, part) for part in parts)}]"
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return _text(text)  # refused later, with the expected type
    return text.strip()


def _text(text: str) -> str:
    # TOML's basic strings are JSON strings, except for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _edited(text: str, key: str, literal: str | None) -> str:
    """Return the text with a value, or without one for None."""
    section, _, name = key.partition(".")
    lines = text.splitlines(keepends=True)
    if (found := _lines_of(text, lines, key)) is not None:
        first, last = found
        line = [] if literal is None else [f"{name} = {literal}\n"]
        return "".join([*lines[:first], *line, *lines[last:]])
    if literal is None:
        return text
    header = place_of(text, section)
    if header is not None:
        if not lines[header - 1].endswith("\n"):
            lines[header - 1] += "\n"
        return "".join([*lines[:header], f"{name} = {literal}\n", *lines[header:]])
    return f"{text}{_gap(text)}[{section}]\n{name} = {literal}\n"


def _gap(text: str) -> str:
    """Return the line ends before a new section."""
    return "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"


def _lines_of(text: str, lines: list[str], key: str) -> tuple[int, int] | None:
    """Return the index of the first line of a key and of the line after its last; a list may span several lines."""
    number = place_of(text, key)
    if number is None:
        return None
    for last in range(number, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[number - 1 : last]))
        except tomllib.TOMLDecodeError:
            continue
        return number - 1, last
    raise CannotEdit(f"{key} is written in a form that momo cannot edit; edit the file by hand")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
