"""Every setting, one row each: its name, type, default, meaning, rule, who may change it, and whether it acts at once.

From the rows come the reading and checking of `config.toml`, `momo config`, docs/operators/configuration.md, the dashboard's
settings, the rights of users and of the hub, and what the running daemon takes over. A row grants nothing that it does not
name: a setting is the owner's, not the hub's, and waits for the next start.
"""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import available_timezones

import msgspec
from msgspec import Struct, field

from daemon.core.messages.post import CAPCOM6, CUSTOM, MEMBERS, PRESETS, Preset, Scheme
from daemon.core.payments.checkout import MENUS
from daemon.core.payments.payer_texts import STEPS, TextKind, template_error
from daemon.core.upkeep.self_check import CHOICES, OFF
from daemon.core.webhooks.delivery import SCHEDULE_S
from daemon.runtime.words import DEFAULT, LANGUAGES, sentences
from daemon.wire import DEFAULT_HTTP, SourceKind, TrustLevel
from parsers.money import read_api_amount
from parsers.phone import read_phone
from parsers.providers import PROVIDERS

LOCALHOST_ORIGINS: Final = "http://localhost:*"
"""In `[http] cors_origins`: pages on the developer's own machine, with test keys only."""

Rule = Callable[[Any], str]
"""Returns the error of a value of the right type, "" if it is valid. For a list it gets each item."""


class ChangedBy(StrEnum):
    """Who may change a setting in the dashboard. At the shop's machine its user may change every setting."""

    MANAGER = "manager"
    """Managers and the owner."""
    OWNER = "owner"
    MACHINE = "machine"
    """Nobody: it is changed at the shop's machine."""


MANAGER: Final = ChangedBy.MANAGER
MACHINE: Final = ChangedBy.MACHINE
HILINK: Final = frozenset({SourceKind.HILINK})
POST: Final = frozenset({SourceKind.POST})
POLLED: Final = frozenset({SourceKind.HILINK, SourceKind.MODEMMANAGER})


class Setting(Struct, frozen=True):
    """What a setting has beside its name, type and default.

    Attributes:
        meaning: For people, in one line of Markdown.
        rule: The condition on its value, beyond its type.
        by: Who may change it in the dashboard.
        hub: The hub of a branch may change it.
        live: A change acts at once. Every use of the setting must then read it from `env.config` at each call.
        filled: A list of it has at least one value.
        quoted: Its value may stand in a message.
        kinds: Of a key of `[[sources]]`: the kinds of sources that have it.
    """

    meaning: str
    rule: Rule = lambda _value: ""
    by: ChangedBy = ChangedBy.OWNER
    hub: bool = False
    live: bool = False
    filled: bool = False
    quoted: bool = True
    kinds: frozenset[SourceKind] = frozenset(SourceKind)


class SettingRow(Struct, frozen=True):
    """A setting with its place and type. `field` differs from the name in the file if that is a Python keyword."""

    section: str
    field: str
    kind: Any
    default: Any
    setting: Setting

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.field.removesuffix("_")

    @property
    def key(self) -> str:
        """`section.name`."""
        return f"{self.section}.{self.name}"

    @property
    def word(self) -> str:
        """The key of its meaning in the dashboard's words of a language."""
        return f"setting_{self.section}_{self.name}"

    @property
    def plain_meaning(self) -> str:
        """Its meaning without Markdown."""
        return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", self.setting.meaning).replace("`", "")


_SECONDS_MAX: Final = 30 * 24 * 3600.0
"""Maximum of a waiting time: more than a month is a mistake, because retries end after days."""
LOGO_BYTES_MAX: Final = 6_000
"""The logo is inside the checkout page, which must stay below 14 KB in all, so that a slow phone shows it at once."""


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


def _product(value: str) -> str:
    name, _, price = value.rpartition("=")
    good = 0 < len(name.strip()) <= 40 and name.isprintable() and read_api_amount(price.strip(), "GHS")
    return "" if good else 'takes a name and a price in cedis, such as "Rice 1 kg = 12.50"'


def _like(pattern: str, needs: str) -> Rule:
    return lambda value: "" if re.fullmatch(pattern, value, re.ASCII) else f"takes {needs}"


def _contact(value: str) -> str:
    good = len(value) <= 80 and (value.isprintable() or not value)
    return "" if good else "takes one line of at most 80 characters, such as 024 412 4567"


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


NO_FILE: Final = "takes a file that exists"
"""The fault of a path whose file is not there. It may be there later, on a disk that is not mounted yet."""


def _file(value: str) -> str:
    if not value:
        return ""
    if not value.startswith("/"):
        return "takes a path from the root, such as /etc/momo/ca.pem"
    return "" if Path(value).is_file() else NO_FILE


def _server(value: str) -> str:
    if not value:
        return ""
    parts = urlsplit(value)
    if parts.scheme not in ("postgresql", "postgres"):
        return "takes an address that starts with postgresql://, or nothing for a file"
    # Settings are shown, and copied into reports.
    words = [pair.partition("=")[0] for pair in parts.query.split("&")]
    if ":" in parts.netloc.rpartition("@")[0] or {"password", "sslpassword"} & set(words):
        return "takes no password: write it into a file of libpq (chmod 600) and add ?passfile=/PATH"
    return ""


def folder_elsewhere(value: str) -> str:
    """Check the form only: the folder need not exist at each start, because it may be on a removable drive."""
    return "" if not value or value.startswith("/") else "takes a path from the root, such as /media/stick/momo"


def _port(value: str) -> str:
    # The port need not exist now: the modem may be unplugged.
    return "" if value.startswith("/") else "takes paths from the root, such as /dev/ttyUSB1"


def _phone(value: str) -> str:
    good = not value or read_phone(value) is not None
    return "" if good else "takes a phone number, such as 0244124567"


def _timezone(value: str) -> str:
    good = not value or value in available_timezones()
    return "" if good else "takes a time zone such as Africa/Accra"


# The rows stay as compact as a table.
# fmt: off


class Http(Struct, frozen=True):
    """Addresses and TLS of the API and the checkout page."""

    bind: Annotated[str, Setting(
        "API address `HOST:PORT`, or `off` for the Unix socket only; port 0 picks a free one",
        _address, MANAGER)] = DEFAULT_HTTP
    public_base_url: Annotated[str, Setting(
        "public address for `checkout_url`; if empty, that of `bind`, with a warning in responses",
        _url("http", "https"), MANAGER)] = ""
    tls_cert: Annotated[str, Setting(
        "absolute path of a PEM certificate chain, such as that of [`momo daemon certificate create`](https.md); "
        "`bind` is then https; a replaced file is used within a minute", _file, MANAGER)] = ""
    tls_key: Annotated[str, Setting(
        "absolute path of its key, without pass phrase; empty if `tls_cert` contains it", _file, MANAGER)] = ""
    insecure_http: Annotated[bool, Setting(
        "allow an unencrypted `bind` that other machines reach; `momo status` warns. For `--http` use "
        "`--insecure-http`", by=MANAGER)] = False
    cors_origins: Annotated[tuple[str, ...], Setting(
        '`"https://shop.example"`: its [pages](../developers/api.md#web-pages) may initialize; `http://localhost:*`: test keys '
        "only", _origin, MANAGER)] = ()


class StoreSettings(Struct, frozen=True):
    """Where the shop's data is: in a file of its folder, or in a database on a PostgreSQL server."""

    url: Annotated[str, Setting(
        'the database of a hub on a [PostgreSQL server](postgresql.md), such as `"postgresql:///momo"`; empty: a '
        "file in the shop's folder. Without a password: `?passfile=/PATH`", _server, quoted=False)] = ""


class Webhooks(Struct, frozen=True):
    """Sending of webhooks."""

    # The guard of their addresses is changed at the machine only: it decides where the shop's data may go.
    allow_private_hosts: Annotated[tuple[str, ...], Setting(
        "names or IP addresses that may receive webhooks though not public (any port, https)", _host, MACHINE)] = ()
    allow_private_cidrs: Annotated[tuple[str, ...], Setting(
        "networks that may receive webhooks though not public, such as `192.168.1.0/24`", _network, MACHINE)] = ()
    ca_file: Annotated[str, Setting(
        "absolute path of a PEM file of additional certificate authorities", _file, MACHINE)] = ""
    retry_schedule_s: Annotated[tuple[float, ...], Setting(
        "seconds between attempts; the default makes 13 attempts in 75.7 hours",
        _seconds, MANAGER, filled=True)] = tuple(float(step) for step in SCHEDULE_S)
    jitter: Annotated[float, Setting("random variation of each wait, as a share", _between(0, 0.99), MANAGER)] = 0.2
    connect_timeout_s: Annotated[float, Setting("seconds to connect", _seconds, MANAGER)] = 5.0
    timeout_s: Annotated[float, Setting("seconds for a whole attempt", _seconds, MANAGER)] = 15.0
    workers: Annotated[int, Setting("attempts at the same time", _between(1, 100), MANAGER)] = 10
    per_endpoint: Annotated[int, Setting("attempts at the same time per endpoint", _between(1, 100), MANAGER)] = 2
    retry_4xx: Annotated[tuple[int, ...], Setting(
        "4xx codes that are retried; others end the delivery", _between(400, 499), MANAGER)] = ()
    default_url: Annotated[str, Setting(
        "gets `transaction.completed` of live transactions without `webhook_url`",
        _url("https"), MANAGER, live=True)] = ""


class Modems(Struct, frozen=True):
    """Reading of modems."""

    poll_s: Annotated[float, Setting("seconds between looks for new messages", _seconds, MANAGER)] = 30.0
    sweep_s: Annotated[float, Setting("seconds between complete lists of every storage", _seconds, MANAGER)] = 300.0
    heartbeat_s: Annotated[float, Setting("seconds between checks of an idle modem", _seconds, MANAGER)] = 30.0
    command_timeout_s: Annotated[float, Setting("seconds for one AT command", _seconds, MANAGER)] = 30.0
    delete: Annotated[bool, Setting("delete a message from the SIM once it is stored", by=MANAGER)] = True
    ports: Annotated[tuple[str, ...], Setting(
        'the only ttys used, such as `["/dev/ttyUSB1"]`; empty = automatic. `--modem` overrides it, `momo setup '
        "--modem` sets it", _port, MANAGER)] = ()


class Limits(Struct, frozen=True):
    """Rate and connection limits. 0 switches a rate limit off."""

    live_per_min: Annotated[int, Setting(
        "calls per minute and live key; 0 = no limit", _between(0, 1_000_000), MANAGER, hub=True)] = 600
    test_per_min: Annotated[int, Setting(
        "calls per minute and test key; 0 = no limit", _between(0, 1_000_000), MANAGER, hub=True)] = 300
    burst: Annotated[int, Setting("calls at once above that limit", _between(0, 1_000_000), MANAGER, hub=True)] = 60
    sms_per_number_hour: Annotated[int, Setting(
        "SMS per customer and hour; 0 = no limit. One SIM sends at most 30 an hour and 200 a day",
        _between(0, 1_000), MANAGER, hub=True, live=True)] = 3
    reconcile_misses_15min: Annotated[int, Setting(
        "wrong transaction IDs per transaction in 15 minutes before refusal",
        _between(1, 1_000), MANAGER, hub=True, live=True)] = 10
    connections: Annotated[int, Setting("concurrent HTTP connections", _between(1, 65_535), MANAGER, hub=True)] = 512


class Smtp(Struct, frozen=True):
    """The mail server for notices by e-mail; its password is in the secret store."""

    # The stored password is sent to this server, so these are the owner's.
    host: Annotated[str, Setting("mail server; empty = none")] = ""
    port: Annotated[int, Setting("its port; 465 uses TLS from the start", _between(1, 65_535))] = 587
    from_: Annotated[str, Setting("sender; empty = `to`")] = ""
    to: Annotated[str, Setting("receiver, the owner")] = ""
    user: Annotated[str, Setting("name of the account; empty = `from`")] = ""
    starttls: Annotated[bool, Setting("encrypt the connection and so the password")] = True


class Notices(Struct, frozen=True):
    """Notices to the owner other than e-mail."""

    desktop: Annotated[bool, Setting("show notices on the desktop (`notify-send`)", by=MANAGER)] = False
    sms_to: Annotated[str, Setting("owner's number for notices by SMS from the shop's line", _phone, MANAGER)] = ""
    language: Annotated[str, Setting(
        "language of notices by e-mail and SMS", _one_of(*LANGUAGES), MANAGER, live=True)] = "en"


class OpenCollections(Struct, frozen=True):
    """Webhooks for every payment, with or without a transaction of the shop."""

    enabled: Annotated[bool, Setting(
        "`false` refuses endpoint calls with OPEN_COLLECTIONS_DISABLED", by=MANAGER, live=True)] = True


class Transactions(Struct, frozen=True):
    """Rules of transactions."""

    late_policy: Annotated[str, Setting(
        "money within 72 hours after expiry: `accept`, `review` or `reject`",
        _one_of("accept", "review", "reject"), MANAGER, hub=True, live=True)] = "accept"
    code_sms_at: Annotated[str, Setting(
        "when the customer gets an SMS: `both`, `request`, `verified`, `never`",
        _one_of("both", "request", "verified", "never"), MANAGER, hub=True, live=True)] = "both"
    approval_undo_s: Annotated[int, Setting(
        "seconds for which an approval in the dashboard waits and can be undone; 0 = it acts at once",
        _between(0, 3_600), MANAGER, hub=True, live=True)] = 10
    public_sms: Annotated[bool, Setting(
        "SMS also for transactions made with publishable keys", by=MANAGER, hub=True, live=True)] = False


class Sms(Struct, frozen=True):
    """Texts of the SMS to customers."""

    code_text: Annotated[str, Setting(
        "SMS with the payment code; must contain `{amount}`, `{number}`, `{code}`",
        _template(TextKind.CODE), MANAGER, hub=True, live=True)] = sentences(DEFAULT)["sms.code"]
    receipt_text: Annotated[str, Setting(
        "SMS after verification; must contain `{amount}`, `{code}`",
        _template(TextKind.RECEIPT), MANAGER, hub=True, live=True)] = sentences(DEFAULT)["sms.receipt"]
    steps_mtn: Annotated[str, Setting(
        "first step, `{steps}`, for MTN numbers", _steps, MANAGER, hub=True, live=True)] = STEPS["mtn"]
    steps_telecel: Annotated[str, Setting(
        "first step, `{steps}`, for Telecel numbers", _steps, MANAGER, hub=True, live=True)] = STEPS["telecel"]
    steps_at: Annotated[str, Setting(
        "first step, `{steps}`, for AT numbers", _steps, MANAGER, hub=True, live=True)] = STEPS["at"]
    reports: Annotated[bool, Setting(
        "request delivery reports; see `momo tx show --events`", by=MANAGER, hub=True, live=True)] = False


class Pages(Struct, frozen=True):
    """The checkout page (docs/shop/checkout.md)."""

    languages: Annotated[tuple[str, ...], Setting(
        "languages of the page: `en`, `fr`; the first is the default, and that of SMS",
        _one_of(*LANGUAGES), MANAGER, hub=True, live=True, filled=True)] = ("en",)
    contact: Annotated[str, Setting(
        'contact shown to customers, such as `"024 412 4567"`', _contact, MANAGER, hub=True, live=True)] = ""
    address: Annotated[str, Setting(
        'the shop\'s address on receipts, such as `"12 Oxford Street, Osu, Accra"`', _contact, MANAGER, hub=True, live=True)] = ""
    # A file of the machine, so the hub may not name it.
    logo: Annotated[str, Setting(
        "absolute path of the shop's logo for the page and the receipt: PNG, JPEG, WebP or SVG of at most "
        f"{LOGO_BYTES_MAX} bytes", _logo, MANAGER, live=True)] = ""
    colour: Annotated[str, Setting(
        'the shop\'s colour for buttons and links, such as `"#7a1f5c"`; changed where it could not be read',
        _like(r"(#[0-9A-Fa-f]{6})?", "# and six hex digits, such as #7a1f5c"), MANAGER, hub=True, live=True)] = ""
    redirect_hosts: Annotated[tuple[str, ...], Setting(
        "hosts to which a paid page redirects automatically; others get a button",
        _host, MANAGER, hub=True, live=True)] = ()
    # It names whose address the limit of logins counts, so the hub may not set it.
    client_header: Annotated[str, Setting(
        'a local proxy\'s header with the client address, such as `"X-Forwarded-For"`; without it all visitors of '
        "a tunnel count as one", _like(r"[A-Za-z0-9-]*", "the name of a header, such as X-Forwarded-For"), MANAGER)] = ""
    per_min: Annotated[int, Setting(
        "requests per address and minute; this machine ten times as many; 0 = no limit",
        _between(0, 1_000_000), MANAGER, hub=True)] = 60
    menu_mtn: Annotated[str, Setting("next menu step for MTN", _steps, MANAGER, hub=True, live=True)] = MENUS["mtn"]
    menu_telecel: Annotated[str, Setting(
        "next menu step for Telecel", _steps, MANAGER, hub=True, live=True)] = MENUS["telecel"]
    menu_at: Annotated[str, Setting("next menu step for AT", _steps, MANAGER, hub=True, live=True)] = MENUS["at"]


class Till(Struct, frozen=True):
    """The till of the dashboard."""

    products: Annotated[tuple[str, ...], Setting(
        'product buttons, a name and a price each, such as `"Rice 1 kg = 12.50"`; the first 24 are shown', _product,
        MANAGER, live=True)] = ()


class Trust(Struct, frozen=True):
    """Strictness of the checks of messages."""

    balance_check: Annotated[str, Setting(
        "messages that the [trust rules](../shop/concepts.md#trust) hold: `review` (they wait), `warn` (they pay, with a "
        "notice), `off` (they pay)", _one_of("review", "warn", "off"), MANAGER, live=True)] = "review"
    unconfirmed_limit: Annotated[str | int, Setting(
        'cedis that a line may take in a day through receipts that do not join the believed balance: `"auto"` is half '
        "of a usual day (mean of the last 14), at least twelve usual receipts and 200; `0` pays nothing before it is confirmed",
        _limit, MANAGER, live=True)] = "auto"
    phone_limit: Annotated[str | int, Setting(
        "cedis that a line on a source without service centres (Android, HiLink) may take in a day through receipts that join: "
        '`"auto"` is twice a usual day, at least 1000',
        _limit, MANAGER, live=True)] = "auto"
    phone_breaks: Annotated[bool, Setting(
        "whether a receipt that does not join may pay within `unconfirmed_limit` on such a source",
        by=MANAGER, live=True)] = True


class Retention(Struct, frozen=True):
    """Days to keep data other than payments."""

    attempts_days: Annotated[int, Setting(
        "attempts, receivers' answers (also in dead letters), sent notices",
        _between(1, 36_500), MANAGER, hub=True, live=True)] = 60
    # Replay and the check for missing payments go back 31 days.
    deliveries_days: Annotated[int, Setting(
        "ended deliveries with bodies and dead letters; at least 35",
        _between(35, 36_500), MANAGER, hub=True, live=True)] = 400
    messages_days: Annotated[int, Setting(
        "texts and PDUs of SMS (13 months) except those under review, texts of sent SMS, and transaction IDs typed "
        "on the checkout page; at least 35", _between(35, 36_500), MANAGER, hub=True, live=True)] = 396


class Backup(Struct, frozen=True):
    """Second places for backups and for the message journal."""

    messages_to: Annotated[str, Setting(
        "absolute path of a folder on another disk for a second copy of the "
        "[message journal](operations.md#the-message-journal). No copy creates it", folder_elsewhere, MANAGER)] = ""
    also_to: Annotated[str, Setting(
        "absolute path of a folder on another disk for a second copy of backups. No backup creates it, so an "
        "unplugged stick is noticed", folder_elsewhere, MANAGER, live=True)] = ""


class Power(Struct, frozen=True):
    """Keep the machine awake while the daemon runs."""

    keep_awake: Annotated[str, Setting(
        "keep the machine awake: `off`, `plugged` (on mains), `always`; for the lid see "
        "[operations](operations.md#sleep)", _one_of(*CHOICES), MANAGER)] = OFF


class Access(Struct, frozen=True):
    """Other users of this machine with access to the socket."""

    socket_users: Annotated[tuple[str, ...], Setting(
        "other users of this machine with the owner's rights on the socket; a shop's folder with the socket then "
        "has mode 0711; only the owner changes it")] = ()
    cashiers_see_sums: Annotated[bool, Setting(
        "cashiers see the sum of the day and what the wallet holds", live=True)] = True
    cashiers_settle: Annotated[bool, Setting(
        "cashiers too may say that the rest came in cash, waive what is missing, and give change back", live=True)] = False


class Network(Struct, frozen=True):
    """Hosts that are contacted to test the Internet connection."""

    probe_hosts: Annotated[tuple[str, ...], Setting(
        'hosts, such as `["1.1.1.1"]`, whose TCP port 443 shows that our link works', _host, MANAGER)] = ()


class Hub(Struct, frozen=True):
    """The settings of a branch (whether it sends texts to its hub, how it checks the hub's certificate) and of a hub."""

    send_texts: Annotated[bool, Setting(
        "send the texts of SMS to the hub too, not only what was read from them", by=MANAGER, live=True)] = False
    ca_file: Annotated[str, Setting(
        "absolute path of a CA for the hub's certificate, beside the system's; not needed if the hub has its own "
        "certificate from `momo daemon certificate create`", _file, MANAGER)] = ""
    unconfirmed_limit: Annotated[int, Setting(
        "at a hub: cedis of a branch and day that it counts of payments on a SIM or number which the branch has had for less "
        "than a week; what is above waits for `momo hub accept BRANCH`", _between(0, 1_000_000_000), live=True)] = 1_000


class Secrets(Struct, frozen=True):
    """Place of a new master key."""

    store: Annotated[str, Setting(
        "where a new master key is kept: `file` (0600, `master.key`), `keyring`, or `auto`: systemd's credential "
        "`momo-master-key` if given, the file with `MOMO_HOME` or without a keyring, else the keyring. An existing "
        "key is not moved", _one_of("auto", "keyring", "file"))] = "auto"


DEFAULT_NAME: Final = SourceKind.MODEM.value
"""The name of the AT modems, which need no entry."""
NO_SIM: Final = "none"
"""In `networks`: the slot is empty, or its SIM is private."""
LEVELS: Final = {
    SourceKind.MODEM: TrustLevel.FULL,
    SourceKind.HILINK: TrustLevel.PARTIAL,
    SourceKind.POST: TrustLevel.REPORTED,
    SourceKind.MODEMMANAGER: TrustLevel.PARTIAL,
}


class SourceSettings(Struct, frozen=True):
    """One entry of `[[sources]]`: where messages come from besides AT modems."""

    name: Annotated[str, Setting(
        "its name in lists and logs; required but for `modem`",
        _like(r"[a-z0-9][a-z0-9-]{0,31}", "1 to 32 small letters, digits and dashes, such as stick"))] = ""
    kind: Annotated[str, Setting("`modem`, `hilink`, `modemmanager` or `post`", _one_of(*SourceKind))] = DEFAULT_NAME
    enabled: Annotated[bool, Setting("read its messages")] = True
    url: Annotated[str, Setting("the address of the stick", _device, kinds=HILINK)] = "http://192.168.8.1"
    user: Annotated[str, Setting(
        "the user of the stick's web page or of the app's local server; used only if a password is stored",
        kinds=HILINK | POST)] = "admin"
    timezone: Annotated[str, Setting(
        'the zone of times that the stick or the app gives without one, such as `"Africa/Accra"`; empty: the '
        "shop's zone", _timezone, kinds=HILINK | POST)] = ""
    poll_s: Annotated[float, Setting("seconds between two looks for messages", _between(0.5, 3600), kinds=POLLED)] = 5.0
    timeout_s: Annotated[float, Setting("time limit of one call to the stick, or to ModemManager", _between(1, 120), kinds=POLLED)] = 10.0
    may_pay: Annotated[bool, Setting(
        "the owner opted in; before, its messages are history and never pay", kinds=POST)] = False
    networks: Annotated[tuple[str, ...], Setting(
        "the network of the SIM in slot 1, 2, ...: `mtn`, `telecel`, `at`, or `none` for a SIM that is not read",
        _one_of(NO_SIM, *(each.network for each in PROVIDERS.values())), kinds=POST)] = ()
    phone_url: Annotated[str, Setting(
        'the app\'s local server, such as `"http://192.168.1.23:8080"`, which is asked for missed SMS; may be empty',
        _device, kinds=POST)] = ""
    preset: Annotated[str, Setting(
        "the [app](../shop/sources.md#an-android-phone): `capcom6`, `httpsms`, `textbee`, `smsforwarder`, or `custom` for one "
        "whose posts `members` and `signed` describe", _one_of(*PRESETS), kinds=POST)] = CAPCOM6
    members: Annotated[tuple[str, ...], Setting(
        'where a post has `sender`, `text`, `time`, `sim` (from 1) or `slot` (from 0), `pdu` (with its service centre, in hex), '
        'and `messages` (a list of SMS), if not where its preset says, such as `["sender=from", "text=sms.body"]`',
        _like(f"({'|'.join(MEMBERS)})=[^ =]+", f"NAME=PLACE, such as text=sms.body; NAME is one of {', '.join(MEMBERS)}"),
        kinds=POST)] = ()
    signed: Annotated[str, Setting(
        "`custom`: `token` (a header has the key), `path` (the address has it) or `hmac` (a header has the HMAC-SHA256 of the "
        "body)", _one_of(Scheme.TOKEN, Scheme.PATH, Scheme.HMAC), kinds=POST)] = Scheme.TOKEN.value
    ping_s: Annotated[float, Setting(
        "the interval of pings that is set in the app; after three missed ones the app counts as silent",
        _between(30, 86_400), kinds=POST)] = 300.0

    @property
    def app(self) -> Preset:
        """The app that posts, with what the settings say of it."""
        signed = Scheme(self.signed) if self.preset == CUSTOM else PRESETS[self.preset].signed
        return msgspec.structs.replace(PRESETS[self.preset], signed=signed, **dict(one.split("=") for one in self.members))

    @property
    def level(self) -> TrustLevel:
        """How far its messages are trusted: those of an app with their PDU as those of an AT modem."""
        return TrustLevel.FULL if self.app.pdu else LEVELS[SourceKind(self.kind)]

    @property
    def history(self) -> bool:
        """Its messages are stored as history only and never pay."""
        return self.kind == SourceKind.POST and not self.may_pay


# fmt: on


def fault_of_sources(sources: Sequence[tuple[SourceSettings, frozenset[str]]]) -> tuple[str, str]:
    """Return the fault of the entries together, and its key; empty texts if they are valid.

    `sources` has each entry, and the keys that it sets.
    """
    names, rows = set[str](), rows_of(SOURCES, SourceSettings)
    for source, keys in sources:
        kind = SourceKind(source.kind)
        if "name" not in keys and kind is not SourceKind.MODEM:
            return "", f'every source of kind {kind} needs a name, such as name = "stick"'
        foreign = sorted(key for key in keys if kind not in rows[key].setting.kinds)
        if foreign:
            return foreign[0], f"a source of kind {kind} has no key {foreign[0]}"
        if kind is SourceKind.POST and (fault := _fault_of_post(source)) is not None:
            return fault
        name = source.name or DEFAULT_NAME
        if name in names:
            return "name", f"two sources have the name {name}"
        if name == DEFAULT_NAME and kind is not SourceKind.MODEM:
            return "name", f"the name {DEFAULT_NAME} is that of the AT modems"
        names.add(name)
    kinds = [source.kind for source, _ in sources]
    twice = next((one for one in (SourceKind.MODEM, SourceKind.MODEMMANAGER) if kinds.count(one) > 1), None)
    return ("", "") if twice is None else ("kind", f"one source of kind {twice} stands for all its modems")


def _fault_of_post(source: SourceSettings) -> tuple[str, str] | None:
    if set(source.networks) <= {NO_SIM}:
        return "networks", 'the SIMs of the phone need their networks, such as networks = ["mtn"]'
    app = source.app
    if not (app.pdu or (app.sender and app.text)):
        return "members", 'a custom app needs the places of its sender and text: members = ["sender=from", "text=msg"]'
    if source.phone_url and source.preset != CAPCOM6:
        return "phone_url", f"only an app of preset {CAPCOM6} can be asked for missed SMS"
    return None


def with_modems(sources: Sequence[SourceSettings]) -> tuple[SourceSettings, ...]:
    """Return the enabled sources; the AT modems are the first one, unless an entry of kind modem disables them."""
    own = [source for source in sources if source.kind == SourceKind.MODEM]
    others = [source for source in sources if source.kind != SourceKind.MODEM]
    found = [*(own or [SourceSettings(name=DEFAULT_NAME)]), *others]
    return tuple(source for source in found if source.enabled)


class Config(Struct, frozen=True):
    """All settings, by section, with their defaults."""

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
    till: Till = field(default_factory=Till)
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


SOURCES: Final = "sources"
"""The one section that is a list: `[[sources]]`."""


def sections() -> dict[str, type[Any]]:
    """Return the sections with plain keys, without `[[sources]]`, in the order of docs/operators/configuration.md."""
    hints = get_type_hints(Config)
    return {name: hints[name] for name in Config.__struct_fields__ if name != SOURCES}


def rows_of(section: str, kind: type[Any]) -> dict[str, SettingRow]:
    """Return the rows of a section, by their name in the file."""
    defaults, hints = kind(), get_type_hints(kind, include_extras=True)
    found = {}
    for name in kind.__struct_fields__:
        plain, setting = get_args(hints[name])
        row = SettingRow(section, name, plain, getattr(defaults, name), setting)
        found[row.name] = row
    return found


def all_rows() -> dict[str, SettingRow]:
    """Return the row of each `section.name`, without `[[sources]]`."""
    return {row.key: row for section, kind in sections().items() for row in rows_of(section, kind).values()}


def value_of(config: Config, row: SettingRow) -> Any:
    """Return the value of a setting."""
    return getattr(getattr(config, row.section), row.field)


def merged(running: Config, new: Config) -> tuple[Config, tuple[str, ...]]:
    """Return the running settings with the new values of those that act at once, and the keys of the other changed ones."""
    changed: dict[str, dict[str, Any]] = {}
    waiting = []
    for key, row in all_rows().items():
        value = value_of(new, row)
        if value == value_of(running, row):
            continue
        if row.setting.live:
            changed.setdefault(row.section, {})[row.field] = value
        else:
            waiting.append(key)
    if new.sources != running.sources:
        waiting.append(SOURCES)
    parts = {
        section: msgspec.structs.replace(getattr(running, section), **values) for section, values in changed.items()
    }
    return msgspec.structs.replace(running, **parts), tuple(waiting)
