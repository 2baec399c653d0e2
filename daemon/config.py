"""The settings: `config.toml`, read and checked once, at start. An unknown key is an error, not a silent default.

The dataclasses are the documentation of record: `docs/configuration.md` is held to them by a test.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

from daemon.core.delivery import SCHEDULE_S
from daemon.core.errors import MomoError
from daemon.wire import DEFAULT_HTTP


class ConfigError(MomoError):
    """`config.toml` cannot be used; the text names file, line and the nearest known key."""


@dataclass(frozen=True, slots=True)
class Http:
    """Where the API listens, and what customers see of it."""

    bind: str = DEFAULT_HTTP
    public_base_url: str = ""


@dataclass(frozen=True, slots=True)
class Webhooks:
    """How deliveries go out (decisions.md section 7)."""

    allow_private_hosts: tuple[str, ...] = ()
    allow_private_cidrs: tuple[str, ...] = ()
    ca_file: str = ""
    retry_schedule_s: tuple[float, ...] = tuple(float(step) for step in SCHEDULE_S)
    jitter: float = 0.2
    connect_timeout_s: float = 5.0
    timeout_s: float = 15.0
    workers: int = 10
    per_endpoint: int = 2
    retry_4xx: tuple[int, ...] = ()
    default_url: str = ""


@dataclass(frozen=True, slots=True)
class Modems:
    """How phones are read."""

    poll_s: float = 30.0
    sweep_s: float = 300.0
    heartbeat_s: float = 30.0
    command_timeout_s: float = 30.0
    delete: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is too much. 0 switches a rate limit off."""

    live_per_min: int = 600
    test_per_min: int = 300
    burst: int = 60
    sms_per_number_hour: int = 3
    reconcile_misses_15min: int = 10
    connections: int = 512


@dataclass(frozen=True, slots=True)
class Smtp:
    """Where notices by e-mail go out; the password is in the secret store."""

    host: str = ""
    port: int = 587
    from_: str = ""
    to: str = ""
    starttls: bool = True


@dataclass(frozen=True, slots=True)
class OpenCollections:
    """The webhook endpoints of the shop."""

    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Transactions:
    """Rules of payment requests (decisions.md section 2)."""

    late_policy: str = "accept"
    code_sms_at: str = "both"
    public_sms: bool = False


@dataclass(frozen=True, slots=True)
class Trust:
    """How suspicious to be (decisions.md section 4)."""

    balance_check: str = "review"


@dataclass(frozen=True, slots=True)
class Access:
    """Who else on this machine may use the socket."""

    socket_users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """Hosts that tell whether our own link works."""

    probe_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Secrets:
    """Where the master key is: `auto`, `keyring` or `file`."""

    store: str = "auto"


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, with the defaults of cli.md's contract."""

    http: Http = field(default_factory=Http)
    webhooks: Webhooks = field(default_factory=Webhooks)
    modems: Modems = field(default_factory=Modems)
    limits: Limits = field(default_factory=Limits)
    smtp: Smtp = field(default_factory=Smtp)
    open_collections: OpenCollections = field(default_factory=OpenCollections)
    transactions: Transactions = field(default_factory=Transactions)
    trust: Trust = field(default_factory=Trust)
    access: Access = field(default_factory=Access)
    network: Network = field(default_factory=Network)
    secrets: Secrets = field(default_factory=Secrets)


CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "transactions.late_policy": ("accept", "review", "reject"),
    "transactions.code_sms_at": ("both", "request", "verified", "never"),
    "trust.balance_check": ("review", "warn", "off"),
    "secrets.store": ("auto", "keyring", "file"),
}

_POSITIVE: Final = frozenset(
    {
        "webhooks.connect_timeout_s",
        "webhooks.timeout_s",
        "webhooks.workers",
        "webhooks.per_endpoint",
        "webhooks.retry_schedule_s",
        "modems.poll_s",
        "modems.sweep_s",
        "modems.heartbeat_s",
        "modems.command_timeout_s",
        "limits.reconcile_misses_15min",
        "limits.connections",
        "smtp.port",
    }
)


def load(path: str, environ: Mapping[str, str]) -> Config:  # noqa: ARG001 -- variables join when one is needed
    """Read the settings; no file means the defaults.

    Raises:
        ConfigError: The file cannot be read, is no TOML, or has a key or value that we do not know.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    return parse(text, path)


def parse(text: str, path: str = "config.toml") -> Config:
    """Read settings from text; `path` is for the error."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    reader = _Reader(text, path)
    sections = {entry.name: entry for entry in fields(Config)}
    hints = get_type_hints(Config)
    values: dict[str, Any] = {}
    for name, table in raw.items():
        if name not in sections:
            raise reader.unknown(name, None, list(sections))
        if not isinstance(table, dict):
            raise reader.wrong(name, None, "is a section: write it as a table, in square brackets")
        values[name] = _section(hints[name], name, table, reader)
    return Config(**values)


def _section(kind: type, section: str, table: Mapping[str, Any], reader: "_Reader") -> Any:
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    known = {name.rstrip("_"): name for name in hints}
    values = {}
    for key, value in table.items():
        if key not in known:
            raise reader.unknown(key, section, list(known))
        values[known[key]] = _value(hints[known[key]], section, key, value, reader)
    return kind(**values)


def _value(hint: Any, section: str, key: str, value: Any, reader: "_Reader") -> Any:
    name = f"{section}.{key}"
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        if not isinstance(value, list):
            raise reader.wrong(key, section, "takes a list")
        found = tuple(_value(inner, section, key, item, reader) for item in value)
        if name == "webhooks.retry_schedule_s" and not found:
            raise reader.wrong(key, section, "takes at least one step")
        return found
    if hint is bool:
        if not isinstance(value, bool):
            raise reader.wrong(key, section, "takes true or false")
    elif hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise reader.wrong(key, section, "takes a number")
        value = float(value)
        if not value < float("inf"):
            raise reader.wrong(key, section, "takes a finite number")
    elif not isinstance(value, hint) or isinstance(value, bool):
        raise reader.wrong(key, section, f"takes {'a whole number' if hint is int else 'a text'}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(name, section, key, value, reader)
    if name in CHOICES and value not in CHOICES[name]:
        raise reader.wrong(key, section, f"takes one of: {', '.join(CHOICES[name])}")
    if name == "webhooks.allow_private_cidrs":
        try:
            ip_network(value)
        except ValueError as error:
            raise reader.wrong(
                key, section, f"takes networks such as 192.168.1.0/24: {error}"
            ) from error
    return value


def _check_range(name: str, section: str, key: str, value: float, reader: "_Reader") -> None:
    if value < 0 or (name in _POSITIVE and value == 0):
        raise reader.wrong(
            key, section, "must be more than 0" if name in _POSITIVE else "is negative"
        )
    if name == "webhooks.jitter" and value >= 1:
        raise reader.wrong(key, section, "takes 0 to 0.99")


class _Reader:
    """Makes errors that name the line."""

    def __init__(self, text: str, path: str) -> None:
        self._lines = text.splitlines()
        self._path = path

    def unknown(self, key: str, section: str | None, known: list[str]) -> ConfigError:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(known)}"
        what = "section" if section is None else "key"
        return ConfigError(f"{self._where(key, section)}: unknown {what} {key}{hint}")

    def wrong(self, key: str, section: str | None, why: str) -> ConfigError:
        return ConfigError(f"{self._where(key, section)}: {key} {why}")

    def _where(self, key: str, section: str | None) -> str:
        inside: str | None = None
        for number, line in enumerate(self._lines, 1):
            header = re.match(r"\s*\[\s*([^\]]+?)\s*\]", line)
            if header:
                inside = header.group(1).strip("\"'")
                if section is None and inside == key:
                    return f"{self._path}, line {number}"
                continue
            entry = re.match(r"\s*([\"']?)([\w.-]+)\1\s*=", line)
            if not entry:
                continue
            name = entry.group(2) if inside is None else f"{inside}.{entry.group(2)}"
            if name == (key if section is None else f"{section}.{key}"):
                return f"{self._path}, line {number}"
        return self._path
