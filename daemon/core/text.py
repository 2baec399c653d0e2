"""A sentence of the program: a key and its values. The words stand in `daemon/words`, once for each language. Pure.

The API, the webhooks and stored rows have the sentence in English, which is `str(text)`; pages, SMS and e-mails render it in
their own language. A value is rendered before it is filled in and is never formatted again, so braces in a name stay as they
are. The whole sentence is escaped where it is shown.
"""

from collections.abc import Callable, Mapping
from gettext import c2py
from typing import Any, Final

Value = Any
"""A text or number; a `Text`, rendered in the same language; or a tuple of values, joined by the word for "and"."""
AND: Final = "and_also"
BESIDE: Final = ".text"
"""The end of the name under which a row has the key and the values of a sentence."""
COUNT: Final = "count"
"""The value that chooses between the singular and the plural of a sentence."""


class Catalogue(dict[str, str]):
    """The words of one language by key, and its rule for plurals.

    Attributes:
        forms: The endings of the keys of a sentence with a number, such as `one other`.
        plural: Returns the position of the form for a number. `rule` is the expression of gettext's `Plural-Forms`.
    """

    def __init__(self, rule: str = "n != 1", forms: str = "one other") -> None:
        super().__init__()
        self.forms = forms.split()
        self.plural: Callable[[int], int] = c2py(rule)

    def of_number(self, key: str, count: int) -> str:
        """Return the key of the form for a number."""
        return f"{key}_{self.forms[self.plural(abs(count))]}"


ENGLISH: Final = Catalogue()
"""The English words of `Text`. `daemon.runtime.words` fills them in once, because this package reads no files."""


class Text:
    """A sentence that is rendered where it is shown.

    `stored` is the English sentence of a row that an earlier version wrote; it stands for a key without words.
    """

    __slots__ = ("key", "stored", "values")

    def __init__(self, key: str, *, stored: str | None = None, **values: Value) -> None:
        self.key = key
        self.values: Mapping[str, Value] = values
        self.stored = stored

    def __str__(self) -> str:
        """Return the sentence in English."""
        return self.render(ENGLISH) if self.stored is None else self.stored

    def __repr__(self) -> str:
        """Return the key and the values."""
        return f"Text({self.key!r}, {self.values!r})"

    def __eq__(self, other: object) -> bool:
        """Compare key and values."""
        if not isinstance(other, Text):
            return NotImplemented
        return (self.key, self.values) == (other.key, other.values)

    def __hash__(self) -> int:
        """Hash the key: equal texts have the same."""
        return hash(self.key)

    def has_words(self, words: Catalogue) -> bool:
        """Return whether a language has words for it."""
        return self._template(words) is not None

    def render(self, words: Catalogue) -> str:
        """Return the sentence in a language; in English if the language has no words for it.

        Raises:
            KeyError: There are no words for it, or they name a value that it has not, and it has no stored sentence.
        """
        try:
            return self._filled(words)
        except KeyError:
            if self.stored is None:
                raise
            return self.stored

    def _filled(self, words: Catalogue) -> str:
        template = self._template(words)
        if template is None:
            if words is ENGLISH:
                raise KeyError(f"no words for {self.key}")
            return str(self)
        if not self.values:
            return template
        return template.format(**{name: _Filled(_render(value, words)) for name, value in self.values.items()})

    def _template(self, words: Catalogue) -> str | None:
        count = self.values.get(COUNT)
        numbered = words.of_number(self.key, count) if isinstance(count, int) else ""
        return words.get(numbered) or words.get(self.key)


class _Filled(str):
    """A value in a sentence; `{name:capital}` begins with a capital letter."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return f"{self[:1].upper()}{self[1:]}" if spec else str(self)


def store(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return facts for a row: each text in English, and its key and values beside it, under `<name>.text`."""
    texts = [(name, value) for name, value in facts.items() if isinstance(value, Text)]
    if not texts:
        return facts
    stored = dict(facts)
    for name, value in texts:
        stored[name], stored[f"{name}{BESIDE}"] = str(value), plain(value)
    return stored


def restore(facts: Mapping[str, Any], name: str) -> Text | str:
    """Return a text that `store` stored; the English sentence if it was stored without a key, "" if there is none."""
    sentence, beside = str(facts.get(name) or ""), facts.get(f"{name}{BESIDE}")
    if beside is None:
        return sentence
    text: Text = _restored(beside)
    return Text(text.key, stored=sentence, **text.values)


def english(value: object) -> str:
    """Return a text in English, for the encoder of JSON.

    Raises:
        NotImplementedError: It is no text.
    """
    if isinstance(value, Text):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


def _render(value: Value, words: Catalogue) -> str:
    if isinstance(value, Text):
        return value.render(words)
    if isinstance(value, tuple):
        return words[AND].join(_render(one, words) for one in value)
    return str(value)


def plain(value: Value) -> Value:
    """Return a value as JSON has it, with key and values of each text."""
    if isinstance(value, Text):
        return {"key": value.key, "values": {k: plain(one) for k, one in value.values.items()}}
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, str | int) else str(value)


def _restored(value: Value) -> Value:
    if isinstance(value, dict):
        return Text(value["key"], **{k: _restored(one) for k, one in value["values"].items()})
    if isinstance(value, list):
        return tuple(_restored(one) for one in value)
    return value
