"""The input of `momo setup` from its flags or from `--from FILE.toml`, for a set-up without questions.

shop = "Ama Provisions"
password_file = "pw.txt"
methods = ["mtn:0244124567:Ama Mensah"]
sims = ["zte-front:0=0244124567"]
http = "loopback"
service = "user"
keep_awake = "plugged"
pin_file = "pin.txt"
backup_to = "/media/stick/momo"
hilink = "http://192.168.8.1"
android = ["mtn", "none"]
android_may_pay = true
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.inputs.ids import split_sim
from momo_cli.inputs.typed_values import check_choice, http_address

SERVICES: Final = ("user", "system", "none")
AWAKE: Final = ("off", "plugged", "always")

NETWORKS: Final = ("mtn", "telecel", "at", "none")
"""Of the SIMs in an Android phone; `none` for a private one."""

KEYS: Final[dict[str, type]] = {
    "shop": str,
    "tz": str,
    "owner_email": str,
    "password_file": str,
    "methods": list,
    "sims": list,
    "http": str,
    "public_url": str,
    "endpoint": str,
    "service": str,
    "keep_awake": str,
    "practice": bool,
    "first_payment": bool,
    "pin_file": str,
    "backup_to": str,
    "hilink": str,
    "android": list,
    "android_may_pay": bool,
}
"""Every key and its type; lists contain texts."""
_PLAIN: Final = (
    "http", "public_url", "endpoint", "service", "keep_awake",
    "practice", "first_payment", "pin_file", "backup_to", "hilink", "android_may_pay",
)  # fmt: skip
"""The keys with values that are used unchanged."""


def read_answer_file(path: str) -> dict[str, Any]:
    """Return the contents of the file; fail (exit 2) if it is not TOML, or a key or a value is wrong."""
    import tomllib  # noqa: PLC0415  # only this flag needs it

    try:
        with open(path, "rb") as file:  # noqa: PTH123  # no pathlib here
            found = tomllib.load(file)
    except (OSError, ValueError) as problem:
        raise usage(f"--from: {path}: {problem}") from None
    for key, value in found.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(KEYS)}"
            raise usage(f"--from: {path}: unknown key {key}; {hint}")
        kind = KEYS[key]
        right = isinstance(value, kind)
        if isinstance(value, list):
            right = right and all(isinstance(item, str) for item in value)
        if not right:
            wanted = {str: "a text", list: "a list of texts", bool: "true or false"}[kind]
            raise usage(f"--from: {path}: {key} takes {wanted}")
    return found


@dataclass(frozen=True, slots=True)
class SetupAnswers:
    """The values from the flags and the file; None means ask, if there is a terminal."""

    methods: tuple[dict[str, str], ...] = ()
    sims: tuple[tuple[str, str], ...] = ()
    """`DEVICE:SLOT` and its number."""
    http: str | None = None
    """An address, or `off`."""
    public_url: str | None = None
    endpoint: str | None = None
    service: str | None = None
    keep_awake: str | None = None
    practice: bool | None = None
    first_payment: bool | None = None
    pin_file: str | None = None
    backup_to: str | None = None
    hilink: str | None = None
    android: tuple[str, ...] = ()
    """The networks of the SIMs in an Android phone, slot 1 first."""
    android_may_pay: bool | None = None
    modems: tuple[str, ...] = ()
    again: bool = False
    """Ask again about postponed steps."""

    @property
    def any(self) -> bool:
        """Return whether the flags request any of these steps."""
        given = any(getattr(self, name) is not None for name in _PLAIN)
        return bool(self.sims or self.modems or self.android) or given


def setup_answers(said: Mapping[str, Any], modems: tuple[str, ...], *, again: bool) -> SetupAnswers:
    """Return the answers that the flags and the file give; fail (exit 2) if a value does not have its form."""
    if (http := said.get("http")) is not None:
        said = {**said, "http": http_address(http)}
    forms = (("service", SERVICES), ("keep_awake", AWAKE))
    for name, choices in forms:
        check_choice(said.get(name), f"--{name.replace('_', '-')}", choices)
    for network in said.get("android", ()):
        check_choice(network, "--android", NETWORKS)
    return SetupAnswers(
        methods=tuple(_method(text) for text in said.get("methods", ())),
        sims=tuple(_placed(text) for text in said.get("sims", ())),
        android=tuple(said.get("android", ())),
        modems=modems,
        again=again,
        **{name: said.get(name) for name in _PLAIN},
    )


def _method(text: str) -> dict[str, str]:
    network, _, rest = text.partition(":")
    number, _, name = rest.partition(":")
    if not (network and number and name):
        raise usage(f"--method: {text!r} is not NET:PHONE:NAME, such as mtn:0244124567:Ama")
    provider = network if network.startswith("momo_") else f"momo_{network.lower()}"
    return {"provider": provider, "phone_number": number, "account_name": name}


def _placed(text: str) -> tuple[str, str]:
    place, _, number = text.partition("=")
    if not number:
        raise usage(f"--sim: {text!r} is not DEVICE:SLOT=PHONE, such as zte-front:0=0244124567")
    split_sim(place, "--sim")
    return place, number
