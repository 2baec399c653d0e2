"""The log: one line per fact, to stderr, for people or as JSON. Never a message's text, a name, a number or a secret.

One filter stands in front of every line (`masked`); callers still log ids and counts, not contents.
"""

import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, Self, TextIO

import structlog
from structlog.typing import Processor

_SECRETS: Final = re.compile(
    r"(svc_(?:live|test)_(?:sk|pk)_|whsec_|eyJ)[A-Za-z0-9+/=_.\-]+", re.ASCII
)
_PHONE: Final = re.compile(r"(?<![\w.-])(\+?\d{3,5})\d{4}(\d{2,4})(?![\w.-])", re.ASCII)
_PRIVATE_KEYS: Final = frozenset({"name", "payer_name", "customer_name", "account_name"})
_NEVER: Final = frozenset({"body", "text", "pdu", "password", "secret", "reference_text"})


def masked(key: str, value: Any) -> Any:
    """Return a value as it may stand in a log."""
    if key in _NEVER:
        return "***"
    if isinstance(value, str):
        if key in _PRIVATE_KEYS:
            return f"{value[:1]}***"
        return _PHONE.sub(r"\1****\2", _SECRETS.sub(r"\1***", value))
    if isinstance(value, dict):
        return {name: masked(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(key, inner) for inner in value]
    return value


class Log:
    """Writes facts through structlog, with the filter in front of every line."""

    def __init__(self, out: TextIO, *, as_json: bool = False) -> None:
        renderer: Processor = structlog.dev.ConsoleRenderer(colors=False, pad_event_to=24)
        if as_json:
            renderer = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(out),
            processors=[
                _mask_all,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
                _name_component,
                renderer,
            ],
        )

    @classmethod
    def to_stderr(cls, *, as_json: bool = False) -> Self:
        """Return the log of the daemon."""
        return cls(sys.stderr, as_json=as_json)

    def info(self, event: str, **facts: Any) -> None:
        """Log what happened as it should."""
        self._log.info(event, **facts)

    def warning(self, event: str, **facts: Any) -> None:
        """Log what a person may want to look at."""
        self._log.warning(event, **facts)

    def error(self, event: str, **facts: Any) -> None:
        """Log what a person must look at."""
        self._log.error(event, **facts)


def _mask_all(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    return {key: value if key == "event" else masked(key, value) for key, value in line.items()}


def _name_component(
    _logger: Any, _method: str, line: MutableMapping[str, Any]
) -> Mapping[str, Any]:
    return {"type": "item", "component": str(line["event"]).split(".")[0], **line}
