"""The notice channels to the owner: e-mail over SMTP (RFC 5321, RFC 5322), and the desktop's notifications."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, Protocol

from daemon.core.errors import MomoError
from daemon.runtime.config import Smtp
from daemon.runtime.system import Clock
from parsers.times import from_us

PROGRAM: Final = "notify-send"
DESKTOP_TIMEOUT_S: Final = 10.0
EMAIL_TIMEOUT_S: Final = 30.0
TLS_PORT: Final = 465
"""The port with implicit TLS (RFC 8314)."""


class NotSent(MomoError):
    """The message was not sent; the text gives the reason and contains no password."""


class Channel(Protocol):
    """One channel to the owner."""

    async def send(self, message_id: str, subject: str, body: str) -> None:
        """Send one message.

        `message_id` is the same for every retry, so that a receiver can detect a repeat; `subject` is one line of plain
        text.

        Raises:
            NotSent: It was not sent; it may be retried.
        """


class Email:
    """E-mail from the shop to its owner, with STARTTLS unless the settings say otherwise."""

    def __init__(
        self,
        settings: Smtp,
        clock: Clock,
        password: Callable[[], Awaitable[str | None]],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Store the settings; `send` opens a connection.

        The settings have `host` and `to`. `password` returns the mail account's password, None if it has none, and may
        raise SecretsLocked. Without `tls` the system's certificates are used.
        """
        self._settings = settings
        self._clock = clock
        self._password = password
        self._tls = tls

    async def send(self, message_id: str, subject: str, body: str) -> None:
        """Send one message; see `Channel`."""
        import aiosmtplib  # noqa: PLC0415 -- only needed when an e-mail is sent

        settings = self._settings
        password = await self._password()
        try:
            sender = self._settings.from_ or self._settings.to
            message = EmailMessage()
            message["From"] = sender
            message["To"] = self._settings.to
            message["Subject"] = subject
            message["Date"] = format_datetime(from_us(self._clock.now_us()))
            message["Message-ID"] = f"<{message_id}@{sender.rpartition('@')[2] or 'momo.invalid'}>"
            message["Auto-Submitted"] = "auto-generated"
            message.set_content(body)
            await aiosmtplib.send(
                message,
                hostname=settings.host,
                port=settings.port,
                username=(settings.user or settings.from_) if password else None,
                password=password,
                use_tls=settings.port == TLS_PORT,
                start_tls=settings.starttls and settings.port != TLS_PORT,
                tls_context=self._tls or ssl.create_default_context(),
                timeout=EMAIL_TIMEOUT_S,
            )
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            text = " ".join(str(error).split())[:200] or type(error).__name__
            raise NotSent(f"the mail server {settings.host}:{settings.port} did not take it: {text}") from error


class Desktop:
    """Notifications on the desktop of the user that runs momo (freedesktop.org Desktop Notifications)."""

    def __init__(self, program: str = PROGRAM) -> None:
        """Use `program`, found on PATH."""
        self._program = program

    async def send(self, message_id: str, subject: str, body: str) -> None:  # noqa: ARG002 -- a notification has no id
        """Show one message; see `Channel`."""
        try:
            process = await asyncio.create_subprocess_exec(
                self._program,
                "--app-name=momo",
                "--",
                subject,
                body,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise NotSent(f"{self._program} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(DESKTOP_TIMEOUT_S):
                _, output = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise NotSent(f"{self._program} did not end within {DESKTOP_TIMEOUT_S:g} s") from None
        if process.returncode:
            text = " ".join(output.decode("utf-8", "replace").split())[:200]
            raise NotSent(f"{self._program} failed: {text or process.returncode}")
