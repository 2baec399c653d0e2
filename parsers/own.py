"""The shop's own wordings: a TOML text to wordings, or what is wrong with it, line by line.

Such a file is written by people in a hurry, so it holds no patterns: a wording is the message's text with its fields named,
`Payment received for {amount} from {payer_name}. ...`, a piece that may be missing in brackets. What is made of it has no
nested repetition, is held from its first character to its last, and each of its fixed pieces may stand in a message once.
It is tried on its own samples, on every cut of them, and with forged receipts typed into its free fields, before it is used.
"""

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from parsers.own_pattern import NEEDED, Wrong, pattern_of
from parsers.own_trial import PAYING, trial
from parsers.providers import WORDINGS
from parsers.reading import Kind
from parsers.template import TEXT_CHARACTERS_MAX, Found, Wording

PREFIX: Final = "own:"
"""In front of the names of such wordings, in every message that they read."""
FILE_CHARACTERS_MAX: Final = 100_000
WORDINGS_MAX: Final = 50
SAMPLES_MAX: Final = 10

KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.REVERSAL)
"""A reversal takes money back, so no wording of the shop's may say that one happened."""
KEYS: Final = ("name", "network", "kind", "text", "order", "sample")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file.

    Attributes:
        line: Where, counted from 1.
        why: What is wrong there.
        todo: What to type instead.
    """

    line: int
    why: str
    todo: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}; {self.todo}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file holds: its good wordings, and what is wrong with the others."""

    wordings: tuple[Wording, ...] = ()
    problems: tuple[Problem, ...] = ()


def load(text: str) -> Loaded:
    """Read a file of wordings. Never raises, whatever the text; one bad wording does not spoil the others."""
    if len(text) > FILE_CHARACTERS_MAX:
        return Loaded(
            problems=(Problem(1, f"longer than {FILE_CHARACTERS_MAX:,} characters", "split it"),)
        )
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at and at[1] else max(1, len(text.splitlines()))
        why = _AT_LINE.sub("", str(error)).strip() or "not TOML"
        return Loaded(problems=(Problem(line, why, "see docs/templates.md for an example"),))
    entries = document.get("wording")
    strange = [key for key in document if key != "wording"]
    if strange or not isinstance(entries, list) or not entries:
        line = _line_of(text, None, strange[0]) if strange else 1
        why = f"{strange[0]!r} does not belong here" if strange else "no wording in it"
        return Loaded(problems=(Problem(line, why, "begin each wording with [[wording]]"),))
    wordings: dict[str, Wording] = {}
    problems: list[Problem] = []
    for place, entry in enumerate(entries[:WORDINGS_MAX]):
        try:
            wording = _wording(entry)
        except Wrong as wrong:
            problems.append(Problem(_line_of(text, place, wrong.key), wrong.why, wrong.todo))
        else:
            wordings[wording.name] = wording
    if len(entries) > WORDINGS_MAX:
        line = _line_of(text, WORDINGS_MAX, "name")
        problems.append(Problem(line, f"more than {WORDINGS_MAX} wordings", "split the file"))
    return Loaded(tuple(wordings.values()), tuple(problems))


def _wording(entry: object) -> Wording:
    """Make one wording and try it."""
    if not isinstance(entry, dict):
        raise Wrong("", "a wording is a table", "begin it with [[wording]]")
    for key in entry:
        if key not in KEYS:
            raise Wrong(key, f"unknown key {key!r}", f"use only {', '.join(KEYS)}")
    name = _word(entry, "name")
    if not _NAME.fullmatch(name):
        raise Wrong(
            "name",
            f"{name!r} is no name",
            'use small letters, digits and _, such as "receipt_2027"',
        )
    network = _one_of(entry, "network", tuple(WORDINGS))
    kind = Kind(_one_of(entry, "kind", KINDS))
    order = _one_of({"order": "ymd", **entry}, "order", ("ymd", "dmy", "mdy"))
    text = _word(entry, "text")
    pattern, guards, named = pattern_of(text, network)
    missing = [field for field in NEEDED if field not in named]
    if kind in PAYING and missing:
        raise Wrong(
            "text",
            f"a wording that pays must name {{{missing[0]}}}",
            f"put {{{missing[0]}}} where the message has it, or choose a kind that is no payment",
        )
    samples = _samples(entry)
    digest = hashlib.sha256(f"{network}\n{kind}\n{order}\n{text}".encode()).hexdigest()[:8]
    country = WORDINGS[network][0].country
    wording = Wording(
        name=f"{PREFIX}{name}#{digest}",
        network=network,
        kind=kind,
        guards=guards,
        pattern=pattern,
        samples=tuple(sample["text"] for sample in samples),
        refine=_clean,
        currency=country.currency,
        country=country,
        order=order,
        once=True,
        unverified=True,
    )
    for sample in samples:
        trial(wording, sample)
    return wording


def _one_of(entry: dict[str, Any], key: str, known: Sequence[str]) -> str:
    value = _word(entry, key)
    if value not in known:
        raise Wrong(
            key, f"{value!r} is no {key} of a shop's wording", f"use one of {', '.join(known)}"
        )
    return value


def _word(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Wrong(key, f"{key} is missing or no text", f'write {key} = "..."')
    return value


def _clean(found: Found) -> str | None:
    """Refuse a message whose free fields hold a fixed word of receipts: it cannot be told whose it is."""
    for name in ("payer_name", "agent", "reference"):
        if _LABEL.search(found.get(name, "")):
            return f"fixed words of a receipt stand in the {name.replace('_', ' ')}"
    return None


_LABEL: Final = re.compile(
    r"(?:balance|\bref(?:erence)?|\bid|\bfee)\s{0,16}(?::|charged\b|is\b|was\b)",
    re.ASCII | re.IGNORECASE,
)


def _samples(entry: dict[str, Any]) -> list[dict[str, str]]:
    samples = entry.get("sample")
    if not isinstance(samples, list) or not 1 <= len(samples) <= SAMPLES_MAX:
        raise Wrong(
            "sample",
            "a wording needs 1 to 10 samples",
            "add [[wording.sample]] with text = a real message",
        )
    for sample in samples:
        if not isinstance(sample, dict) or not all(
            isinstance(value, str) for value in sample.values()
        ):
            raise Wrong(
                "sample",
                "a sample holds texts only",
                'write text = "..." and what must be read in it',
            )
        if not 1 <= len(sample.get("text", "").strip()) <= TEXT_CHARACTERS_MAX:
            raise Wrong(
                "sample",
                "a sample needs its text",
                f'write text = "..." of up to {TEXT_CHARACTERS_MAX} characters',
            )
    return samples


def _line_of(text: str, place: int | None, key: str) -> int:
    """Return the line where a key of the nth wording stands; its head where the key is missing."""
    head, seen = 1, -1
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("[[wording]]"):
            seen += 1
            head = number if seen == place else head
        if place in (None, seen) and (
            re.match(rf"\"?{re.escape(key)}\"?\s*=", bare)
            or bare.startswith((f"[[wording.{key}]]", f"[[{key}]]", f"[{key}]"))
        ):
            return number
    return head
