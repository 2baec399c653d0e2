"""Power of the machine: whether it is plugged in, and the lock that keeps it awake.

On Linux, `systemd-inhibit` takes a lock from logind and keeps it while its child program runs. The child reads a pipe from
this process and ends with it, so the lock is released however this process ends. On macOS, `caffeinate -w` watches this
process.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from daemon.core.errors import MomoError
from daemon.core.upkeep.self_check import ALWAYS, AwakeState

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

    def __init__(self, setting: str, platform: str = sys.platform) -> None:
        self._tries = _tries(setting, platform)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def held(self) -> bool:
        """Return whether the program that keeps the lock still runs."""
        return self._process is not None and self._process.returncode is None

    async def take(self) -> tuple[AwakeState, str]:
        """Take the strongest lock that is available; return its strength, and why a stronger one was refused.

        Raises:
            HoldRefused: No lock is available.
        """
        why = ""
        for hold, words, says in self._tries:
            try:
                await self._start(words, says=says)
            except InhibitRefused as refused:
                why = why or str(refused)
                continue
            return hold, why
        raise InhibitRefused(why)

    async def _start(self, words: Sequence[str], *, says: bool) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE if says else asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE if says else asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise InhibitRefused(f"{words[0]} cannot be started: {error.strerror}") from error
        self._process = process
        if not says:
            return
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
            async with asyncio.timeout(STOP_S if process.stdout is not None else 0):
                await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _tries(setting: str, platform: str) -> list[tuple[AwakeState, tuple[str, ...], bool]]:
    """Return the commands to try, strongest lock first: the strength, the command, and whether it confirms the lock."""
    if platform == "darwin":
        # -s works only while plugged in, -i on battery too.
        idle = ("-i",) if setting == ALWAYS else ()
        return [(AwakeState.HELD, ("caffeinate", "-s", *idle, "-w", str(os.getpid())), False)]
    return [
        # The child only reads our pipe: however the daemon ends, the pipe closes and the lock is released.
        (hold, ("systemd-inhibit", f"--what={what}", *_WHO, *_KEEPER), True)
        # Without a desktop session, logind's policy allows only `idle`.
        for hold, what in ((AwakeState.HELD, "idle:sleep"), (AwakeState.IDLE_ONLY, "idle"))
    ]
