"""The settings: `config.toml`, read and checked once, at start. An unknown key is an error, not a silent default.

The dataclasses are the record of what there is: `docs/configuration.md` is held to them by a test. `_RULES` says what
a value must be beyond its type. (Over 300 lines: the sections and their rules are one table, kept in one place.)
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from daemon.core.awake import CHOICES, OFF
from daemon.core.checkout import LANGUAGES, MENUS
from daemon.core.delivery import SCHEDULE_S
from daemon.core.errors import MomoError
from daemon.core.texting import CODE_TEXT, RECEIPT_TEXT, STEPS, TextKind, template_fault
from daemon.wire import DEFAULT_HTTP, HOME_VARIABLE
from parsers.phone import read_phone

SYSTEM_PATH: Final = "/etc/momo/momo.toml"
"""Settings for all shops of a machine; not looked at when `MOMO_HOME` is set (cli.md section 1.6)."""

_SECONDS_MAX: Final = 30 * 24 * 3600.0
"""A wait over a month is a mistake: the retries as a whole end after days."""


class ConfigError(MomoError):
    """`config.toml` cannot be used; the text names file, line and the nearest known key."""


@dataclass(frozen=True, slots=True)
class Http:
    """Where the API listens, and what customers see of it."""

    bind: str = DEFAULT_HTTP
    public_base_url: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    insecure_http: bool = False


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
    ports: tuple[str, ...] = ()


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
    user: str = ""
    starttls: bool = True


@dataclass(frozen=True, slots=True)
class Notices:
    """How the owner is told what happened, besides e-mail."""

    desktop: bool = False
    sms_to: str = ""


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
class Sms:
    """What the SMS to customers say."""

    code_text: str = CODE_TEXT
    receipt_text: str = RECEIPT_TEXT
    steps_mtn: str = STEPS["mtn"]
    steps_telecel: str = STEPS["telecel"]
    steps_at: str = STEPS["at"]
    reports: bool = False


@dataclass(frozen=True, slots=True)
class Pages:
    """The checkout page (docs/checkout.md)."""

    languages: tuple[str, ...] = ("en",)
    contact: str = ""
    redirect_hosts: tuple[str, ...] = ()
    client_header: str = ""
    per_min: int = 60
    menu_mtn: str = MENUS["mtn"]
    menu_telecel: str = MENUS["telecel"]
    menu_at: str = MENUS["at"]


@dataclass(frozen=True, slots=True)
class Trust:
    """How suspicious to be (decisions.md section 4)."""

    balance_check: str = "review"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is not money is kept, in days (decisions.md section 10)."""

    attempts_days: int = 60
    deliveries_days: int = 400
    messages_days: int = 396


@dataclass(frozen=True, slots=True)
class Backup:
    """Where copies of the shop go besides its own folder."""

    also_to: str = ""


@dataclass(frozen=True, slots=True)
class Power:
    """Whether the machine may sleep while the shop is served: `off` (it may), `plugged`, `always` (on battery too)."""

    keep_awake: str = OFF


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
    """Where a new master key is kept: `auto`, `keyring` or `file`. One that exists stays where it is."""

    store: str = "auto"


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, with the defaults of cli.md's contract."""

    http: Http = field(default_factory=Http)
    webhooks: Webhooks = field(default_factory=Webhooks)
    modems: Modems = field(default_factory=Modems)
    limits: Limits = field(default_factory=Limits)
    smtp: Smtp = field(default_factory=Smtp)
    notices: Notices = field(default_factory=Notices)
    open_collections: OpenCollections = field(default_factory=OpenCollections)
    transactions: Transactions = field(default_factory=Transactions)
    sms: Sms = field(default_factory=Sms)
    pages: Pages = field(default_factory=Pages)
    trust: Trust = field(default_factory=Trust)
    retention: Retention = field(default_factory=Retention)
    backup: Backup = field(default_factory=Backup)
    power: Power = field(default_factory=Power)
    access: Access = field(default_factory=Access)
    network: Network = field(default_factory=Network)
    secrets: Secrets = field(default_factory=Secrets)


Rule = Callable[[Any], str]
"""Says what is wrong with a value of the right type, "" when nothing is. Of a list it sees each item."""


def _between(low: float, high: float) -> Rule:
    return lambda value: "" if low <= value <= high else f"takes {low:g} to {high:g}"


def _seconds(value: float) -> str:
    return "" if 0 < value <= _SECONDS_MAX else f"takes more than 0 and at most {_SECONDS_MAX:.0f}"


def _one_of(*choices: str) -> Rule:
    return lambda value: "" if value in choices else f"takes one of: {', '.join(choices)}"


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    good = host and port.isascii() and port.isdigit() and int(port) <= 65535
    return "" if good or value == "off" else "takes HOST:PORT, such as 127.0.0.1:8420, or off"


def _url(*schemes: str) -> Rule:
    def check(value: str) -> str:
        try:
            parts = urlsplit(value)
            good = parts.scheme in schemes and parts.hostname and (parts.port or 1)
        except ValueError:
            good = False
        plain = good and "@" not in parts.netloc and not parts.fragment
        return "" if plain or not value else f"takes an address that starts with {schemes[-1]}://"

    return check


def _template(kind: TextKind) -> Rule:
    return lambda value: template_fault(kind, value)


def _steps(value: str) -> str:
    good = 0 < len(value) <= 120 and value.isprintable() and not set("{}") & set(value)
    return "" if good else "takes 1 to 120 plain characters, such as Dial *170#"


def _header(value: str) -> str:
    good = re.fullmatch(r"[A-Za-z0-9-]*", value, re.ASCII)
    return "" if good else "takes the name of a header, such as X-Forwarded-For"


def _contact(value: str) -> str:
    good = len(value) <= 80 and (value.isprintable() or not value)
    return "" if good else "takes one line of at most 80 characters, such as 024 412 4567"


def _host(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", value, re.ASCII):
            return "takes names or IP addresses alone, without https://, port or path"
    return ""


def _network(value: str) -> str:
    try:
        ip_network(value)
    except ValueError as error:
        return f"takes networks such as 192.168.1.0/24 ({error})"
    return ""


def _file(value: str) -> str:
    if not value:
        return ""
    if not value.startswith("/"):
        return "takes a path from the root, such as /etc/momo/ca.pem"
    return "" if Path(value).is_file() else f"names a file that is not there: {value}"


def _folder(value: str) -> str:
    # It need not be there now: a stick comes and goes.
    return (
        ""
        if not value or value.startswith("/")
        else "takes a path from the root, such as /media/stick/momo"
    )


def _port(value: str) -> str:
    # A phone comes and goes, so it need not be there now.
    return "" if value.startswith("/") else "takes paths from the root, such as /dev/ttyUSB1"


def _phone(value: str) -> str:
    good = not value or read_phone(value) is not None
    return "" if good else "takes a phone number, such as 0244124567"


_RULES: Final[dict[str, Rule]] = {
    "http.bind": _address,
    "http.public_base_url": _url("http", "https"),
    "http.tls_cert": _file,
    "http.tls_key": _file,
    "webhooks.allow_private_hosts": _host,
    "webhooks.allow_private_cidrs": _network,
    "webhooks.ca_file": _file,
    "webhooks.retry_schedule_s": _seconds,
    "webhooks.jitter": _between(0, 0.99),
    "webhooks.connect_timeout_s": _seconds,
    "webhooks.timeout_s": _seconds,
    "webhooks.workers": _between(1, 100),
    "webhooks.per_endpoint": _between(1, 100),
    "webhooks.retry_4xx": _between(400, 499),
    "webhooks.default_url": _url("https"),
    "modems.poll_s": _seconds,
    "modems.sweep_s": _seconds,
    "modems.heartbeat_s": _seconds,
    "modems.command_timeout_s": _seconds,
    "modems.ports": _port,
    "limits.live_per_min": _between(0, 1_000_000),
    "limits.test_per_min": _between(0, 1_000_000),
    "limits.burst": _between(0, 1_000_000),
    "limits.sms_per_number_hour": _between(0, 1_000),
    "limits.reconcile_misses_15min": _between(1, 1_000),
    "limits.connections": _between(1, 65_535),
    "smtp.port": _between(1, 65_535),
    "notices.sms_to": _phone,
    "transactions.late_policy": _one_of("accept", "review", "reject"),
    "transactions.code_sms_at": _one_of("both", "request", "verified", "never"),
    "sms.code_text": _template(TextKind.CODE),
    "sms.receipt_text": _template(TextKind.RECEIPT),
    "sms.steps_mtn": _steps,
    "sms.steps_telecel": _steps,
    "sms.steps_at": _steps,
    "pages.languages": _one_of(*LANGUAGES),
    "pages.contact": _contact,
    "pages.redirect_hosts": _host,
    "pages.client_header": _header,
    "pages.per_min": _between(0, 1_000_000),
    "pages.menu_mtn": _steps,
    "pages.menu_telecel": _steps,
    "pages.menu_at": _steps,
    "trust.balance_check": _one_of("review", "warn", "off"),
    # A replay and a proof that nothing is missing look back 31 days.
    "retention.attempts_days": _between(1, 36_500),
    "retention.deliveries_days": _between(35, 36_500),
    "retention.messages_days": _between(35, 36_500),
    "backup.also_to": _folder,
    "power.keep_awake": _one_of(*CHOICES),
    "network.probe_hosts": _host,
    "secrets.store": _one_of("auto", "keyring", "file"),
}
_NEVER_EMPTY: Final = frozenset({"webhooks.retry_schedule_s", "pages.languages"})

Values = dict[str, dict[str, Any]]
"""Section -> field -> value, of those that a file sets."""


def load(path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH) -> Config:
    """Read the settings; no file means the defaults.

    Args:
        path: The shop's `config.toml`.
        environ: Says by `MOMO_HOME` whether the machine's settings count too.
        system_path: The machine's settings; the shop's win over them, key by key.

    Raises:
        ConfigError: A file cannot be read, is no TOML, or has a key or value that we do not know.
    """
    merged: Values = {}
    for file in _files(path, environ, system_path):
        for section, values in file.values().items():
            merged.setdefault(section, {}).update(values)
    return _config(merged)


def sources(
    path: str, environ: Mapping[str, str], system_path: str = SYSTEM_PATH
) -> dict[str, str]:
    """Return `section.key` -> `FILE, line N` of what the files set; of two the one that counts.

    Raises:
        ConfigError: As `load`.
    """
    found = {}
    for file in _files(path, environ, system_path):
        for section, values in file.values().items():
            for name in values:
                key = f"{section}.{name.removesuffix('_')}"
                found[key] = file.place(key)
    return found


def place_of(text: str, name: str) -> int | None:
    """Return the line, from 1, that names a section or `section.key`; None when it is written in some rarer way."""
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


def parse(text: str, path: str = "config.toml") -> Config:
    """Read settings from one text; `path` is for the error.

    Raises:
        ConfigError: As `load`.
    """
    return _config(_File(text, path).values())


def _config(values: Values) -> Config:
    kinds = get_type_hints(Config)
    config = Config(**{section: kinds[section](**values[section]) for section in values})
    check_exposure(config.http, config.http.bind)
    return config


def check_exposure(http: Http, address: str) -> None:
    """Refuse to speak plain HTTP to a network: keys and payers' data would pass in the clear.

    Args:
        http: The section.
        address: `HOST:PORT` that is to be listened on, or `off`.

    Raises:
        ConfigError: The host is not this machine alone, and `insecure_http` does not allow it.
    """
    if address == "off" or http.tls_cert or http.insecure_http or is_inside(address):
        return
    raise ConfigError(
        f"{address} can be reached from other machines, without encryption: name a certificate with "
        "tls_cert and tls_key under [http], listen on 127.0.0.1 behind a TLS proxy, or allow it: insecure_http = true there, or --insecure-http "
        "beside --http"
    )


def is_inside(address: str) -> bool:
    """Say whether `HOST:PORT` can be reached from this machine alone."""
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _File:
    """One file: its text turned into checked values, and errors that name the line."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path

    def values(self) -> Values:
        """Return what the file sets."""
        try:
            raw = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"at line (\d+)", str(error))
            where = f"{self._path}, line {line.group(1)}" if line else self._path
            raise ConfigError(f"{where}: not valid TOML: {error}") from error
        kinds = get_type_hints(Config)
        found: Values = {}
        for section, table in raw.items():
            if section not in kinds:
                raise self._unknown("section", section, section, list(kinds))
            if not isinstance(table, dict):
                raise self._error(
                    section, f"{section} is a section: write [{section}] above its keys"
                )
            found[section] = self._section(kinds[section], section, table)
        return found

    def _section(self, kind: type, section: str, table: Mapping[str, Any]) -> dict[str, Any]:
        hints = get_type_hints(kind)
        # `from` is a word of Python, so its field is `from_`.
        known = {entry.name.removesuffix("_"): entry.name for entry in fields(kind)}
        found = {}
        for key, value in table.items():
            name = f"{section}.{key}"
            if key not in known:
                raise self._unknown("key", key, name, list(known))
            found[known[key]] = self._value(hints[known[key]], name, value)
        return found

    def _value(self, hint: Any, name: str, value: Any) -> Any:
        if get_origin(hint) is tuple:
            if not isinstance(value, list):
                raise self._wrong(name, "takes a list, in square brackets")
            if not value and name in _NEVER_EMPTY:
                raise self._wrong(name, "takes at least one")
            return tuple(self._value(get_args(hint)[0], name, item) for item in value)
        if hint is float and type(value) is int:
            value = float(value)
        if type(value) is not hint:
            raise self._wrong(name, f"takes {_TYPE_NAMES[hint]}, not {value!r}")
        why = _RULES[name](value) if name in _RULES else ""
        if why:
            raise self._wrong(name, f"{why}, not {value!r}" if value != "" else why)
        return value

    def _unknown(self, what: str, key: str, name: str, known: list[str]) -> ConfigError:
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
        return self._error(name, f"unknown {what} {key}; {hint}")

    def _wrong(self, name: str, why: str) -> ConfigError:
        return self._error(name, f"{name.partition('.')[2]} {why}")

    def _error(self, name: str, what: str) -> ConfigError:
        return ConfigError(f"{self.place(name)}: {what}")

    def place(self, name: str) -> str:
        """Return `FILE, line N` of a key, or of its section."""
        line = self.line_of(name) or self.line_of(name.partition(".")[0])
        return f"{self._path}, line {line}" if line else self._path

    def line_of(self, name: str) -> int | None:
        """Return the line that names a section or `section.key`, None when it is written in some rarer way."""
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
