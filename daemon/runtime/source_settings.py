"""The settings of one `[[sources]]` entry of `config.toml`: where messages come from besides AT modems."""

import re
from collections.abc import Sequence
from typing import Final
from zoneinfo import available_timezones

from msgspec import Struct

from daemon.wire import SourceKind, TrustLevel

DEFAULT_NAME: Final = SourceKind.MODEM.value
"""The name of the AT modems, which need no entry."""

NO_SIM: Final = "none"
"""In `networks`: the slot is empty, or its SIM is private."""
LEVELS: Final = {
    SourceKind.MODEM: TrustLevel.FULL,
    SourceKind.HILINK: TrustLevel.PARTIAL,
    SourceKind.ANDROID: TrustLevel.REPORTED,
}


class SourceSettings(Struct, frozen=True):
    """One source. Which keys a kind takes is in `KEYS`.

    Attributes:
        name: Its name in lists, logs and messages.
        kind: `modem`, `hilink` or `android`.
        enabled: Its messages are read.
        url: HiLink: the address of the stick.
        user: The user of the stick's web page or of the app's local server; used only if a password is stored.
        timezone: The zone of times that the stick or the app gives without one; empty for the shop's zone.
        poll_s: HiLink: time between two looks for messages.
        timeout_s: HiLink: time limit of one call.
        may_pay: Android: the owner opted in. Before that its messages are history and never pay.
        networks: Android: the network of the SIM in slot 1, 2, ...; `none` for a SIM without messages for momo.
        phone_url: Android: the address of the app's local server, which is asked for missed messages; may be empty.
        ping_s: Android: the interval of pings that is set in the app.
    """

    name: str = ""
    kind: str = DEFAULT_NAME
    enabled: bool = True
    url: str = "http://192.168.8.1"
    user: str = "admin"
    timezone: str = ""
    poll_s: float = 5.0
    timeout_s: float = 10.0
    may_pay: bool = False
    networks: tuple[str, ...] = ()
    phone_url: str = ""
    ping_s: float = 300.0

    @property
    def level(self) -> TrustLevel:
        """How far its messages are trusted."""
        return LEVELS[SourceKind(self.kind)]

    @property
    def history(self) -> bool:
        """Its messages are stored as history only and never pay."""
        return self.level is TrustLevel.REPORTED and not self.may_pay


KEYS: Final = {
    SourceKind.MODEM: frozenset({"name", "kind", "enabled"}),
    SourceKind.HILINK: frozenset(
        {"name", "kind", "enabled", "url", "user", "timezone", "poll_s", "timeout_s"}
    ),
    SourceKind.ANDROID: frozenset(
        {
            "name",
            "kind",
            "enabled",
            "may_pay",
            "networks",
            "phone_url",
            "user",
            "timezone",
            "ping_s",
        }
    ),
}
"""The keys that each kind takes."""


def name_fault(value: str) -> str:
    """Return the fault of a source's name, "" if it is valid."""
    good = re.fullmatch(r"[a-z0-9][a-z0-9-]{0,31}", value, re.ASCII)
    return "" if good else "takes 1 to 32 small letters, digits and dashes, such as stick"


def timezone_fault(value: str) -> str:
    """Return the fault of a time zone, "" if it is valid."""
    good = not value or value in available_timezones()
    return "" if good else "takes a time zone such as Africa/Accra"


def fault_of(sources: Sequence[tuple[SourceSettings, frozenset[str]]]) -> tuple[str, str]:
    """Return the fault of the entries together, and its key; empty texts if they are valid.

    Args:
        sources: Each entry, and the keys that it sets.
    """
    names = set[str]()
    for source, keys in sources:
        kind = SourceKind(source.kind)
        if "name" not in keys and kind is not SourceKind.MODEM:
            return "", f'every source of kind {kind} needs a name, such as name = "stick"'
        if fault := _key_fault(source, keys):
            return fault
        name = source.name or DEFAULT_NAME
        if name in names:
            return "name", f"two sources have the name {name}"
        if name == DEFAULT_NAME and kind is not SourceKind.MODEM:
            return "name", f"the name {DEFAULT_NAME} is that of the AT modems"
        names.add(name)
    modems = sum(source.kind == SourceKind.MODEM for source, _ in sources)
    if modems > 1:
        return "kind", "one source of kind modem stands for all AT modems"
    return "", ""


def _key_fault(source: SourceSettings, keys: frozenset[str]) -> tuple[str, str] | None:
    """Return the key that a source's kind does not take, or lacks, with the reason."""
    kind = SourceKind(source.kind)
    foreign = sorted(keys - KEYS[kind])
    if foreign:
        return foreign[0], f"a source of kind {kind} has no key {foreign[0]}"
    if kind is SourceKind.ANDROID and set(source.networks) <= {NO_SIM}:
        return "networks", 'the SIMs of the phone need their networks, such as networks = ["mtn"]'
    return None


def with_modems(sources: Sequence[SourceSettings]) -> tuple[SourceSettings, ...]:
    """Return the enabled sources; the AT modems are the first one, unless an entry of kind modem disables them."""
    own = [source for source in sources if source.kind == SourceKind.MODEM]
    others = [source for source in sources if source.kind != SourceKind.MODEM]
    found = [*(own or [SourceSettings(name=DEFAULT_NAME)]), *others]
    return tuple(source for source in found if source.enabled)
