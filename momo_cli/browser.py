"""Opening an address in the person's browser, where there is one.

Not with the standard library's webbrowser: without a screen it starts a text browser in this very terminal.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

_SETTLED_S: Final = 2.0
"""What has not ended by then shows the page: some openers stay for as long as the browser does."""


def opened(url: str, environ: Mapping[str, str]) -> bool:
    """Open the address; say whether something took it.

    `BROWSER` names a program and its flags; else it is what the desktop chose, if there is a desktop.
    """
    words = _program(environ)
    if not words or shutil.which(words[0], path=environ.get("PATH")) is None:
        return False
    process = subprocess.Popen(  # noqa: S603  # the person's own browser
        [*words, url],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in this terminal does not close it
    )
    try:
        return process.wait(_SETTLED_S) == 0
    except subprocess.TimeoutExpired:
        process.returncode = 0  # it is the desktop's now, and outlives us without a warning
        return True


def _program(environ: Mapping[str, str]) -> list[str]:
    if chosen := environ.get("BROWSER"):
        return shlex.split(chosen)
    if sys.platform == "darwin":
        return ["open"]
    return ["xdg-open"] if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") else []
