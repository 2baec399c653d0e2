"""The words of one language for a page, with the shop's time zone.

A text may have places in braces. A key that ends in `_one` has a key in `_other` beside it, for numbers. Amounts are
`GHS 12.50` in every language, as in the network's SMS.
"""

import datetime
import functools
from typing import Any

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.text import Catalogue as Strings
from daemon.core.text import Text
from daemon.runtime import words
from daemon.runtime.config import all_rows
from daemon.runtime.words import DEFAULT


@functools.cache
def load(language: str) -> Strings:
    """Return all words of a language. The English of a setting is in its row."""
    found = words.of_dashboard(language)
    if language == DEFAULT:
        found.update({row.word: row.plain_meaning for row in all_rows().values()})
    return found


class Words:
    """The words of one language, with the shop's time zone."""

    def __init__(self, language: str, zone: datetime.tzinfo) -> None:
        self.language = language
        self.zone = zone
        self._texts = load(language)

    def told(self, sentence: Text | str) -> str:
        """Return a sentence of the program in this language, and a plain string as it is."""
        if isinstance(sentence, Text):
            return sentence.render(self._texts)
        return sentence

    def is_foreign(self, sentence: Text | str) -> bool:
        """Return whether `told` leaves a sentence in English on a page of another language."""
        if isinstance(sentence, Text):
            return not sentence.has_words(self._texts)
        return bool(sentence) and self.language != DEFAULT

    def __call__(self, key: str, **places: Any) -> str:
        """Return a text with its places filled."""
        text = self._texts[key]
        return text.format(**places) if places else text

    def has(self, key: str) -> bool:
        """Return whether there is a text with this key."""
        return key in self._texts

    def number(self, key: str, count: int, **places: Any) -> str:
        """Return the singular or the plural of a text, with the number in `{count}`."""
        return self(self._texts.of_number(key, count), count=f"{count:,}", **places)

    def local(self, at_us: int) -> datetime.datetime:
        """Return a time in the shop's time zone."""
        return datetime.datetime.fromtimestamp(at_us // 1_000_000, self.zone)

    def time(self, at_us: int) -> str:
        """Return the hour and minute."""
        return f"{self.local(at_us):%H:%M}"

    def date(self, at_us: int) -> str:
        """Return the day, month and year."""
        at = self.local(at_us)
        return f"{at.day} {self('months').split()[at.month - 1]} {at.year}"

    def weekday(self, at_us: int) -> str:
        """Return the day of the week, the day and the month."""
        at = self.local(at_us)
        month = self("months").split()[at.month - 1]
        return f"{self('weekdays').split()[at.weekday()]} {at.day} {month}"

    def clock(self, at_us: int, now_us: int) -> str:
        """Return the hour and minute, after the day if it is not today."""
        at, today = self.local(at_us), self.local(now_us).date()
        if at.date() == today:
            return self.time(at_us)
        day = self.date(at_us) if at.year != today.year else self.date(at_us).rpartition(" ")[0]
        return f"{day}, {self.time(at_us)}"

    def moment(self, at_us: int) -> str:
        """Return date and time."""
        return f"{self.date(at_us)}, {self.time(at_us)}"

    def since(self, at_us: int, now_us: int) -> str:
        """Return how long ago a time was, in its largest unit."""
        gone = max(0, now_us - at_us)
        for unit, size in (("days", DAY_US), ("hours", HOUR_US), ("minutes", MINUTE_US)):
            if gone >= size:
                return self.number(f"ago_{unit}", gone // size)
        return self("ago_now")
