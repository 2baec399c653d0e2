"""A real SMTP server on loopback that keeps the mail."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


class Mailbox:
    """The received mail."""

    def __init__(self, password: str = "") -> None:
        self.password = password
        self.got: list[EmailMessage] = []
        self.logins: list[tuple[str, str]] = []
        self.refuse = ""

    async def handle_DATA(  # noqa: N802 -- the name that aiosmtpd looks for
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        if self.refuse:
            return self.refuse
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(message, EmailMessage)
        self.got.append(message)
        return "250 OK"

    def log_in(self, _server: SMTP, _session: Session, _envelope: Envelope, _how: str, data: object) -> AuthResult:
        assert isinstance(data, LoginPassword)
        given = (data.login.decode(), data.password.decode())
        self.logins.append(given)
        return AuthResult(success=given[1] == self.password, handled=False)


@asynccontextmanager
async def serving(box: Mailbox, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Receive mail into `box` while the block runs; yield the port. With `tls`, STARTTLS is required."""

    def session() -> SMTP:
        return SMTP(
            box, hostname="localhost", tls_context=tls, require_starttls=tls is not None, authenticator=box.log_in
        )

    listening = await asyncio.get_running_loop().create_server(session, "127.0.0.1", 0)
    async with listening:
        yield int(listening.sockets[0].getsockname()[1])
