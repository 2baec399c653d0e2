"""Messages that somebody pasted or saved: where one ends, and what can be said of it without a daemon."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.terminal import Terminal
from parsers.explain import nearest
from parsers.own import load
from parsers.read import EVERY_PROVIDER, UNKNOWN, networks_of_country, read
from parsers.reading import NotPayment, Payment, Reading, Reversal, Unreadable, fields
from parsers.template import Wording

RULE: Final = "---"
"""A line of its own that parts two messages."""
TEMPLATES: Final = "templates"
PIECES_MAX: Final = 4
"""Parts of one message that empty lines can have cut it into."""
PASTED: Final = "pasted text never pays; only what the phone itself receives can"


@dataclass(frozen=True, slots=True)
class Source:
    """Which wordings are tried.

    Attributes:
        sender: The originating address, None when unknown.
        network: Short name of the only network to try.
        country: ISO 3166 code of the only country to try.
        own: The shop's own wordings.
    """

    sender: str | None = None
    network: str | None = None
    country: str | None = None
    own: tuple[Wording, ...] = ()

    def networks(self) -> tuple[str, ...] | None:
        """Return the networks whose wordings may read a message, None for those that the sender names, or all."""
        if self.network is not None:
            return (self.network,)
        return None if self.country is None else networks_of_country(self.country)


def own_of(terminal: Terminal) -> tuple[Wording, ...]:
    """Return the good wordings of the shop's own files, if there is a shop here."""
    folder = f"{terminal.located.places.home}/{TEMPLATES}"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))  # noqa: PTH208  # pathlib is not needed here
        texts = []
        for name in names:
            with open(f"{folder}/{name}", encoding="utf-8") as file:  # noqa: PTH123  # the same
                texts.append(file.read())
    except (OSError, ValueError):
        return ()
    return tuple(wording for text in texts for wording in load(text).wordings)


def check(source: Source) -> None:
    """Refuse a network or a country that no wording is known of.

    Raises:
        Failure: USAGE, naming those that there are.
    """
    known = {provider.network for provider in EVERY_PROVIDER.values()}
    if source.network is not None and source.network not in known:
        raise usage(
            f"--network: there is no {source.network!r}; there are {', '.join(sorted(known))}"
        )
    if source.country is not None and not networks_of_country(source.country):
        raise usage(f"--country: no wording is known of {source.country!r}; give a code such as GH")


def read_by(source: Source, body: str) -> Reading:
    """Read one message by the wordings that its source allows."""
    networks = source.networks()
    if networks is None:
        return read(source.sender, body, own=source.own)
    readings = [read(source.sender, body, network=network, own=source.own) for network in networks]
    understood = (found for found in readings if not isinstance(found, Unreadable))
    doubted = (
        found for found in readings if not isinstance(found, Unreadable) or found.why != UNKNOWN
    )
    return next(understood, next(doubted, readings[0]))


def messages(source: Source, text: str) -> Iterator[str]:
    """Give the messages of a pasted text, parted by a line `---` or by empty lines.

    Some messages hold an empty line themselves: pieces are put together again where only that makes them readable.
    """
    for block in _parted(text, RULE):
        pieces = list(_parted(block, ""))
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


def parted(text: str) -> list[str]:
    """Return the messages of a text that a line `---` parts, whatever they say."""
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


def told(source: Source, body: str) -> dict[str, Any]:
    """Return what one message says and why it is, or is not, a payment, as `momo parse --json` prints it."""
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
        row |= {
            "network": reading.network,
            "wording": reading.wording,
            "extra": dict(reading.extra),
        }
        return row
    networks = source.networks()
    found = nearest(body, _sending(source.sender) if networks is None else networks)
    if found is not None:
        row["why"] = f"{reading.why}; {found}" if reading.why == UNKNOWN else reading.why
        row["nearest"] = {
            "network": found.network,
            "wording": found.wording,
            "at": found.at,
            "expected": found.expected,
            "found": found.found,
        }
    return row


def _sending(sender: str | None) -> tuple[str, ...] | None:
    networks = tuple(
        provider.network for provider in EVERY_PROVIDER.values() if sender in provider.senders
    )
    return networks or None


def _why(source: Source, reading: Reading) -> str:
    if isinstance(reading, Unreadable):
        return reading.why
    if isinstance(reading, NotPayment):
        return f"{reading.kind}: no money that came in from a customer"
    if isinstance(reading, Reversal):
        return "a reversal: money that had come in was taken back"
    doubts = [PASTED]
    of = next(one for one in EVERY_PROVIDER.values() if one.network == reading.network)
    if source.sender is not None and source.sender not in of.senders:
        named = ", ".join(of.senders) or "known yet"
        doubts.append(
            f"{of.display_name} does not send from {source.sender!r}; its sender is {named}"
        )
    if reading.unverified:
        doubts.append("no genuine message has confirmed this wording yet")
    if reading.telco_id is None:
        doubts.append("it prints no transaction ID")
    return "; ".join(doubts)


def entries(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the objects of a file with one JSON object a line, each with its line's number.

    Raises:
        Failure: USAGE, naming the line.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as problem:
            raise usage(f"line {number}: no JSON: {problem}") from None
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
