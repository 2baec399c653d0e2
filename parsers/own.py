"""The shop's own wordings: read from TOML, with errors by line, and tried on samples.

Such a file contains no regular expressions: a wording is the message's text with named fields, `Payment received for
{amount} from {payer_name}. ...`, with optional pieces in brackets. The pattern made from it has no nested repetition and
matches the whole message, and each of its fixed pieces may occur in a message once. Before it is used, it is tried on its
own samples, on every truncation of them, and with forged receipts typed into its free fields.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parsers.explain import nearest_of
from parsers.own_pattern import FREE_FIELDS, REQUIRED_FIELDS, InvalidWording, pattern_of
from parsers.pasted import MESSAGE_CHARACTERS_MAX
from parsers.providers import WORDINGS
from parsers.read import collapse_spaces, compile_pattern, normalize_spaces, read_with
from parsers.reading import Kind, NotPayment, Payment, Unreadable, fields
from parsers.wording import Groups, Wording

FORGERIES_MAX: Final = 40
RECEIVED_KINDS: Final = frozenset({Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN})
PREFIX: Final = "own:"
"""Prefix of the names of such wordings, as stored with every message that they read."""
FILE_CHARACTERS_MAX: Final = 100_000
WORDINGS_MAX: Final = 50
SAMPLES_MAX: Final = 10
KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.REVERSAL)
"""Not `REVERSAL`: a reversal takes money back, so a shop's own wording may not report one."""
KEYS: Final = ("name", "network", "kind", "text", "order", "sample")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
_LABEL: Final = re.compile(
    r"(?:balance|\bref(?:erence)?|\bid|\bfee)\s{0,16}(?::|charged\b|is\b|was\b)", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a file.

    Attributes:
        line: Line number, from 1.
        why: The error.
        todo: The correction to type.
    """

    line: int
    why: str
    todo: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}; {self.todo}"


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The valid wordings of a file, and the errors of the others."""

    wordings: tuple[Wording, ...] = ()
    problems: tuple[Problem, ...] = ()


def load_wordings(text: str) -> LoadedFile:
    """Read a file of wordings. Never raises for any text; a bad wording does not affect the others."""
    if len(text) > FILE_CHARACTERS_MAX:
        return LoadedFile(problems=(Problem(1, f"longer than {FILE_CHARACTERS_MAX:,} characters", "split it"),))
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at and at[1] else max(1, len(text.splitlines()))
        why = _AT_LINE.sub("", str(error)).strip() or "not TOML"
        return LoadedFile(problems=(Problem(line, why, "see docs/operators/templates.md for an example"),))
    entries = document.get("wording")
    strange = [key for key in document if key != "wording"]
    if strange or not isinstance(entries, list) or not entries:
        line = _line_of(text, None, strange[0]) if strange else 1
        why = f"unknown section {strange[0]!r}" if strange else "the file has no wording"
        return LoadedFile(problems=(Problem(line, why, "begin each wording with [[wording]]"),))
    wordings: dict[str, Wording] = {}
    problems: list[Problem] = []
    for place, entry in enumerate(entries[:WORDINGS_MAX]):
        try:
            wording = _wording(entry)
        except InvalidWording as wrong:
            problems.append(Problem(_line_of(text, place, wrong.key), wrong.why, wrong.todo))
        else:
            wordings[wording.name] = wording
    if len(entries) > WORDINGS_MAX:
        line = _line_of(text, WORDINGS_MAX, "name")
        problems.append(Problem(line, f"more than {WORDINGS_MAX} wordings", "split the file"))
    return LoadedFile(tuple(wordings.values()), tuple(problems))


def _wording(entry: object) -> Wording:
    """Make one wording and try it on its samples."""
    if not isinstance(entry, dict):
        raise InvalidWording("", "a wording is a table", "begin it with [[wording]]")
    for key in entry:
        if key not in KEYS:
            raise InvalidWording(key, f"unknown key {key!r}", f"use only {', '.join(KEYS)}")
    name = _word(entry, "name")
    if not _NAME.fullmatch(name):
        raise InvalidWording(
            "name", f"{name!r} is not a valid name", 'use small letters, digits and _, such as "receipt_2027"'
        )
    network = _one_of(entry, "network", tuple(WORDINGS))
    kind = Kind(_one_of(entry, "kind", KINDS))
    order = _one_of({"order": "ymd", **entry}, "order", ("ymd", "dmy", "mdy"))
    text = _word(entry, "text")
    pattern, guards, named = pattern_of(text, network)
    missing = [field for field in REQUIRED_FIELDS if field not in named]
    if kind in RECEIVED_KINDS and missing:
        raise InvalidWording(
            "text",
            f"a wording of received money must have the field {{{missing[0]}}}",
            f"put {{{missing[0]}}} at its place in the message, or choose another kind",
        )
    samples = _samples(entry)
    digest = hashlib.sha256(f"{network}\n{kind}\n{order}\n{text}".encode()).hexdigest()[:8]
    wording = Wording(
        name=f"{PREFIX}{name}#{digest}",
        network=network,
        kind=kind,
        guards=guards,
        pattern=pattern,
        samples=tuple(sample["text"] for sample in samples),
        refine=_clean,
        order=order,
        once=True,
        unverified=True,
    )
    for sample in samples:
        check_sample(wording, sample)
    return wording


def _one_of(entry: dict[str, Any], key: str, known: Sequence[str]) -> str:
    value = _word(entry, key)
    if value not in known:
        raise InvalidWording(key, f"{value!r} is not a valid {key}", f"use one of {', '.join(known)}")
    return value


def _word(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InvalidWording(key, f"{key} is missing or not a text", f'write {key} = "..."')
    return value


def _clean(found: Groups) -> str | None:
    """Reject a message with a fixed word of receipts in a free field: the payer could have typed it."""
    for name in ("payer_name", "agent", "reference"):
        if _LABEL.search(found.get(name, "")):
            return f"the {name.replace('_', ' ')} contains fixed words of a receipt"
    return None


def _samples(entry: dict[str, Any]) -> list[dict[str, str]]:
    samples = entry.get("sample")
    if not isinstance(samples, list) or not 1 <= len(samples) <= SAMPLES_MAX:
        raise InvalidWording(
            "sample", "a wording needs 1 to 10 samples", "add [[wording.sample]] with text = a real message"
        )
    for sample in samples:
        if not isinstance(sample, dict) or not all(isinstance(value, str) for value in sample.values()):
            raise InvalidWording(
                "sample", "a sample may contain texts only", 'write text = "..." and the fields that must be read'
            )
        if not 1 <= len(sample.get("text", "").strip()) <= MESSAGE_CHARACTERS_MAX:
            raise InvalidWording(
                "sample", "a sample needs its text", f'write text = "..." of up to {MESSAGE_CHARACTERS_MAX} characters'
            )
    return samples


def _line_of(text: str, place: int | None, key: str) -> int:
    """Return the line of a key in the nth wording, or the first line of the wording if the key is missing."""
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


def check_sample(wording: Wording, sample: dict[str, str]) -> None:
    """Read a sample complete, cut off and forged.

    Raises:
        Wrong: The sample is not read as it says, or an attack succeeds.
    """
    text = normalize_spaces(sample["text"]).strip()
    reading = read_with(wording, text, collapse_spaces(text))
    if reading is None:
        near = nearest_of(text, [wording])
        raise InvalidWording(
            "sample",
            f"the wording does not read its sample: {near or 'they have no words in common'}",
            "correct one of them",
        )
    if isinstance(reading, Unreadable):
        raise InvalidWording("sample", f"the sample is rejected: {reading.why}", "correct the wording or the sample")
    said = fields(reading)
    for field, wanted in sample.items():
        found = said.get(field, reading.extra.get(field))
        if field != "text" and found != wanted:
            why = f"{field} is read as {found!r}, not {wanted!r}"
            raise InvalidWording("sample", why, "correct the wording or the sample")
    if wording.kind in RECEIVED_KINDS:
        _attack(wording, text)


def _attack(wording: Wording, text: str) -> None:
    """Check that neither a truncation nor typed text changes the reading of the sample."""
    whole = _facts(wording, text)
    for end in range(1, len(text)):
        if _facts(wording, text[:end]) not in (None, whole):
            raise InvalidWording(
                "text",
                f"a message cut off after {text[max(0, end - 20) : end]!r} would be read differently",
                "put fixed text after each field",
            )
    match = compile_pattern(wording.pattern).fullmatch(text)
    assert match is not None, "it was read"
    for name in FREE_FIELDS & set(match.re.groupindex):
        start, stop = match.span(name)
        for forged in _forgeries(text):
            if _facts(wording, f"{text[:start]}{forged}{text[stop:]}") not in (None, whole):
                raise InvalidWording(
                    "text", f"text typed into {{{name}}} could imitate the receipt", "write more fixed text around it"
                )


def _forgeries(text: str) -> Iterator[str]:
    """Yield pieces of the receipt with other digits: the most dangerous contents of a free field."""
    forged = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), text)
    cuts = [match.start() for match in re.finditer(r"(?<=[\s.:,])\S", forged)]
    step = max(1, len(cuts) // FORGERIES_MAX)
    yield forged
    for cut in cuts[::step]:
        yield forged[cut:]
        yield forged[:cut]


def _facts(wording: Wording, text: str) -> tuple[object, ...] | None:
    reading = read_with(wording, text.strip(), collapse_spaces(text))
    if not isinstance(reading, Payment | NotPayment):
        return None
    return (reading.amount, reading.balance, reading.telco_id, reading.payer_phone_printed)
