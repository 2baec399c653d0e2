"""The trace of calls on the socket (`--verbose`, `--debug`); secrets, numbers, names and texts are masked.

`-v` writes a line for each call and each answer; `--debug` writes headers and bodies too, as `curl -v` does.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from parsers.masking import mask_text, mask_value

_BODY_MAX: Final = 4096
"""The most characters shown of one body; a list of thousands would push earlier lines off the screen."""
_TYPED: Final = ("search",)
"""Query parameters that may contain a person's name."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Writes the calls on the socket, with headers and bodies if `whole`."""

    say: Callable[[str], None]
    whole: bool = False

    def sent(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> None:
        """Write a call before it is made."""
        self.say(f"> {method} {_target(target)}")
        if self.whole:
            self._headers(">", headers.items())
            self._body(">", "" if body is None else body.decode())

    def got(self, status: int, headers: Iterable[tuple[str, str]], text: str, took_s: float) -> None:
        """Write the answer of a call."""
        self.say(f"< {status} {len(text)} characters, {took_s * 1000:.0f} ms")
        if self.whole:
            self._headers("<", headers)
            self._body("<", text)

    def heard(self, kind: str, data: Mapping[str, Any]) -> None:
        """Write an event of a stream."""
        if self.whole:
            self._body(f"< {kind}", json.dumps(data))

    def _headers(self, sign: str, headers: Iterable[tuple[str, str]]) -> None:
        for name, value in headers:
            self.say(f"{sign} {name}: {mask_value(name.lower(), value)}")

    def _body(self, sign: str, text: str) -> None:
        if not text:
            return
        try:
            shown = json.dumps(_document(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return  # HTML or metrics; the first line has the length
        cut = "" if len(shown) <= _BODY_MAX else f"… ({len(shown)} characters)"
        self.say(f"{sign} {shown[:_BODY_MAX]}{cut}")


def _document(body: object) -> object:
    """Mask a body; the envelope's `meta` has the request's id and warnings, not the shop's `meta`, so it is not masked."""
    if isinstance(body, dict) and "success" in body:
        return {name: mask_value("" if name == "meta" else name, value) for name, value in body.items()}
    return mask_value("", body)


def _target(target: str) -> str:
    path, _, query = target.partition("?")
    shown = "&".join(
        f"{name}={'***' if name in _TYPED else mask_value(name, value)}" for name, value in parse_qsl(query)
    )
    return mask_text(unquote(path)) + (f"?{shown}" if shown else "")
