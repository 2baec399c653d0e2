"""A notice to the owner as an SMS from the shop's own line: the way that needs no internet."""

from typing import Final

from daemon.env import Env
from daemon.notices.channels import NotSent
from daemon.store import texts

CHARACTERS_MAX: Final = 300
"""Two SMS; the CLI tells the rest."""


class OwnerSms:
    """Queues it with the SMS to payers, under the same limits."""

    def __init__(self, env: Env, number: str) -> None:
        """Send to one number, E.164."""
        self._env = env
        self._number = number

    async def send(self, message_id: str, subject: str, body: str) -> None:
        """Queue one message; see `Channel`."""
        env, now = self._env, self._env.clock.now_us()
        command = body.rpartition("\n\n")[2] if "\n\n" in body else ""
        text = f"{subject}\n{command}".strip()[:CHARACTERS_MAX]
        queued = await env.store.write(
            lambda tx: texts.owe_notice(tx, env.texting, message_id, self._number, text, now)
        )
        if not queued:
            raise NotSent("no line can send an SMS now, or its limits are reached")
