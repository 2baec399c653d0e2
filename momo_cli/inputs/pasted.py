"""Pasted or saved messages: splitting the text into messages, and reading each without a daemon."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.inputs.typed_values import check_choice
from momo_cli.show.terminal import Terminal
from parsers.explain import nearest
from parsers.own import load_wordings
from parsers.read import EVERY_PROVIDER, UNKNOWN, read
from parsers.reading import NotPayment, Payment, Reading, Reversal, Unreadable, fields
from parsers.wording import Wording

RULE: Final = "---"
"""A line that separates two messages."""
TEMPLATES: Final = "templates"
PIECES_MAX: Final = 4
"""The most pieces into which empty lines can have split one message."""
PASTED_NOTE: Final = "pasted text is never a payment; only a message received by the phone can be"


@dataclass(frozen=True, slots=True)
class Source:
    """The wordings to try.

    Attributes:
        sender: The originating address, None when unknown.
        network: Short name of the only network to try.
        own: The shop's own wordings.
    """

    sender: str | None = None
    network: str | None = None
    own: tuple[Wording, ...] = ()


def own_wordings(terminal: Terminal) -> tuple[Wording, ...]:
    """Return the valid wordings of the shop's own files, if there is a shop."""
    folder = f"{terminal.located.places.home}/{TEMPLATES}"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))  # noqa: PTH208  # pathlib is not needed here
        texts = []
        for name in names:
            with open(f"{folder}/{name}", encoding="utf-8") as file:  # noqa: PTH123  # the same
                texts.append(file.read())
    except (OSError, ValueError):
        return ()
    return tuple(wording for text in texts for wording in load_wordings(text).wordings)


def check_network(source: Source) -> None:
    """Reject a network without known wordings (exit 2), and list the known ones."""
    known = {provider.network for provider in EVERY_PROVIDER.values()}
    check_choice(source.network, "--network", sorted(known))


def read_by(source: Source, body: str) -> Reading:
    """Read one message with the wordings of its source."""
    return read(source.sender, body, network=source.network, own=source.own)


def split_messages(source: Source, text: str) -> Iterator[str]:
    """Yield the messages of a pasted text, separated by a line `---` or by empty lines.

    Some messages contain an empty line: pieces are joined again if only the joined text can be read.
    """
    for block in _parted(text, RULE):
        pieces: list[str] = []
        for piece in _parted(block, ""):
            # A receipt can be read without its reference, but no message begins with one.
            if pieces and piece.startswith("Ref"):
                pieces[-1] += f"\n\n{piece}"
            else:
                pieces.append(piece)
        while pieces:
            taken = next(
                (
                    count
                    for count in range(1, min(len(pieces), PIECES_MAX) + 1)
                    if not isinstance(read_by(source, "\n\n".join(pieces[:count])), Unreadable)
                ),
                1,
            )
            yield "\n\n".join(pieces[:taken])
            del pieces[:taken]


def split_by_rule(text: str) -> list[str]:
    """Return the messages of a text, separated only by lines `---`."""
    return list(_parted(text, RULE))


def _parted(text: str, mark: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*text.splitlines(), mark]:
        if line.strip() == mark:
            if any(one.strip() for one in lines):
                yield "\n".join(lines).strip()
            lines = []
        else:
            lines.append(line)


def describe_message(source: Source, body: str) -> dict[str, Any]:
    """Return the fields of one message and why it is, or is not, a payment, as `momo messages parse --json` prints it."""
    reading = read_by(source, body)
    row: dict[str, Any] = {
        "kind": str(reading.kind),
        "network": None,
        "wording": None,
        "sender": source.sender,
        "is_receipt": isinstance(reading, Payment),
        "why": _why(source, reading),
        "fields": fields(reading),
        "extra": {},
        "nearest": None,
    }
    if not isinstance(reading, Unreadable):
        row |= {"network": reading.network, "wording": reading.wording}
        return row | {"extra": dict(reading.extra)}
    found = nearest(body, _sending(source.sender) if source.network is None else (source.network,))
    if found is not None:
        row["why"] = f"{reading.why}; {found}" if reading.why == UNKNOWN else reading.why
        names = ("network", "wording", "at", "expected", "found")
        row["nearest"] = {name: getattr(found, name) for name in names}
    return row


def _sending(sender: str | None) -> tuple[str, ...] | None:
    senders = EVERY_PROVIDER.values()
    return tuple(one.network for one in senders if sender in one.senders) or None


def _why(source: Source, reading: Reading) -> str:
    if isinstance(reading, Unreadable):
        return reading.why
    if isinstance(reading, NotPayment):
        return f"{reading.kind}: not money received from a customer"
    if isinstance(reading, Reversal):
        return "a reversal: the network took a payment back"
    doubts = [PASTED_NOTE]
    of = next(one for one in EVERY_PROVIDER.values() if one.network == reading.network)
    if source.sender is not None and source.sender not in of.senders:
        known = f"its sender is {', '.join(of.senders) or 'not known yet'}"
        doubts.append(f"{of.display_name} does not send from {source.sender!r}; {known}")
    if reading.unverified:
        doubts.append("no genuine message has confirmed this wording yet")
    if reading.telco_id is None:
        doubts.append("it has no transaction ID")
    return "; ".join(doubts)


def json_entries(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line of JSON; fail (exit 2) with the number of a wrong line."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as problem:
            raise usage(f"line {number}: not JSON: {problem}") from None
        if not isinstance(entry, dict) or not isinstance(
            entry.get("text", entry.get("pdu")), str | list
        ):
            raise usage(
                f'line {number}: give {{"sender": "MobileMoney", "text": "..."}} or {{"pdu": "..."}}'
            )
        yield number, entry


def pdus_of(entry: dict[str, Any]) -> Sequence[str]:
    """Return the PDUs of one entry: one, or a list of the parts of a long message."""
    given = entry.get("pdu")
    found: Iterable[Any] = given if isinstance(given, list) else [given]
    return [str(pdu) for pdu in found]
