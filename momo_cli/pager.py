"""Long tables through a pager, on a terminal only: `less`, as git and gh do it."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import IO, Final

from momo_cli.terminal import Terminal

_NO_LIMIT: Final = 10**9
_FLAGS: Final = "FIRX"
"""For less, unless LESS is set: leave when one screen is enough, ignore case, show colour, keep the screen."""


def command_of(terminal: Terminal) -> list[str]:
    """Return the pager's words: `MOMO_PAGER`, `PAGER`, else `less`; empty for none."""
    import shlex  # noqa: PLC0415  # only long lists need a pager
    import shutil  # noqa: PLC0415 -- loaded only when it is needed

    environ = terminal.located.environ
    if environ.get("TERM", "dumb") == "dumb" or terminal.flags.no_input:
        return []
    said = environ.get("MOMO_PAGER", environ.get("PAGER", "less"))
    try:
        words = shlex.split(said)
    except ValueError:  # an open quote
        return []
    if not words or words == ["cat"]:
        return []
    found = shutil.which(words[0], path=environ.get("PATH"))
    return [found, *words[1:]] if found else []


@contextlib.contextmanager
def paged(terminal: Terminal, words: list[str]) -> Iterator[IO[str]]:
    """Give a stream that the pager shows; ends when the person leaves it."""
    import subprocess  # noqa: PLC0415  # as above

    environ = {"LESS": _FLAGS, **terminal.located.environ}
    terminal.stdout.flush()
    with subprocess.Popen(  # noqa: S603  # the person's own program
        words,
        stdin=subprocess.PIPE,
        stdout=terminal.stdout,
        env=environ,
        encoding="utf-8",
        errors="backslashreplace",
    ) as pager:
        assert pager.stdin is not None
        try:
            yield pager.stdin
        except BrokenPipeError:
            pass  # they have seen enough
        finally:
            with contextlib.suppress(BrokenPipeError):
                pager.stdin.close()
            while pager.poll() is None:
                with contextlib.suppress(KeyboardInterrupt):  # the pager's own key
                    pager.wait()


def show(terminal: Terminal, lines: Iterable[str]) -> None:
    """Write the lines; through the pager as soon as there are more than the screen has.

    No more lines are asked for than are shown, so leaving the pager ends a long list.
    """
    rest = iter(lines)
    held = list(islice(rest, _height(terminal)))
    words = command_of(terminal) if len(held) == _height(terminal) else []
    if not words:
        for line in chain(held, rest):
            terminal.stdout.write(line + "\n")
        terminal.stdout.flush()
        return
    with paged(terminal, words) as stream:
        for line in chain(held, rest):
            stream.write(line + "\n")


def _height(terminal: Terminal) -> int:
    try:
        return os.get_terminal_size(terminal.stdout.fileno()).lines or _NO_LIMIT
    except (OSError, ValueError):
        return _NO_LIMIT
