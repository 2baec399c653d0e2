"""The settings in `config.toml`, loaded and checked once, at start. An unknown key is an error, not a silent default.

The structs define all settings and their defaults; a test compares them with `docs/configuration.md`. `_RULES` has the
conditions on values beyond their types.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from msgspec import Struct, field

from daemon.core.errors import MomoError
from daemon.core.limits import LOGO_BYTES_MAX
from daemon.core.payments.checkout import LANGUAGES, MENUS
from daemon.core.payments.payer_texts import (
    CODE_TEXT,
    RECEIPT_TEXT,
    STEPS,
    TextKind,
    template_error,
)
from daemon.core.upkeep.keep_awake import CHOICES, OFF
from daemon.core.webhooks.delivery import SCHEDULE_S
from daemon.runtime.private_files import other_writers
from daemon.runtime.source_settings import (
    NO_SIM,
    SourceSettings,
    fault_of,
    name_fault,
    timezone_fault,
    with_modems,
)
from daemon.wire import DEFAULT_HTTP, HOME_VARIABLE, SourceKind
from parsers.phone import read_phone
from parsers.providers import PROVIDERS

SYSTEM_PATH: Final = "/etc/momo/momo.toml"
"""Settings for all shops of a machine; ignored if `MOMO_HOME` is set."""

_SECONDS_MAX: Final = 30 * 24 * 3600.0
"""Maximum of a waiting time: more than a month is a mistake, because retries end after days."""


LOCALHOST_ORIGINS: Final = "http://localhost:*"
"""In `[http] cors_origins`: pages on the developer's own machine, with test keys only."""


class ConfigError(MomoError):
    """`config.toml` is not valid; the text names the file, the line and the nearest known key.

    Attributes:
        what: The text without the file and the line; empty if it has none.
    """

    what: str = ""


class Http(Struct, frozen=True):
    """Addresses and TLS of the API and the checkout page."""

    bind: str = DEFAULT_HTTP
    public_base_url: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    insecure_http: bool = False
    cors_origins: tuple[str, ...] = ()


class StoreSettings(Struct, frozen=True):
    """Where the shop's data is: in a file of its folder, or in a database on a PostgreSQL server."""

    url: str = ""


class Webhooks(Struct, frozen=True):
    """Sending of webhooks."""

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


class Modems(Struct, frozen=True):
    """Reading of modems."""

    poll_s: float = 30.0
    sweep_s: float = 300.0
    heartbeat_s: float = 30.0
    command_timeout_s: float = 30.0
    delete: bool = True
    ports: tuple[str, ...] = ()


class Limits(Struct, frozen=True):
    """Rate and connection limits. 0 switches a rate limit off."""

    live_per_min: int = 600
    test_per_min: int = 300
    burst: int = 60
    sms_per_number_hour: int = 3
    reconcile_misses_15min: int = 10
    connections: int = 512


class Smtp(Struct, frozen=True):
    """The mail server for notices by e-mail; its password is in the secret store."""

    host: str = ""
    port: int = 587
    from_: str = ""
    to: str = ""
    user: str = ""
    starttls: bool = True


class Notices(Struct, frozen=True):
    """Notices to the owner other than e-mail."""

    desktop: bool = False
    sms_to: str = ""


class OpenCollections(Struct, frozen=True):
    """Webhooks for every payment, with or without a transaction of the shop."""

    enabled: bool = True


class Transactions(Struct, frozen=True):
    """Rules of transactions."""

    late_policy: str = "accept"
    code_sms_at: str = "both"
    public_sms: bool = False


class Sms(Struct, frozen=True):
    """Texts of the SMS to customers."""

    code_text: str = CODE_TEXT
    receipt_text: str = RECEIPT_TEXT
    steps_mtn: str = STEPS["mtn"]
    steps_telecel: str = STEPS["telecel"]
    steps_at: str = STEPS["at"]
    reports: bool = False


class Pages(Struct, frozen=True):
    """The checkout page (docs/checkout.md)."""

    languages: tuple[str, ...] = ("en",)
    contact: str = ""
    logo: str = ""
    colour: str = ""
    redirect_hosts: tuple[str, ...] = ()
    client_header: str = ""
    per_min: int = 60
    menu_mtn: str = MENUS["mtn"]
    menu_telecel: str = MENUS["telecel"]
    menu_at: str = MENUS["at"]


class Trust(Struct, frozen=True):
    """Strictness of the checks of messages."""

    balance_check: str = "review"
    unconfirmed_limit: str | int = "auto"


class Retention(Struct, frozen=True):
    """Days to keep data other than payments."""

    attempts_days: int = 60
    deliveries_days: int = 400
    messages_days: int = 396


class Backup(Struct, frozen=True):
    """Second places for backups (`also_to`) and for the message journal (`messages_to`)."""

    also_to: str = ""
    messages_to: str = ""


class Power(Struct, frozen=True):
    """Keep the machine awake while the daemon runs: `off` (it may sleep), `plugged`, `always` (on battery too)."""

    keep_awake: str = OFF


class Access(Struct, frozen=True):
    """Other users of this machine with access to the socket."""

    socket_users: tuple[str, ...] = ()


class Network(Struct, frozen=True):
    """Hosts that are contacted to test the Internet connection."""

    probe_hosts: tuple[str, ...] = ()


class Hub(Struct, frozen=True):
    """The settings of a branch: whether it sends texts to its hub, and how it checks the hub's certificate."""

    send_texts: bool = False
    ca_file: str = ""


class Secrets(Struct, frozen=True):
    """Place of a new master key: `auto`, `keyring` or `file`. An existing key stays where it is."""

    store: str = "auto"


class Config(Struct, frozen=True):
    """All settings, with their defaults."""

    http: Http = field(default_factory=Http)
    store: StoreSettings = field(default_factory=StoreSettings)
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
    hub: Hub = field(default_factory=Hub)
    sources: tuple[SourceSettings, ...] = ()
    """As configured; `enabled_sources` has the AT modems too."""

    @property
    def enabled_sources(self) -> tuple[SourceSettings, ...]:
        """Where messages come from: the AT modems first, unless they are disabled."""
        return with_modems(self.sources)


Rule = Callable[[Any], str]
"""Returns the error of a value of the right type, "" if it is valid. For a list it gets each item."""


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


def _device(value: str) -> str:
    # The clients append a path to it, and take it apart without checking it again.
    if re.fullmatch(r"[!-~]*", value) is None or set("@?#") & set(value):
        return "takes an address in plain characters, without blanks, @, ? and #"
    return _url("https", "http")(value)


def _origin(value: str) -> str:
    # As browsers send it: lower case, no path, no default port. It is compared as text.
    host = r"([a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:]+\])"
    good = re.fullmatch(rf"https://{host}(:[1-9][0-9]{{0,4}})?", value, re.ASCII)
    if value == LOCALHOST_ORIGINS or (good and not value.endswith(":443")):
        return ""
    return (
        "takes origins as browsers send them, such as https://shop.example (https, lower case, no path, no default "
        f"port), or {LOCALHOST_ORIGINS} for test keys"
    )


def _limit(value: str | int) -> str:
    good = value == "auto" if isinstance(value, str) else 0 <= value <= 1_000_000
    return "" if good else 'takes "auto", or a whole number of cedis from 0 to 1000000'


def _template(kind: TextKind) -> Rule:
    return lambda value: template_error(kind, value)


def _steps(value: str) -> str:
    good = 0 < len(value) <= 120 and value.isprintable() and not set("{}") & set(value)
    return "" if good else "takes 1 to 120 plain characters, such as Dial *170#"


def _header(value: str) -> str:
    good = re.fullmatch(r"[A-Za-z0-9-]*", value, re.ASCII)
    return "" if good else "takes the name of a header, such as X-Forwarded-For"


def _contact(value: str) -> str:
    good = len(value) <= 80 and (value.isprintable() or not value)
    return "" if good else "takes one line of at most 80 characters, such as 024 412 4567"


def _colour(value: str) -> str:
    good = not value or re.fullmatch(r"#[0-9A-Fa-f]{6}", value, re.ASCII)
    return "" if good else "takes # and six hex digits, such as #7a1f5c"


def _logo(value: str) -> str:
    if problem := _file(value):
        return problem
    try:
        data = Path(value).read_bytes() if value else b""
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if len(data) > LOGO_BYTES_MAX:
        return f"takes a picture of at most {LOGO_BYTES_MAX} bytes; this one has {len(data)}"
    return "" if not value or logo_type(data) else "takes a PNG, JPEG, WebP or SVG picture"


def logo_type(data: bytes) -> str:
    """Return the media type of a picture by its first bytes; "" if it is none that browsers show."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "image/svg+xml" if b"<svg" in data[:500] else ""


def _host(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", value, re.ASCII):
            return "takes host names or IP addresses, without https://, port or path"
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
    return "" if Path(value).is_file() else "takes a file that exists"


def _server(value: str) -> str:
    if not value:
        return ""
    parts = urlsplit(value)
    if parts.scheme not in ("postgresql", "postgres"):
        return "takes an address that starts with postgresql://, or nothing for a file"
    # Settings are shown, and copied into reports.
    words = [pair.partition("=")[0] for pair in parts.query.split("&")]
    if ":" in parts.netloc.rpartition("@")[0] or {"password", "sslpassword"} & set(words):
        return (
            "takes no password: write it into a file of libpq (chmod 600) and add ?passfile=/PATH"
        )
    return ""


def _folder(value: str) -> str:
    # The folder need not exist now: it may be on a removable drive.
    return (
        ""
        if not value or value.startswith("/")
        else "takes a path from the root, such as /media/stick/momo"
    )


def _port(value: str) -> str:
    # The port need not exist now: the modem may be unplugged.
    return "" if value.startswith("/") else "takes paths from the root, such as /dev/ttyUSB1"


def _phone(value: str) -> str:
    good = not value or read_phone(value) is not None
    return "" if good else "takes a phone number, such as 0244124567"


_RULES: Final[dict[str, Rule]] = {
    "http.bind": _address,
    "http.public_base_url": _url("http", "https"),
    "http.cors_origins": _origin,
    "http.tls_cert": _file,
    "http.tls_key": _file,
    "store.url": _server,
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
    "pages.logo": _logo,
    "pages.colour": _colour,
    "pages.redirect_hosts": _host,
    "pages.client_header": _header,
    "pages.per_min": _between(0, 1_000_000),
    "pages.menu_mtn": _steps,
    "pages.menu_telecel": _steps,
    "pages.menu_at": _steps,
    "trust.balance_check": _one_of("review", "warn", "off"),
    "trust.unconfirmed_limit": _limit,
    # Replay and the check for missing payments go back 31 days.
    "retention.attempts_days": _between(1, 36_500),
    "retention.deliveries_days": _between(35, 36_500),
    "retention.messages_days": _between(35, 36_500),
    "backup.also_to": _folder,
    "backup.messages_to": _folder,
    "power.keep_awake": _one_of(*CHOICES),
    "network.probe_hosts": _host,
    "hub.ca_file": _file,
    "secrets.store": _one_of("auto", "keyring", "file"),
    "sources.name": name_fault,
    "sources.kind": _one_of(*SourceKind),
    "sources.url": _device,
    "sources.networks": _one_of(NO_SIM, *(each.network for each in PROVIDERS.values())),
    "sources.phone_url": _device,
    "sources.ping_s": _between(30, 86_400),
    "sources.timezone": timezone_fault,
    "sources.poll_s": _between(0.5, 3600),
    "sources.timeout_s": _between(1, 120),
}
_NEVER_EMPTY: Final = frozenset({"webhooks.retry_schedule_s", "pages.languages"})

SOURCES: Final = "sources"
"""The one section that is a list: `[[sources]]`."""

Values = dict[str, dict[str, Any]]
"""Section -> field -> value, for the values that a file sets; `sources` has one field, its list."""


def sections() -> dict[str, type[Any]]:
    """Return the sections with plain keys, without `[[sources]]`, in the order of docs/configuration.md."""
    hints = get_type_hints(Config)
    return {name: hints[name] for name in Config.__struct_fields__ if name != SOURCES}


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
            found[section] = self._section(kinds[section], section, table)
        return found

    def _sources(self, tables: Any) -> tuple[SourceSettings, ...]:
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            raise self._error(
                SOURCES, "sources is a list: begin each source with a line [[sources]]"
            )
        read = [self._section(SourceSettings, SOURCES, table) for table in tables]
        found = [SourceSettings(**values) for values in read]
        key, why = fault_of([(one, frozenset(keys)) for one, keys in zip(found, read, strict=True)])
        if why:
            raise self._error(f"{SOURCES}.{key}" if key else SOURCES, why)
        return tuple(found)

    def _section(
        self, kind: type[Struct], section: str, table: Mapping[str, Any]
    ) -> dict[str, Any]:
        hints = get_type_hints(kind)
        # `from` is a Python keyword, so its field is `from_`.
        known = {name.removesuffix("_"): name for name in kind.__struct_fields__}
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
                raise self._wrong(name, "takes at least one value")
            return tuple(self._value(get_args(hint)[0], name, item) for item in value)
        if hint is float and type(value) is int:
            value = float(value)
        kinds = get_args(hint) or (hint,)
        if type(value) not in kinds:
            names = " or ".join(_TYPE_NAMES[kind] for kind in kinds)
            raise self._wrong(name, f"takes {names}, not {value!r}")
        why = _RULES[name](value) if name in _RULES else ""
        if why:
            # An address with a password must not be shown.
            shown = value != "" and name != "store.url"
            raise self._wrong(name, f"{why}, not {value!r}" if shown else why)
        return value

    def _unknown(self, what: str, key: str, name: str, known: list[str]) -> ConfigError:
        import difflib  # noqa: PLC0415 -- only for a misspelled key

        near = difflib.get_close_matches(key, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        return self._error(name, f"unknown {what} {key}; {hint}")

    def _wrong(self, name: str, why: str) -> ConfigError:
        return self._error(name, f"{name.partition('.')[2]} {why}")

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
