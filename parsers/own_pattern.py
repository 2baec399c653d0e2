"""The text of a shop's own wording, with its fields named, to a pattern: what may stand in it and what must.

Nothing of what is written is a pattern itself. What is made of it has no nested repetition, at most three free fields, each
followed by fixed text that stands in a message once, and an end that cannot be cut off unseen.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from parsers.providers import WORDINGS
from parsers.template import ADVERT, AGENT, AMOUNT, BALANCE, FEE, PAYER_NAME, PAYER_PHONE, REFERENCE

WORDING_CHARACTERS_MAX: Final = 1000
FREE_MAX: Final = 3
"""Free fields in one wording: with more of them a hostile text could take long to read."""
GUARD_CHARACTERS_MIN: Final = 6
GUARDS_MIN: Final = 2
BEHIND_FREE_MIN: Final = 3
"""Fixed characters that must follow a free field: they are how its end is known."""
FIELD_NAMES: Final = (
    "amount", "balance", "fee", "transaction_id", "payer_name", "payer_phone", "reference", "agent", "date", "time",
    "advert",
)  # fmt: skip
FREE: Final = frozenset({"payer_name", "agent", "reference", "advert"})
NEEDED: Final = ("amount", "balance", "transaction_id")
_TELCO_ID: Final = r"(?P<telco_id>[A-Za-z0-9][A-Za-z0-9.\-]{4,23}[A-Za-z0-9])"
_IDS: Final = {"mtn": r"(?P<telco_id>\d{9,15})", "telecel": r"(?P<telco_id>\d{10,18})"}
_DATE: Final = r"(?P<date>\d{1,4}[\-/.]\d{1,2}[\-/.]\d{1,4})"
_TIME: Final = r"(?P<time>\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?)"
_TOKEN: Final = re.compile(
    r"\{(?P<field>[^{}]*)\}|(?P<bracket>[\[\]])|(?P<text>[^\[\]{}]+)|(?P<stray>[{}])"
)


class Wrong(Exception):  # a value for the person, never a crash
    """What is wrong with one wording, at which key of it."""

    def __init__(self, key: str, why: str, todo: str) -> None:
        super().__init__(why)
        self.key, self.why, self.todo = key, why, todo


def pattern_of(text: str, network: str) -> tuple[str, tuple[str, ...], list[str]]:
    """Return the pattern, the guards and the fields of a wording's text."""
    if len(text) > WORDING_CHARACTERS_MAX:
        raise Wrong(
            "text",
            f"longer than {WORDING_CHARACTERS_MAX} characters",
            "leave the advert out: {advert}",
        )
    tokens = list(_tokens(" ".join(text.split())))
    named = [value for kind, value, _ in tokens if kind == "field"]
    for field in named:
        if named.count(field) > 1:
            raise Wrong("text", f"{{{field}}} stands in it twice", "name each field once")
    if sum(field in FREE for field in named) > FREE_MAX:
        raise Wrong("text", f"more than {FREE_MAX} free fields", "write out what never changes")
    _check_ends(tokens)
    guards = [
        guard
        for kind, value, optional in tokens
        if kind == "text"
        and not optional
        and len(guard := value.strip(" .,;:-")) >= GUARD_CHARACTERS_MIN
    ]
    if len(guards) < GUARDS_MIN:
        raise Wrong(
            "text",
            f"too little fixed text: {GUARDS_MIN} pieces of {GUARD_CHARACTERS_MIN} characters are needed",
            "write out the words around the fields",
        )
    pattern = ""
    for place, (kind, value, _) in enumerate(tokens):
        if kind == "field":
            pattern += _field(value, network)
        elif kind == "bracket":
            pattern += "(?:" if value == "[" else ")?"
        else:
            before = tokens[place - 1][1] if place else ""
            after = tokens[place + 1][1] if place + 1 < len(tokens) else ""
            # Free fields take the white space around them in.
            left = (
                ""
                if before in {"reference", "advert"}
                else value[: len(value) - len(value.lstrip())]
            )
            right = "" if after in {"reference", "advert"} else value[len(value.rstrip()) :]
            words = " ".join(re.escape(word).replace("~", r"\x7e") for word in value.split())
            # A lone dash is any dash, as in our own wordings.
            pattern += (left + words + (right if words or not left else "")).replace(r" \- ", " - ")
    return pattern, tuple(dict.fromkeys(guards)), named


def _tokens(text: str) -> Iterator[tuple[str, str, bool]]:
    """Give (kind, value, optional) of each piece: `field`, `text` or `bracket`."""
    inside = False
    for match in _TOKEN.finditer(text):
        if match["stray"]:
            raise Wrong("text", f"a stray {match['stray']}", "write fields as {amount}")
        if match["bracket"]:
            if (match["bracket"] == "[") == inside:
                raise Wrong(
                    "text",
                    "brackets inside brackets, or one without its other",
                    "close each [ with ]",
                )
            inside = not inside
            yield "bracket", match["bracket"], True
        elif match["text"]:
            yield "text", match["text"], inside
        else:
            field = match["field"]
            if field not in FIELD_NAMES:
                raise Wrong("text", f"no field {{{field}}}", f"use one of {', '.join(FIELD_NAMES)}")
            if inside and field in FREE | set(NEEDED):
                raise Wrong(
                    "text", f"{{{field}}} may not stand in brackets", "write it without [ ]"
                )
            yield "field", field, inside
    if inside:
        raise Wrong("text", "a [ without its ]", "close it")


def _check_ends(tokens: Sequence[tuple[str, str, bool]]) -> None:
    """See that the end of each free field is known, and that the message's end is proven."""
    for place, (kind, value, _) in enumerate(tokens):
        if kind != "field":
            continue
        behind = tokens[place + 1] if place + 1 < len(tokens) else None
        fixed = behind is not None and behind[0] == "text" and not behind[2]
        if value == "advert":
            if behind is not None:
                raise Wrong(
                    "text", "{advert} stands for what follows the receipt", "put it at the very end"
                )
        elif value in FREE and not (fixed and behind and len(behind[1].strip()) >= BEHIND_FREE_MIN):
            raise Wrong(
                "text",
                f"it cannot be told where {{{value}}} ends",
                f"write out at least {BEHIND_FREE_MIN} fixed characters behind it",
            )
        elif behind is None or behind[1] == "advert":
            raise Wrong(
                "text", f"{{{value}}} at the end could be cut", "write the full stop behind it too"
            )


def _field(name: str, network: str) -> str:
    """Return the pattern of a field."""
    country = next(iter(WORDINGS[network])).country
    ghana = country.region == "GH"
    exact = None if country.spaced or country.currency in {"UGX", "RWF", "XAF", "XOF"} else 2
    return {
        "amount": AMOUNT if ghana else country.either("amount"),
        "balance": BALANCE if ghana else country.either("balance", decimals=exact),
        "fee": FEE if ghana else country.loose("fee"),
        "transaction_id": _IDS.get(network, _TELCO_ID),
        "payer_name": PAYER_NAME,
        "payer_phone": PAYER_PHONE,
        "reference": REFERENCE,
        "agent": AGENT,
        "date": _DATE,
        "time": _TIME,
        "advert": ADVERT,
    }[name]
