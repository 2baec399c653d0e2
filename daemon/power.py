"""The machine's power: whether it is plugged in, and the hold that keeps it from sleeping.

On Linux `systemd-inhibit` asks logind for a lock and keeps it for as long as the program runs that it starts. That
program reads our pipe and ends when the pipe does, so the lock goes with us, however we end. On macOS `caffeinate -w`
watches our process.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from daemon.core.awake import ALWAYS, Hold
from daemon.core.errors import MomoError

SUPPLIES: Final = Path("/sys/class/power_supply")
START_S: Final = 10.0
"""logind answers within milliseconds; polkit may be slow, and nobody can be asked."""
STOP_S: Final = 2.0
_SAYS: Final = b"held\n"
_KEEPER: Final = ("sh", "-c", "echo held; exec cat >/dev/null")
_WHO: Final = ("--who=momo", "--why=payments are read from the phone", "--mode=block")
_CHARGERS: Final = ("Mains", "USB", "Wireless")


class HoldRefused(MomoError):
    """The machine cannot be kept awake; the text says why."""


def on_mains(supplies: Path = SUPPLIES) -> bool:
    """Say whether the machine is plugged in; one that has no battery, or does not tell, is."""
    discharging = False
    for supply in sorted(supplies.glob("*")) if supplies.is_dir() else ():
        kind = _word(supply / "type")
        if kind in _CHARGERS and _word(supply / "online") == "1":
            return True
        # A mouse has a battery too.
        if kind == "Battery" and _word(supply / "scope") != "Device":
            discharging |= _word(supply / "status") == "Discharging"
    return not discharging


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class SleepHold:
    """Keeps the machine awake between `take` and `release`."""

    def __init__(self, setting: str, platform: str = sys.platform) -> None:
        """Prepare it; `setting` is that of `[power] keep_awake`."""
        self._tries = _tries(setting, platform)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def held(self) -> bool:
        """Say whether the program that keeps the lock still runs."""
        return self._process is not None and self._process.returncode is None

    async def take(self) -> tuple[Hold, str]:
        """Take the lock, the whole one or what of it there is; returns how far it goes, and why it is not whole.

        Raises:
            HoldRefused: There is none.
        """
        why = ""
        for hold, words, says in self._tries:
            try:
                await self._start(words, says=says)
            except HoldRefused as refused:
                why = why or str(refused)
                continue
            return hold, why
        raise HoldRefused(why)

    async def _start(self, words: Sequence[str], *, says: bool) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE if says else asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE if says else asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise HoldRefused(f"{words[0]} cannot be started: {error.strerror}") from error
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
        raise HoldRefused(f"{words[0]}: {text or 'it ended'}")

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


def _tries(setting: str, platform: str) -> list[tuple[Hold, tuple[str, ...], bool]]:
    """Return what to run, the best first: how far it goes, its words, and whether it says that it holds."""
    if platform == "darwin":
        # -s holds while plugged in alone, -i on battery too.
        idle = ("-i",) if setting == ALWAYS else ()
        return [(Hold.HELD, ("caffeinate", "-s", *idle, "-w", str(os.getpid())), False)]
    return [
        (hold, ("systemd-inhibit", f"--what={what}", *_WHO, *_KEEPER), True)
        # Who is at no desktop may only ask for `idle` (logind's policy).
        for hold, what in ((Hold.HELD, "idle:sleep"), (Hold.IDLE_ONLY, "idle"))
    ]
