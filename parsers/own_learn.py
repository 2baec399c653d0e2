"""Proposal of a wording from a few messages with marked fields.

A mark encloses the field in the message itself, `{amount:GHS 70.00}`. A proposal has passed the checks of `parsers.own`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parsers.own import load_wordings
from parsers.own_pattern import FIELD_NAMES
from parsers.read import collapse_spaces, normalize_spaces, read_with
from parsers.reading import Unreadable, fields
from parsers.wording import CEDI

_MARK: Final = re.compile(r"\{(?P<field>[a-z_]+):(?P<value>[^{}]+)\}")
_CURRENCY_BEFORE: Final = re.compile(rf"{CEDI}\s{{0,3}}$")
_CURRENCY_BEHIND: Final = re.compile(rf"^\s{{0,3}}{CEDI}(?![A-Za-z])")
_MONEY: Final = frozenset({"amount", "balance", "fee"})


class CannotPropose(Exception):
    """No wording can be proposed; the text is the reason."""


@dataclass(frozen=True, slots=True)
class MarkedMessage:
    """A message as received, and its text with the fields replaced by their names."""

    message: str
    text: str


def parse_marks(sample: str, values: Mapping[str, str] | None = None) -> MarkedMessage:
    """Parse a message with marks, or mark the first occurrence of each given value.

    Raises:
        NotLearnt: A field is unknown, or a value does not occur in the message.
    """
    sample = normalize_spaces(sample)
    for field, value in (values or {}).items():
        if f"{{{field}:" in sample:
            continue
        at = sample.find(value)
        if not value or at < 0:
            raise CannotPropose(f"{field}: the message does not contain {value!r}")
        sample = f"{sample[:at]}{{{field}:{value}}}{sample[at + len(value) :]}"
    message, text, end = "", "", 0
    for match in _MARK.finditer(sample):
        field, value = match["field"], match["value"]
        if field not in FIELD_NAMES:
            raise CannotPropose(f"unknown field {field!r}; use one of {', '.join(FIELD_NAMES)}")
        between = sample[end : match.start()]
        message += between + value
        end = match.end()
        if field in _MONEY:
            # The currency is part of the amount.
            between = _CURRENCY_BEFORE.sub("", between)
            behind = _CURRENCY_BEHIND.match(sample[end:])
            if behind is not None:
                message += behind[0]
                end += behind.end()
        text += between + "{" + field + "}"
    return MarkedMessage((message + sample[end:]).strip(), " ".join((text + sample[end:]).split()))


def propose_wording(name: str, network: str, kind: str, samples: Sequence[MarkedMessage]) -> str:
    """Return the TOML of a wording that reads all samples.

    Raises:
        NotLearnt: The samples differ in more than their fields and their ends, or the wording fails its checks.
    """
    if not samples:
        raise CannotPropose("there are no messages")
    text = samples[0].text
    for other in samples[1:]:
        text = _common(text, other.text)
    head = [f"name = {_quoted(name)}", f"network = {_quoted(network)}", f"kind = {_quoted(kind)}"]
    lines = ["[[wording]]", *head, f"text = {_quoted(text)}"]
    for sample in samples:
        lines += ["", "[[wording.sample]]", f"text = {_quoted(sample.message)}"]
    loaded = load_wordings("\n".join(lines) + "\n")
    if loaded.problems:
        raise CannotPropose("; ".join(f"{one.why}: {one.todo}" for one in loaded.problems))
    [wording] = loaded.wordings
    lines = lines[:5]
    for sample in samples:
        reading = read_with(wording, sample.message, collapse_spaces(sample.message))
        assert reading is not None, "the samples were read"
        assert not isinstance(reading, Unreadable), "the samples were read"
        said = ((word, value) for word, value in fields(reading).items() if value is not None)
        lines += ["", "[[wording.sample]]", f"text = {_quoted(sample.message)}", *_lines(said)]
    return "\n".join(lines) + "\n"


def _lines(said: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{word} = {_quoted(value)}" for word, value in said]


def _common(one: str, other: str) -> str:
    """Return the common text; different ends become an advert."""
    one, other = one.removesuffix("{advert}"), other.removesuffix("{advert}")
    if one == other:
        return one
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    # Go back to the end of the last complete sentence that both share.
    cut = max(one.rfind(". ", 0, same), one.rfind("! ", 0, same), same - 1 if one[same - 1 : same] in ".!" else -1) + 1
    if cut <= 0 or "{" in one[cut:] or "{" in other[cut:]:
        where = one[max(0, same - 20) : same + 20]
        raise CannotPropose(
            f"the messages differ near {where!r}: mark the field there, or learn each message separately"
        )
    return one[:cut] + "{advert}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
