"""Starting the daemon's own program, `python -m daemon VERB`, from the command line."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from daemon.wire import ErrorCode
from momo_cli import exits
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal


def argv(verb: str, *flags: str) -> list[str]:
    """Return the command line of a verb, run by the Python that runs us."""
    return [sys.executable, "-m", "daemon", verb, *flags]


def become(terminal: Terminal, verb: str, *flags: str) -> NoReturn:
    """Replace this process by the daemon's program: its signals and exit code are then ours."""
    terminal.stdout.flush()
    terminal.stderr.flush()
    os.execve(sys.executable, argv(verb, *flags), terminal.located.environ)  # noqa: S606  # our own program


@dataclass(frozen=True, slots=True)
class Done:
    """What a verb that answers with one JSON document said."""

    exit_code: int
    text: str
    body: dict[str, Any]


def ask(terminal: Terminal, verb: str, *flags: str, stdin: str | None = None) -> Done:
    """Run a verb to its end; its stdout is one JSON document.

    What it says to people on stderr is dropped, because we say the same from the document; unless
    there is none.

    Raises:
        Failure: The verb refused, or did not answer with a document.
    """
    done = subprocess.run(  # noqa: S603  # our own program
        argv(verb, *flags),
        input=(stdin or "").encode(),
        capture_output=True,
        env=terminal.located.environ,
        check=False,
    )
    text = done.stdout.decode("utf-8", "replace").strip()
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        terminal.complain(done.stderr.decode("utf-8", "replace").rstrip())
        raise Failure(
            ErrorCode.INTERNAL_ERROR,
            f"the daemon's program ended with {done.returncode} and no answer",
            exit_code=done.returncode if done.returncode > 0 else exits.FAILED,
        )
    if body.get("success") is not True and "error" in body:
        error = body["error"] if isinstance(body["error"], dict) else {}
        raise Failure(
            str(error.get("code", "")),
            str(error.get("message", "")),
            body=body,
            exit_code=done.returncode or exits.FAILED,
        )
    return Done(done.returncode, text, body)


def spawn(terminal: Terminal, log: str, flags: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start `daemon run` in its own session, writing to the log, and do not wait for it."""
    folder = os.path.dirname(log)  # noqa: PTH120  # pathlib is not needed here
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 -- pathlib is not needed here
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603  # our own program
            argv("run", *flags),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            env=terminal.located.environ,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
