"""A shop's own wording tried on its samples: whole, cut off at every place, and with forged receipts in its free fields."""

import re
from collections.abc import Iterator
from typing import Final

from parsers.explain import nearest_of
from parsers.match import compiled, plain, read_with, squeeze
from parsers.own_pattern import FREE, Wrong
from parsers.reading import Kind, NotPayment, Payment, Unreadable, fields
from parsers.template import Wording

FORGERIES_MAX: Final = 40
PAYING: Final = frozenset({Kind.PAYMENT_RECEIVED, Kind.MERCHANT_PAYMENT, Kind.CASH_IN})


def trial(wording: Wording, sample: dict[str, str]) -> None:
    """Read a sample whole, cut and forged."""
    text = plain(sample["text"]).strip()
    reading = read_with(wording, text, squeeze(text))
    if reading is None:
        near = nearest_of(text, [wording])
        raise Wrong(
            "sample",
            f"the wording does not read its sample: {near or 'they share no words'}",
            "correct one of them",
        )
    if isinstance(reading, Unreadable):
        raise Wrong(
            "sample",
            f"the sample is not believed: {reading.why}",
            "correct the wording or the sample",
        )
    said = fields(reading)
    for field, wanted in sample.items():
        found = said.get(field, reading.extra.get(field))
        if field != "text" and found != wanted:
            why = f"{field} reads {found!r} and not {wanted!r}"
            raise Wrong("sample", why, "correct the wording or the sample")
    if wording.kind in PAYING:
        _attack(wording, text)


def _attack(wording: Wording, text: str) -> None:
    """See that neither a cut nor anything typed makes the sample say something else."""
    whole = _facts(wording, text)
    for end in range(1, len(text)):
        if _facts(wording, text[:end]) not in (None, whole):
            raise Wrong(
                "text",
                f"a message cut off at {text[max(0, end - 20) : end]!r} would read otherwise",
                "let fixed text follow each field",
            )
    match = compiled(wording.pattern).fullmatch(text)
    assert match is not None, "it was read"
    for name in FREE & set(match.re.groupindex):
        start, stop = match.span(name)
        for forged in _forgeries(text):
            if _facts(wording, f"{text[:start]}{forged}{text[stop:]}") not in (None, whole):
                raise Wrong(
                    "text",
                    f"what is typed as {{{name}}} could pass for the receipt's own",
                    "write out more fixed text",
                )


def _forgeries(text: str) -> Iterator[str]:
    """Give pieces of the receipt with other figures: the worst that a free field can hold."""
    forged = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), text)
    cuts = [match.start() for match in re.finditer(r"(?<=[\s.:,])\S", forged)]
    step = max(1, len(cuts) // FORGERIES_MAX)
    yield forged
    for cut in cuts[::step]:
        yield forged[cut:]
        yield forged[:cut]


def _facts(wording: Wording, text: str) -> tuple[object, ...] | None:
    reading = read_with(wording, text.strip(), squeeze(text))
    if not isinstance(reading, Payment | NotPayment):
        return None
    return (reading.amount, reading.balance, reading.telco_id, reading.payer_phone_printed)
