"""Desktop notifications: the terminal's bell, and `notify-send` if the desktop has it."""

import shutil
import subprocess
from collections.abc import Callable
from typing import Final

from momo_cli.show.terminal import Terminal
from momo_cli.text import clean

PROGRAM: Final = "notify-send"
_SECONDS_MAX: Final = 5.0


def notifier(terminal: Terminal) -> Callable[[str, str], None]:
    """Return a function that shows a title and a sentence; it never fails, and reports once that only the bell works."""
    environ = terminal.located.environ
    program = shutil.which(PROGRAM, path=environ.get("PATH"))
    if program is None:
        terminal.note(f"There is no {PROGRAM} on this machine: only the bell rings.")

    def notify(title: str, sentence: str) -> None:
        nonlocal program
        if terminal.stderr.isatty():
            terminal.stderr.write("\a")
            terminal.stderr.flush()
        if program is None:
            return
        try:
            subprocess.run(  # noqa: S603  # the desktop's own program
                [program, "--app-name=momo", "--", clean(title), clean(sentence)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environ,
                timeout=_SECONDS_MAX,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            terminal.note(f"{PROGRAM} does not work here: only the bell rings.")
            program = None

    return notify
