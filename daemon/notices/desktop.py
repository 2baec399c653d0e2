"""A notification on the desktop of whoever runs momo, by `notify-send` (freedesktop.org Desktop Notifications)."""

import asyncio
from typing import Final

from daemon.notices.channels import NotSent

PROGRAM: Final = "notify-send"
TIMEOUT_S: Final = 10.0


class Desktop:
    """Shows it on the screen."""

    def __init__(self, program: str = PROGRAM) -> None:
        """Use a program, found on PATH."""
        self._program = program

    async def send(self, message_id: str, subject: str, body: str) -> None:  # noqa: ARG002 -- a screen keeps no ids
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
            async with asyncio.timeout(TIMEOUT_S):
                _, said = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise NotSent(f"{self._program} did not end within {TIMEOUT_S:g} s") from None
        if process.returncode:
            text = " ".join(said.decode("utf-8", "replace").split())[:200]
            raise NotSent(f"{self._program} failed: {text or process.returncode}")
