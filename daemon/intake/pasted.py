"""PDUs that a person saved, decoded by the codec that reads them from modems. Nothing is stored."""

from collections.abc import Iterable, Sequence
from typing import Any

from daemon.modem import parts as joining
from daemon.modem import pdu as codec
from daemon.modem.pdu_values import Deliver, Garbled


def decode(groups: Iterable[Sequence[str]], *, join: bool) -> list[dict[str, Any]]:
    """Return `{sender, text}` of each message, or `{text: None, why}` for what is none.

    Args:
        groups: The PDUs of each message.
        join: The parts of long messages stand in groups of their own, anywhere; put them together.
    """
    found: list[dict[str, Any]] = []
    waiting: dict[joining.PartKey, list[Deliver]] = {}
    for group in groups:
        values = [codec.decode(pdu) for pdu in group]
        parts = [value for value in values if isinstance(value, Deliver)]
        if len(parts) != len(values) or not parts:
            strange = next((value for value in values if not isinstance(value, Deliver)), None)
            why = strange.why if isinstance(strange, Garbled) else "not a received SMS"
            found.append({"text": None, "why": f"no readable PDU: {why}"})
            continue
        key = joining.key_of("", parts[0])
        if key is None:
            found.append(_message(parts))
            continue
        if join:
            parts = waiting.setdefault(key, []) + parts
            waiting[key] = parts
        if joining.is_whole(key.total, (part.concat.position for part in parts if part.concat)):
            waiting.pop(key, None)
            found.append(_message(parts))
        elif not join:
            found.append({"text": None, "why": f"{len(parts)} of {key.total} parts"})
    found += [
        {"text": None, "why": f"{len(parts)} of {key.total} parts"}
        for key, parts in waiting.items()
    ]
    return found


def _message(parts: Sequence[Deliver]) -> dict[str, Any]:
    return {"sender": parts[0].sender, "text": joining.join(list(parts))}
