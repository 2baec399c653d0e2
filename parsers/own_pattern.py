"""Conversion of the text of a shop's own wording, with named fields, to a pattern; checks of that text.

No part of the text is a regular expression itself. The resulting pattern has no nested repetition and at most three free
fields, each followed by fixed text that occurs once in a message, and its end cannot be cut off unnoticed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from parsers.wording import ADVERT, AGENT, AMOUNT, BALANCE, FEE, PAYER_NAME, PAYER_PHONE, REFERENCE

WORDING_CHARACTERS_MAX: Final = 1000
FREE_MAX: Final = 3
"""Free fields in one wording; with more, a hostile text could be slow to read."""
GUARD_CHARACTERS_MIN: Final = 6
GUARDS_MIN: Final = 2
BEHIND_FREE_MIN: Final = 3
"""Fixed characters that must follow a free field, because they mark its end."""
FIELD_NAMES: Final = (
    "amount", "balance", "fee", "transaction_id", "payer_name", "payer_phone", "reference", "agent", "date", "time",
    "advert",
)  # fmt: skip
FREE_FIELDS: Final = frozenset({"payer_name", "agent", "reference", "advert"})
REQUIRED_FIELDS: Final = ("amount", "balance", "transaction_id")
_TELCO_ID: Final = r"(?P<telco_id>[A-Za-z0-9][A-Za-z0-9.\-]{4,23}[A-Za-z0-9])"
_IDS: Final = {"mtn": r"(?P<telco_id>\d{9,15})", "telecel": r"(?P<telco_id>\d{10,18})"}
_DATE: Final = r"(?P<date>\d{1,4}[\-/.]\d{1,2}[\-/.]\d{1,4})"
_TIME: Final = r"(?P<time>\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?)"
_TOKEN: Final = re.compile(r"\{(?P<field>[^{}]*)\}|(?P<bracket>[\[\]])|(?P<text>[^\[\]{}]+)|(?P<stray>[{}])")


class InvalidWording(Exception):  # a message for the operator, never a crash
    """An error in one wording, with its key."""

    def __init__(self, key: str, why: str, todo: str) -> None:
        super().__init__(why)
        self.key, self.why, self.todo = key, why, todo


def pattern_of(text: str, network: str) -> tuple[str, tuple[str, ...], list[str]]:
    """Return the pattern, the guards and the fields of a wording's text.

    Raises:
        Wrong: The text is not allowed.
    """
    if len(text) > WORDING_CHARACTERS_MAX:
        raise InvalidWording(
            "text", f"longer than {WORDING_CHARACTERS_MAX} characters", "leave the advert out: {advert}"
        )
    tokens = list(_tokens(" ".join(text.split())))
    named = [value for kind, value, _ in tokens if kind == "field"]
    for field in named:
        if named.count(field) > 1:
            raise InvalidWording("text", f"{{{field}}} occurs twice", "name each field once")
    if sum(field in FREE_FIELDS for field in named) > FREE_MAX:
        raise InvalidWording("text", f"more than {FREE_MAX} free fields", "write out what never changes")
    _check_ends(tokens)
    guards = [
        guard
        for kind, value, optional in tokens
        if kind == "text" and not optional and len(guard := value.strip(" .,;:-")) >= GUARD_CHARACTERS_MIN
    ]
    if len(guards) < GUARDS_MIN:
        raise InvalidWording(
            "text",
            f"too little fixed text: {GUARDS_MIN} pieces of {GUARD_CHARACTERS_MIN} characters are needed",
            "write out the words around the fields",
        )
    pattern = ""
    for place, (kind, value, _) in enumerate(tokens):
        if kind == "field":
            pattern += {
                "amount": AMOUNT,
                "balance": BALANCE,
                "fee": FEE,
                "transaction_id": _IDS.get(network, _TELCO_ID),
                "payer_name": PAYER_NAME,
                "payer_phone": PAYER_PHONE,
                "reference": REFERENCE,
                "agent": AGENT,
                "date": _DATE,
                "time": _TIME,
                "advert": ADVERT,
            }[value]
        elif kind == "bracket":
            pattern += "(?:" if value == "[" else ")?"
        else:
            before = tokens[place - 1][1] if place else ""
            after = tokens[place + 1][1] if place + 1 < len(tokens) else ""
            # Free fields include the white space around them.
            left = "" if before in {"reference", "advert"} else value[: len(value) - len(value.lstrip())]
            right = "" if after in {"reference", "advert"} else value[len(value.rstrip()) :]
            words = " ".join(re.escape(word).replace("~", r"\x7e") for word in value.split())
            # A dash between spaces matches any dash, as in the built-in wordings.
            pattern += (left + words + (right if words or not left else "")).replace(r" \- ", " - ")
    return pattern, tuple(dict.fromkeys(guards)), named


def _tokens(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield (kind, value, optional) of each piece: `field`, `text` or `bracket`."""
    inside = False
    for match in _TOKEN.finditer(text):
        if match["stray"]:
            raise InvalidWording("text", f"a stray {match['stray']}", "write fields as {amount}")
        if match["bracket"]:
            if (match["bracket"] == "[") == inside:
                raise InvalidWording(
                    "text", "brackets inside brackets, or a bracket without its partner", "close each [ with ]"
                )
            inside = not inside
            yield "bracket", match["bracket"], True
        elif match["text"]:
            yield "text", match["text"], inside
        else:
            field = match["field"]
            if field not in FIELD_NAMES:
                raise InvalidWording("text", f"unknown field {{{field}}}", f"use one of {', '.join(FIELD_NAMES)}")
            if inside and field in FREE_FIELDS | set(REQUIRED_FIELDS):
                raise InvalidWording("text", f"{{{field}}} may not be in brackets", "write it without [ ]")
            yield "field", field, inside
    if inside:
        raise InvalidWording("text", "a [ without its ]", "close it")


def _check_ends(tokens: Sequence[tuple[str, str, bool]]) -> None:
    """Check that fixed text marks the end of each free field and the end of the message."""
    for place, (kind, value, _) in enumerate(tokens):
        if kind != "field":
            continue
        behind = tokens[place + 1] if place + 1 < len(tokens) else None
        fixed = behind is not None and behind[0] == "text" and not behind[2]
        if value == "advert":
            if behind is not None:
                raise InvalidWording("text", "{advert} is the text after the receipt", "put it at the very end")
        elif value in FREE_FIELDS and not (fixed and behind and len(behind[1].strip()) >= BEHIND_FREE_MIN):
            raise InvalidWording(
                "text",
                f"the end of {{{value}}} cannot be found",
                f"write at least {BEHIND_FREE_MIN} fixed characters after it",
            )
        elif behind is None or behind[1] == "advert":
            raise InvalidWording("text", f"{{{value}}} at the end could be cut off", "write the full stop after it too")
