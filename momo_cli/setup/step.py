"""The answers that `momo setup` was given, the context of its steps, and the steps that were done (`state/setup.json`)."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from momo_cli import system
from momo_cli.errors import Failure, usage
from momo_cli.inputs.ids import split_sim
from momo_cli.inputs.typed_values import check_choice, http_address
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Row, raw
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

SERVICES: Final = ("user", "system", "none")
AWAKE: Final = ("off", "plugged", "always")

NETWORKS: Final = ("mtn", "telecel", "at", "none")
"""Of the SIMs in an Android phone; `none` for a private one."""

KEYS: Final[dict[str, type]] = {
    "shop": str, "tz": str, "owner_email": str, "password_file": str, "methods": list, "sims": list, "http": str,
    "public_url": str, "endpoint": str, "service": str, "keep_awake": str, "practice": bool, "first_payment": bool,
    "pin_file": str, "backup_to": str, "hilink": str, "android": list, "android_may_pay": bool,
}  # fmt: skip
"""Every key and its type; lists contain texts."""
_PLAIN: Final = tuple(
    key for key, kind in KEYS.items() if kind is not list and key not in ("shop", "tz", "owner_email", "password_file")
)
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


_NAME: Final = "setup.json"


def postponed_steps(state: str) -> dict[str, str]:
    """Return the recorded steps by name; empty if the file cannot be read."""
    try:
        with open(f"{state}/{_NAME}", encoding="utf-8") as file:  # noqa: PTH123  # no pathlib here
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class Setup:
    """One run.

    Attributes:
        asks: Questions may be asked on the terminal.
        looks: Only check, change nothing; a difference from the answers is `needs_action` (`--check`).
        restart: A setting was changed while the daemon was running.
        service_failed: The service was written in this run, but the service manager did not take it.
        port_taken: The daemon cannot start, because another program uses the port of `http.bind`.
    """

    client: Client
    terminal: Terminal
    answers: SetupAnswers
    asks: bool
    looks: bool = False
    restart: bool = False
    port_taken: bool = False
    service_failed: bool = False
    _settings: dict[str, Any] = field(default_factory=dict)

    def may_ask(self, name: str) -> bool:
        """Return whether a question may be asked: there is a terminal, and the step was not postponed before."""
        return self.asks and not self.noted(name)

    def noted(self, name: str) -> bool:
        """Return whether a step was postponed, or done for good."""
        return not self.answers.again and name in postponed_steps(self._state)

    def note(self, name: str, *, later: bool) -> None:
        """Record that a question is not to be asked again, or that it is."""
        kept = {**postponed_steps(self._state), name: "later"}
        if not later:
            kept.pop(name)
        system.make_own_folder(self._state)
        with open(f"{self._state}/{_NAME}", "w", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is not needed here
            json.dump(kept, file)

    def ask(self, question: str, flag: str) -> str:
        """Ask a question; without a terminal, fail and name the flag (exit 2)."""
        return self.terminal.ask(f"  {question}", flag)

    def agreed(self, question: str, flag: str) -> bool:
        """Ask a yes/no question; Enter is a no."""
        return self.terminal.yes_or_no(f"  {question}", flag, default=False)

    def declined(self, question: str, flag: str) -> bool:
        """Ask a yes/no question and return whether the answer is no; Enter is a yes."""
        return not self.terminal.yes_or_no(f"  {question}", flag, default=True)

    def say(self, text: str) -> None:
        """Write a line, if there is a person to read it."""
        if self.asks:
            self.terminal.note(text)

    def warn(self, text: str) -> None:
        """Write a line about a problem, if there is a person to read it."""
        self.say(f"  {self.terminal.style('!', 'yellow', message=True)} {text}")

    def warn_of(self, failure: Failure) -> None:
        """Warn of a refusal, by its first wrong field if it names one."""
        details = at(failure.body, "error.details.0.message")
        self.warn(clean(details or failure.message))

    def get(self, key: str) -> str:
        """Return a setting from the settings file; a list as JSON."""
        if not self._settings:
            rows = run_verb(self.terminal, "config", "--json", "show").data
            self._settings = {row["key"]: row["value"] for row in rows}
        return raw(self._settings[key])

    def set(self, key: str, value: str, *, live: bool = True) -> str:
        """Set a setting unless it has that value; return it. With `live`, a running daemon then needs a restart."""
        if self.get(key) != value:
            run_verb(self.terminal, "config", "--json", "set", "--", key, value)
            self._settings[key] = value
            self.restart |= live and self.client.alive()
        return value

    @property
    def _state(self) -> str:
        return self.terminal.located.places.state


def outcome(status: str, detail: str, fix: str | None = None) -> Row:
    """Return the result of a step, in the form of the document of `momo setup`."""
    return {"status": status, "detail": detail, "fix": fix}
