"""Which wording came nearest to a text that nothing reads, and where the text left it.

For people who have a new message in front of them, so it may take its time: the pattern of a wording is cut into pieces
and the longest row of them that still matches from the first character on is looked for.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, takewhile
from typing import Final

from parsers.match import compiled, plain, squeeze, twice
from parsers.providers import WORDINGS
from parsers.template import TEXT_CHARACTERS_MAX, Wording

CANDIDATES: Final = 8
"""Wordings that are looked at closely: those that share most guards with the text."""
SHOWN: Final = 40
"""Characters of the text that are shown on each side of the place where it left the wording."""
FREE: Final = 60
"""A field that takes so many characters or more matches nearly anything: reaching its end proves nothing."""

PROOF: Final = 6
"""Fixed characters behind such a field that prove that its end was found."""

_FREE: Final = frozenset(
    {"payer_name", "payee_name", "agent", "reference", "advert", "rest", "between"}
)
_FIELD: Final = re.compile(r"\(\?P<(\w+)>")
_LOOKS: Final = ("(?!", "(?=", "(?<")
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})[?+]?")
_UPPER: Final = re.compile(r"\{\d+,(\d+)\}")


@dataclass(frozen=True, slots=True)
class Nearest:
    """Where a text left the wording that it follows longest.

    Attributes:
        network: Short name.
        wording: Its name.
        at: So many characters of the text follow the wording.
        after: The last of them.
        found: What stands in the text there; empty when it ends there.
        expected: What the wording has there, fields as `{name}`; empty when it has ended.
        twice: A fixed piece that may stand once only and stands in the text more often; else None.
        score: Characters that stand where the wording has them, less those that a free field had to take in.
    """

    network: str
    wording: str
    at: int
    after: str
    found: str
    expected: str
    twice: str | None
    score: int

    def __str__(self) -> str:
        if self.twice is not None:
            return f"nearest to {self.network} {self.wording}, but {self.twice!r} stands in it more than once"
        here = f"the text says {self.found!r}" if self.found else "the text ends"
        wanted = f"{self.expected!r} should stand" if self.expected else "the message should end"
        behind = f" behind {self.after!r}" if self.after else ""
        return f"nearest to {self.network} {self.wording}: at character {self.at + 1}{behind} {wanted}, {here}"


def nearest(body: str, networks: Iterable[str] | None = None) -> Nearest | None:
    """Return the wording that a text follows longest, or None when it shares no fixed words with any.

    Args:
        body: The whole message.
        networks: Short names of the networks to look through; None is all of them.
    """
    of = WORDINGS if networks is None else {name: WORDINGS.get(name, ()) for name in networks}
    return nearest_of(body, (wording for wordings in of.values() for wording in wordings))


def nearest_of(body: str, wordings: Iterable[Wording]) -> Nearest | None:
    """Do the same among these wordings."""
    text = plain(body).strip()[:TEXT_CHARACTERS_MAX]
    squeezed = squeeze(text)
    ranked = sorted(
        (
            (_shared(wording, squeezed), place, wording)
            for place, wording in enumerate(wordings)
            if not wording.cut
        ),
        key=lambda entry: (-entry[0], entry[1]),
    )
    close = [
        _follow(wording, text, squeezed) for shared, _, wording in ranked[:CANDIDATES] if shared
    ]
    # Of two that go equally far the first: the text holds more of its fixed words.
    return max(close, key=lambda found: found.score, default=None)


def _shared(wording: Wording, squeezed: str) -> float:
    """Return how much of the guards stands in the text, by their length."""
    whole = sum(map(len, wording.guards))
    return sum(len(guard) for guard in wording.guards if guard in squeezed) / whole


def _follow(wording: Wording, text: str, squeezed: str) -> Nearest:
    pieces = _pieces(wording.pattern)
    low, high = 0, len(pieces)
    while low < high:
        middle = (low + high + 1) // 2
        if compiled("".join(pieces[:middle])).match(text):
            low = middle
        else:
            high = middle - 1
    reached = low
    last_free = max((at for at in range(low) if _is_free(pieces[at])), default=low)
    if sum(len(_shown(piece).strip()) for piece in pieces[last_free + 1 : low]) < PROOF:
        low = last_free
    match = compiled("".join(pieces[:low])).match(text)
    at = 0 if match is None else match.end()
    free = (
        0
        if match is None
        else sum(len(match[name] or "") for name in _FREE & set(match.re.groupindex))
    )
    return Nearest(
        network=wording.network,
        wording=wording.name,
        at=at,
        after=text[max(0, at - SHOWN // 2) : at],
        found=text[at : at + SHOWN],
        expected="".join(map(_shown, pieces[low : reached + 4])).strip()[: 2 * SHOWN],
        twice=twice(wording, squeezed) if _shared(wording, squeezed) == 1 else None,
        score=at - 2 * free,
    )


@cache
def _pieces(pattern: str) -> tuple[str, ...]:
    """Cut a pattern where each piece is a pattern by itself; runs of plain characters stay together."""
    pieces: list[str] = []
    for atom in _atoms(pattern):
        if atom == "|":
            return (pattern,)
        plain = len(atom) == 1 and (atom.isalnum() or atom in " ,:")
        if plain and pieces and pieces[-1][-1:].isalnum() and re.fullmatch(r"[\w ,:]+", pieces[-1]):
            pieces[-1] += atom
        else:
            pieces.append(atom)
    return tuple(pieces)


def _atoms(pattern: str) -> Iterator[str]:
    """Give the characters, classes and groups of a pattern's top level, each with its quantifier."""
    ends = list(accumulate(_depths(pattern)))
    start = 0
    while start < len(pattern):
        end = start
        while ends[end]:
            end += 1
        end += 1
        quantifier = _QUANTIFIER.match(pattern, end)
        if quantifier is not None:
            end = quantifier.end()
        yield pattern[start:end]
        start = end


def _depths(pattern: str) -> Iterator[int]:
    """Give, for each character, by how much it opens (above 0) or closes (below 0) what must stay together."""
    escaped = in_class = False
    for character in pattern:
        if escaped:
            escaped = False
            yield -1
        elif character == "\\":
            escaped = True
            yield 1
        elif in_class:
            in_class = character != "]"
            yield 0 if in_class else -1
        elif character == "[":
            in_class = True
            yield 1
        else:
            yield {"(": 1, ")": -1}.get(character, 0)


def _is_free(piece: str) -> bool:
    """Say whether a piece takes nearly any text."""
    return "." in piece.replace("\\.", "") and any(
        int(upper) >= FREE for upper in _UPPER.findall(piece)
    )


def _shown(piece: str) -> str:
    """Return a piece as a person would write it: fields as `{name}`, white space as a space."""
    names: list[str] = _FIELD.findall(piece)
    if names:
        return "{" + names[0] + "}"
    if piece.startswith(_LOOKS) or piece.endswith(("?", "*")):
        return ""
    if piece.startswith(("(?i:", "(?:")) and piece.endswith(")"):
        # Of several forms the first one stands for all.
        atoms = _atoms(piece.partition(":")[2][:-1])
        return "".join(map(_shown, takewhile(lambda atom: atom != "|", atoms)))
    if piece.startswith("["):
        return piece[1]
    if piece.startswith("("):
        return "…"
    plain = piece.replace("~", "")
    return "" if plain.startswith(("\\s", ".{")) else plain.replace("\\", "")
