"""Power of the machine: whether it is plugged in, and the lock that keeps it awake.

`systemd-inhibit` takes a lock from logind and keeps it while its child program runs. The child reads a pipe from
this process and ends with it, so the lock is released however this process ends.
"""

import asyncio
import contextlib
from pathlib import Path
from typing import Final

from daemon.core.errors import MomoError
from daemon.core.upkeep.self_check import AwakeState

SUPPLIES: Final = Path("/sys/class/power_supply")
START_S: Final = 10.0
"""Seconds to wait for the lock: logind answers within milliseconds, but polkit may be slow."""
STOP_S: Final = 2.0
_SAYS: Final = b"held\n"
_KEEPER: Final = ("sh", "-c", "echo held; exec cat >/dev/null")
_WHO: Final = ("--who=momo", "--why=payments are read from the phone", "--mode=block")
_CHARGERS: Final = ("Mains", "USB", "Wireless")


class InhibitRefused(MomoError):
    """The machine cannot be kept awake; the text is the reason."""


def on_mains(supplies: Path = SUPPLIES) -> bool:
    """Return whether the machine is plugged in; True without a battery or without information."""
    discharging = False
    for supply in sorted(supplies.glob("*")) if supplies.is_dir() else ():
        kind = _word(supply / "type")
        if kind in _CHARGERS and _word(supply / "online") == "1":
            return True
        # Batteries with scope Device belong to a mouse or another device.
        if kind == "Battery" and _word(supply / "scope") != "Device":
            discharging |= _word(supply / "status") == "Discharging"
    return not discharging


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class SleepInhibitor:
    """A lock that keeps the machine awake between `take` and `release`."""

    _process: asyncio.subprocess.Process | None = None

    @property
    def held(self) -> bool:
        """Return whether the program that keeps the lock still runs."""
        return self._process is not None and self._process.returncode is None

    async def take(self) -> tuple[AwakeState, str]:
        """Take the strongest lock that is available; return its strength, and why a stronger one was refused.

        Raises:
            InhibitRefused: No lock is available.
        """
        why = ""
        # Without a desktop session, logind's policy allows only `idle`.
        for hold, what in ((AwakeState.HELD, "idle:sleep"), (AwakeState.IDLE_ONLY, "idle")):
            try:
                # The child only reads our pipe: however the daemon ends, the pipe closes and the lock is released.
                await self._start("systemd-inhibit", f"--what={what}", *_WHO, *_KEEPER)
            except InhibitRefused as refused:
                why = why or str(refused)
                continue
            return hold, why
        raise InhibitRefused(why)

    async def _start(self, *words: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise InhibitRefused(f"{words[0]} cannot be started: {error.strerror}") from error
        self._process = process
        assert process.stdout is not None, "it has a pipe"
        try:
            async with asyncio.timeout(START_S):
                if await process.stdout.readline() == _SAYS:
                    return
                _, said = await process.communicate()
        except TimeoutError:
            said = f"it did not answer within {START_S:g} s".encode()
        await self.release()
        text = " ".join(said.decode("utf-8", "replace").split())[:200]
        raise InhibitRefused(f"{words[0]}: {text or 'it ended'}")

    async def release(self) -> None:
        """Let the machine sleep again."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
