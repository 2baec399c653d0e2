"""E-mail over SMTP (RFC 5321, RFC 5322), with STARTTLS unless the settings say otherwise."""

import ssl
from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final

from daemon.config import Smtp
from daemon.notices.channels import NotSent
from daemon.system import Clock
from parsers.when import from_us

TIMEOUT_S: Final = 30.0
TLS_PORT: Final = 465
"""Where TLS is spoken from the first byte (RFC 8314)."""


class Email:
    """Sends from the shop to its owner."""

    def __init__(
        self,
        settings: Smtp,
        clock: Clock,
        password: Callable[[], Awaitable[str | None]],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare; nothing is opened yet.

        Args:
            settings: `[smtp]`, with `host` and `to`.
            clock: For the Date header.
            password: Returns the mail account's password, None when it has none; may raise SecretsLocked.
            tls: Whom to trust; None is the system's list.
        """
        self._settings = settings
        self._clock = clock
        self._password = password
        self._tls = tls

    async def send(self, message_id: str, subject: str, body: str) -> None:
        """Send one message; see `Channel`."""
        import aiosmtplib  # noqa: PLC0415 -- only where an e-mail is

        settings = self._settings
        password = await self._password()
        try:
            await aiosmtplib.send(
                self._message(message_id, subject, body),
                hostname=settings.host,
                port=settings.port,
                username=(settings.user or settings.from_) if password else None,
                password=password,
                use_tls=settings.port == TLS_PORT,
                start_tls=settings.starttls and settings.port != TLS_PORT,
                tls_context=self._tls or ssl.create_default_context(),
                timeout=TIMEOUT_S,
            )
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise NotSent(_why(error, settings)) from error

    def _message(self, message_id: str, subject: str, body: str) -> EmailMessage:
        sender = self._settings.from_ or self._settings.to
        message = EmailMessage()
        message["From"] = sender
        message["To"] = self._settings.to
        message["Subject"] = subject
        message["Date"] = format_datetime(from_us(self._clock.now_us()))
        message["Message-ID"] = f"<{message_id}@{sender.rpartition('@')[2] or 'momo.invalid'}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(body)
        return message


def _why(error: Exception, settings: Smtp) -> str:
    text = " ".join(str(error).split())[:200] or type(error).__name__
    return f"the mail server {settings.host}:{settings.port} did not take it: {text}"
