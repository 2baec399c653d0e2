"""Search for the wording nearest to an unreadable text, and the position where the text departs from it.

It may be slow, because it only helps people with a new message: the pattern of a wording is cut into pieces, and the
longest sequence of pieces that still matches from the first character is searched for.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, takewhile
from typing import Final

from parsers.pasted import MESSAGE_CHARACTERS_MAX
from parsers.providers import WORDINGS
from parsers.read import collapse_spaces, compile_pattern, normalize_spaces, repeated_guard
from parsers.wording import Wording

CANDIDATES_MAX: Final = 8
"""Wordings compared in detail: those that share most guards with the text."""
SHOWN_CHARACTERS: Final = 40
"""Characters of the text shown on each side of the departure."""
FREE_FIELD_CHARACTERS_MIN: Final = 60
"""A field of at least this many characters matches nearly anything, so a match is no evidence."""

PROOF_CHARACTERS_MIN: Final = 6
"""Fixed characters after such a field that prove that its end was found."""

_FREE: Final = frozenset({"payer_name", "payee_name", "agent", "reference", "advert", "rest", "between"})
_FIELD: Final = re.compile(r"\(\?P<(\w+)>")
_LOOKS: Final = ("(?!", "(?=", "(?<")
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})[?+]?")
_LAST_QUANTIFIER: Final = re.compile(rf"{_QUANTIFIER.pattern}$")
_KINDS: Final = {"\\d": "{digits}", "\\w": "{letters}", "\\s": "", "\\b": "", ".": ""}
_UPPER: Final = re.compile(r"\{\d+,(\d+)\}")


@dataclass(frozen=True, slots=True)
class Nearest:
    """The wording that matches the beginning of a text longest, and the position where the text departs from it.

    Attributes:
        network: Short name.
        wording: Name of the wording.
        at: Number of characters of the text that match.
        after: The last of these characters.
        found: The text after them; empty at the end of the text.
        expected: The wording's text after them, fields as `{name}`; empty at the end of the wording.
        repeated: A fixed piece that may occur only once but occurs more often; else None.
        score: Number of matching characters, less those matched by free fields.
    """

    network: str
    wording: str
    at: int
    after: str
    found: str
    expected: str
    repeated: str | None
    score: int

    def __str__(self) -> str:
        if self.repeated is not None:
            return f"nearest to {self.network} {self.wording}, but {self.repeated!r} occurs in it more than once"
        here = f"the text has {self.found!r}" if self.found else "the text ends"
        wanted = f"{self.expected!r} is expected" if self.expected else "the end is expected"
        behind = f" after {self.after!r}" if self.after else ""
        return f"nearest to {self.network} {self.wording}: at character {self.at + 1}{behind} {wanted}, {here}"


def nearest(body: str, networks: Iterable[str] | None = None) -> Nearest | None:
    """Return the nearest wording of these networks (None: of all), or None if the text shares no fixed words with any."""
    of = WORDINGS if networks is None else {name: WORDINGS.get(name, ()) for name in networks}
    return nearest_of(body, (wording for wordings in of.values() for wording in wordings))


def nearest_of(body: str, wordings: Iterable[Wording]) -> Nearest | None:
    """Return the nearest of these wordings, or None."""
    text = normalize_spaces(body).strip()[:MESSAGE_CHARACTERS_MAX]
    squeezed = collapse_spaces(text)
    ranked = sorted(
        ((_shared(wording, squeezed), place, wording) for place, wording in enumerate(wordings) if not wording.cut),
        key=lambda entry: (-entry[0], entry[1]),
    )
    close = [_follow(wording, text, squeezed) for shared, _, wording in ranked[:CANDIDATES_MAX] if shared]
    # `max` returns the first of equal scores, the one with more shared guards.
    return max(close, key=lambda found: found.score, default=None)


def _shared(wording: Wording, squeezed: str) -> float:
    """Return the share of the guards, by length, that the text contains."""
    whole = sum(map(len, wording.guards))
    return sum(len(guard) for guard in wording.guards if guard in squeezed) / whole


def _follow(wording: Wording, text: str, squeezed: str) -> Nearest:
    pieces = _pieces(wording.pattern)
    low, high = 0, len(pieces)
    while low < high:
        middle = (low + high + 1) // 2
        if compile_pattern("".join(pieces[:middle])).match(text):
            low = middle
        else:
            high = middle - 1
    reached = low
    last_free = max((at for at in range(low) if _is_free(pieces[at])), default=low)
    if sum(len(_shown(piece).strip()) for piece in pieces[last_free + 1 : low]) < PROOF_CHARACTERS_MIN:
        low = last_free
    match = compile_pattern("".join(pieces[:low])).match(text)
    at = 0 if match is None else match.end()
    free = 0 if match is None else sum(len(match[name] or "") for name in _FREE & set(match.re.groupindex))
    return Nearest(
        network=wording.network,
        wording=wording.name,
        at=at,
        after=text[max(0, at - SHOWN_CHARACTERS // 2) : at],
        found=text[at : at + SHOWN_CHARACTERS],
        expected="".join(map(_shown, pieces[low : reached + 4])).strip()[: 2 * SHOWN_CHARACTERS],
        repeated=repeated_guard(wording, squeezed) if _shared(wording, squeezed) == 1 else None,
        score=at - 2 * free,
    )


@cache
def _pieces(pattern: str) -> tuple[str, ...]:
    """Cut a pattern into pieces that are patterns themselves; runs of plain characters stay together."""
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
    """Yield the characters, classes and groups at the top level of a pattern, each with its quantifier."""
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
    """Yield the change of nesting depth at each character: above 0 opens a unit, below 0 closes it."""
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
    """Return whether a piece matches nearly any text."""
    return "." in piece.replace("\\.", "") and any(
        int(upper) >= FREE_FIELD_CHARACTERS_MIN for upper in _UPPER.findall(piece)
    )


def _shown(piece: str) -> str:
    """Return a piece in readable form: fields as `{name}`, white space as a space."""
    names: list[str] = _FIELD.findall(piece)
    if names:
        return "{" + names[0] + "}"
    if piece.startswith(_LOOKS) or piece.endswith(("?", "*")):
        return ""
    if piece.startswith(("(?i:", "(?:")) and piece.endswith(")"):
        # Show the first of several alternatives.
        atoms = _atoms(piece.partition(":")[2][:-1])
        return "".join(map(_shown, takewhile(lambda atom: atom != "|", atoms)))
    bare = _LAST_QUANTIFIER.sub("", piece.replace("~", ""))
    if piece.startswith("("):
        return "…"
    if "{0," in piece[len(bare) :]:
        return ""
    if bare.startswith("["):
        bare = bare[1:3] if bare[1] == "\\" else bare[1]
    return _KINDS.get(bare, bare.replace("\\", ""))
