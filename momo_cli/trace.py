"""What `--verbose` and `--debug` show of the calls on the socket; secrets, numbers, names and texts are masked.

`-v` writes a line for each call and each answer; `--debug` writes headers and bodies too, as `curl -v` does.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from privacy.masking import masked, scrubbed

_BODY_MAX: Final = 4096
"""Characters of one body that are shown; a list of thousands would hide what came before it."""
_TYPED: Final = ("search",)
"""Members of a query that may hold a person's name."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Writes what passes on the socket.

    Attributes:
        say: Takes one line.
        whole: Headers and bodies too.
    """

    say: Callable[[str], None]
    whole: bool = False

    def sent(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> None:
        """Tell of a call that is about to be made."""
        self.say(f"> {method} {_target(target)}")
        if self.whole:
            self._headers(">", headers.items())
            self._body(">", "" if body is None else body.decode())

    def got(
        self, status: int, headers: Iterable[tuple[str, str]], text: str, took_s: float
    ) -> None:
        """Tell of its answer."""
        self.say(f"< {status} {len(text)} characters, {took_s * 1000:.0f} ms")
        if self.whole:
            self._headers("<", headers)
            self._body("<", text)

    def heard(self, kind: str, data: Mapping[str, Any]) -> None:
        """Tell of an event of a stream."""
        if self.whole:
            self._body(f"< {kind}", json.dumps(data))

    def _headers(self, sign: str, headers: Iterable[tuple[str, str]]) -> None:
        for name, value in headers:
            self.say(f"{sign} {name}: {masked(name.lower(), value)}")

    def _body(self, sign: str, text: str) -> None:
        if not text:
            return
        try:
            shown = json.dumps(_document(json.loads(text)), ensure_ascii=False)
        except ValueError:
            return  # a page or a metric; its length is told
        cut = "" if len(shown) <= _BODY_MAX else f"… ({len(shown)} characters)"
        self.say(f"{sign} {shown[:_BODY_MAX]}{cut}")


def _document(body: object) -> object:
    """Mask a body; its envelope's own `meta` holds the request's id and warnings, not what somebody keeps there."""
    if isinstance(body, dict) and "success" in body:
        return {name: masked("" if name == "meta" else name, value) for name, value in body.items()}
    return masked("", body)


def _target(target: str) -> str:
    path, _, query = target.partition("?")
    told = "&".join(
        f"{name}={'***' if name in _TYPED else masked(name, value)}"
        for name, value in parse_qsl(query)
    )
    return scrubbed(unquote(path)) + (f"?{told}" if told else "")
