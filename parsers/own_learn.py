"""A proposal for a wording, from a few messages in which a person has marked the fields.

A mark stands around the field in the message itself, `{amount:GHS 70.00}`. What is proposed has passed `parsers.own`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parsers.match import plain, read_with, squeeze
from parsers.own import load
from parsers.own_pattern import FIELD_NAMES
from parsers.reading import Unreadable, fields
from parsers.template import CEDI

_MARK: Final = re.compile(r"\{(?P<field>[a-z_]+):(?P<value>[^{}]+)\}")
_CURRENCY_BEFORE: Final = re.compile(rf"{CEDI}\s{{0,3}}$")
_CURRENCY_BEHIND: Final = re.compile(rf"^\s{{0,3}}{CEDI}(?![A-Za-z])")
_MONEY: Final = frozenset({"amount", "balance", "fee"})


class NotLearnt(Exception):
    """No wording can be proposed, and why."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A message as it came, and the text that is left of it when its fields are named."""

    message: str
    text: str


def marked(sample: str, values: Mapping[str, str] | None = None) -> Marked:
    """Return a message whose fields are marked inside it, or whose fields are these values, each where it stands first.

    Raises:
        NotLearnt: A field that there is not, or a value that does not stand in the message.
    """
    sample = plain(sample)
    for field, value in (values or {}).items():
        if f"{{{field}:" in sample:
            continue
        at = sample.find(value)
        if not value or at < 0:
            raise NotLearnt(f"{field}: {value!r} does not stand in the message")
        sample = f"{sample[:at]}{{{field}:{value}}}{sample[at + len(value) :]}"
    message, text, end = "", "", 0
    for match in _MARK.finditer(sample):
        field, value = match["field"], match["value"]
        if field not in FIELD_NAMES:
            raise NotLearnt(f"there is no field {field!r}; there are {', '.join(FIELD_NAMES)}")
        between = sample[end : match.start()]
        message += between + value
        end = match.end()
        if field in _MONEY:
            # The currency belongs to the amount.
            between = _CURRENCY_BEFORE.sub("", between)
            behind = _CURRENCY_BEHIND.match(sample[end:])
            if behind is not None:
                message += behind[0]
                end += behind.end()
        text += between + "{" + field + "}"
    return Marked((message + sample[end:]).strip(), " ".join((text + sample[end:]).split()))


def propose(name: str, network: str, kind: str, samples: Sequence[Marked]) -> str:
    """Return the TOML of a wording that reads all of these.

    Raises:
        NotLearnt: They differ in more than their fields and their ends, or the wording does not pass its tests.
    """
    if not samples:
        raise NotLearnt("there is no message in it")
    text = samples[0].text
    for other in samples[1:]:
        text = _common(text, other.text)
    head = [f"name = {_quoted(name)}", f"network = {_quoted(network)}", f"kind = {_quoted(kind)}"]
    lines = ["[[wording]]", *head, f"text = {_quoted(text)}"]
    for sample in samples:
        lines += ["", "[[wording.sample]]", f"text = {_quoted(sample.message)}"]
    loaded = load("\n".join(lines) + "\n")
    if loaded.problems:
        raise NotLearnt("; ".join(f"{one.why}: {one.todo}" for one in loaded.problems))
    [wording] = loaded.wordings
    lines = lines[:5]
    for sample in samples:
        reading = read_with(wording, sample.message, squeeze(sample.message))
        assert reading is not None, "the samples were read"
        assert not isinstance(reading, Unreadable), "the samples were read"
        said = ((word, value) for word, value in fields(reading).items() if value is not None)
        lines += ["", "[[wording.sample]]", f"text = {_quoted(sample.message)}", *_lines(said)]
    return "\n".join(lines) + "\n"


def _lines(said: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{word} = {_quoted(value)}" for word, value in said]


def _common(one: str, other: str) -> str:
    """Return what two texts share; ends that differ are an advert."""
    one, other = one.removesuffix("{advert}"), other.removesuffix("{advert}")
    if one == other:
        return one
    same = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    # Back to the end of the last sentence that both have whole.
    cut = (
        max(
            one.rfind(". ", 0, same),
            one.rfind("! ", 0, same),
            same - 1 if one[same - 1 : same] in ".!" else -1,
        )
        + 1
    )
    if cut <= 0 or "{" in one[cut:] or "{" in other[cut:]:
        where = one[max(0, same - 20) : same + 20]
        raise NotLearnt(
            f"the messages differ around {where!r}: mark the field there, or learn them one by one"
        )
    return one[:cut] + "{advert}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
