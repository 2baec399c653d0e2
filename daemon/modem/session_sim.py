"""Whether the SIM in the phone is still the one that the session began with.

Some phones say nothing when their SIM is changed as they run. So the SIM is asked who it is each minute, and before
anything is read from it unless it was asked moments ago: changing a SIM takes longer than that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daemon.modem import at
from daemon.modem.session_ask import Answer, Ask

SURE_S: Final = 2.0
"""For so long after it was heard the SIM is taken to be the same: no hand changes one, and no phone starts one, in less."""
UNHEARD_MAX: Final = 3
"""A phone that does not say it so often in a row is read all the same: a doubt must not keep messages waiting."""


@dataclass(frozen=True, slots=True)
class SimQuestion:
    """How to ask this phone for its SIM, and what it said at the start: its ICCID, else its IMSI."""

    ask: Ask
    reader: Callable[[str], str | None]
    fact: str


class SimWatch:
    """What is known of the SIM at this moment."""

    def __init__(self) -> None:
        """Start with a phone that tells nothing of its SIM."""
        self.question: SimQuestion | None = None
        self._sure_until = 0.0
        self._heard = False
        self._unheard = 0

    def begin(self, question: SimQuestion | None) -> None:
        """Start over: the SIM was asked a moment ago."""
        self.question = question
        self._heard = True
        self._unheard = 0

    def tick(self, now: float) -> None:
        """Learn what time it is, right after an answer too: that long it counts."""
        if self._heard:
            self._heard = False
            self._sure_until = now + SURE_S

    def to_ask(self, now: float) -> Ask | None:
        """Return the question if it is to be asked before reading on, None while the answer is known."""
        return self.question.ask if self.question is not None and now >= self._sure_until else None

    def is_fact(self, line: str) -> bool:
        """Say whether a line can be the answer."""
        return self.question is not None and self.question.reader(line) is not None

    def changed(self, answer: Answer, line: str) -> bool:
        """Take the answer; say whether the SIM is gone or another, as far as one answer can tell.

        A digit that the line lost looks the same: who starts over asks until he is sure.
        """
        assert self.question is not None, "an answer without a question"
        if answer.error is not None and at.sim_absent(answer.error):
            return True
        fact = self.question.reader(line) if answer.ok else None
        if fact is None:
            self._unheard += 1
            self._heard = self._unheard >= UNHEARD_MAX
        else:
            self._heard, self._unheard = True, 0
        return fact is not None and fact != self.question.fact
