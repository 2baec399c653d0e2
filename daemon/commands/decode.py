"""Commands `decode`: decode pasted PDUs, and `verify`: check the signature of a webhook. Nothing is opened or stored."""

import argparse
import base64
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from daemon.commands.output import print_json
from daemon.core.limits import SECOND_US
from daemon.core.webhooks import signature_check
from daemon.modem.codec import pdu
from daemon.modem.codec.parts import PartKey, is_whole, join, key_of
from daemon.modem.codec.pdu_fields import Deliver, Garbled
from daemon.open_shop import EXIT_OK
from daemon.runtime.system import SystemClock
from daemon.wire import Places


def decode_command(options: argparse.Namespace, _places: Places) -> int:
    """Decode the PDUs on stdin, for `momo messages parse --pdu`, without opening or storing anything."""
    groups = [json.loads(line) for line in sys.stdin if line.strip()]
    print_json({"success": True, "data": decode(groups, join=options.join)})
    return EXIT_OK


def decode(groups: Iterable[Sequence[str]], *, join: bool) -> list[dict[str, Any]]:
    """Return `{sender, text}` for each message, or `{text: None, why}` for one that cannot be read.

    With `join` the parts of a long message are in separate groups, in any order; join them.
    """
    found: list[dict[str, Any]] = []
    waiting: dict[PartKey, list[Deliver]] = {}
    for group in groups:
        values = [pdu.decode(text) for text in group]
        parts = [value for value in values if isinstance(value, Deliver)]
        if len(parts) != len(values) or not parts:
            strange = next((value for value in values if not isinstance(value, Deliver)), None)
            why = strange.why if isinstance(strange, Garbled) else "not a received SMS"
            found.append({"text": None, "why": f"no readable PDU: {why}"})
            continue
        key = key_of("", parts[0])
        if key is None:
            found.append(_message(parts))
            continue
        if join:
            parts = waiting.setdefault(key, []) + parts
            waiting[key] = parts
        if is_whole(key.total, (part.concat.position for part in parts if part.concat)):
            waiting.pop(key, None)
            found.append(_message(parts))
        elif not join:
            found.append({"text": None, "why": f"{len(parts)} of {key.total} parts"})
    found += [{"text": None, "why": f"{len(parts)} of {key.total} parts"} for key, parts in waiting.items()]
    return found


def _message(parts: Sequence[Deliver]) -> dict[str, Any]:
    return {"sender": parts[0].sender, "text": join(list(parts))}


def verify_command(_options: argparse.Namespace, _places: Places) -> int:
    """Check a webhook from stdin, for `momo deliveries verify`, without opening or storing anything."""
    given = json.load(sys.stdin)
    at = given["at"]
    now_us = SystemClock().now_us() if at is None else at * SECOND_US
    body = base64.b64decode(given["body"])
    found = signature_check.check(given["headers"], body, given["secrets"], now_us)
    print_json({"success": True, "data": {"valid": found.valid, **msgspec.to_builtins(found)}})
    return EXIT_OK
