"""The ways a message reaches the owner. Each sends one, or says in one sentence why it cannot."""

from typing import Protocol

from daemon.core.errors import MomoError


class NotSent(MomoError):
    """The message did not go out; the text says why, and holds no password."""


class Channel(Protocol):
    """One way to the owner."""

    async def send(self, message_id: str, subject: str, body: str) -> None:
        """Send one message.

        Args:
            message_id: The same at every try, so that a receiver may notice a repeat.
            subject: One line.
            body: Plain text.

        Raises:
            NotSent: It did not go out; it may be tried again.
        """
