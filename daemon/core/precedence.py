"""What is live goes first: while it is on its way, what is sent again in bulk begins nothing. Pure.

A replay keeps the machine busy: a payment that comes in meanwhile would wait for each of its steps (the phone's
answers, the commit, the posts) behind posts that nobody is in a hurry for.
"""

from typing import Final

STEP_S: Final = 0.05
"""From one step of what is live to the next; whatever makes none for so long (a receiver that does not answer) holds
up nothing."""

WAIT_S: Final = 0.15
"""A post in bulk waits no longer than this for one step after the other, so that a replay ends also in a busy shop."""


class Precedence:
    """When something live made its last step, on the monotonic clock, in seconds."""

    def __init__(self) -> None:
        """Begin with nothing on its way."""
        self._until = float("-inf")

    def step(self, now: float) -> None:
        """Note a step of something live: its SMS was announced or read, or its webhook goes out."""
        self._until = now + STEP_S

    def wait_s(self, now: float, waited_s: float) -> float:
        """Return how long something in bulk that has waited so long already must still wait; 0 when it may begin."""
        return max(0.0, min(self._until - now, WAIT_S - waited_s))
