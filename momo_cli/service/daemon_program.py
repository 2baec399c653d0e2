"""Run the daemon's program, `python -m daemon VERB`."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from daemon.wire import ErrorCode
from momo_cli import exit_codes
from momo_cli.errors import Failure
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Reply


def verb_argv(verb: str, *flags: str) -> list[str]:
    """Return the command line of a verb, with this process's Python."""
    return [sys.executable, "-m", "daemon", verb, *flags]


def exec_daemon(terminal: Terminal, verb: str, *flags: str) -> NoReturn:
    """Replace this process by the daemon's program, which then gets the signals and sets the exit code."""
    terminal.stdout.flush()
    terminal.stderr.flush()
    os.execve(sys.executable, verb_argv(verb, *flags), terminal.located.environ)  # noqa: S606  # our own program


class VerbResult(Reply):
    """The result of a verb that answers with one JSON document; its `status` is the exit code."""


def run_verb(terminal: Terminal, verb: str, *flags: str, stdin: str | None = None) -> VerbResult:
    """Run a verb to its end; its stdout is one JSON document.

    Its stderr is dropped, because the document has the same information, unless there is no document.

    Raises:
        Failure: The verb refused, or did not answer with a document.
    """
    done = subprocess.run(  # noqa: S603  # our own program
        verb_argv(verb, *flags),
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
        why = f"the daemon's program ended with {done.returncode} and no answer"
        code = done.returncode if done.returncode > 0 else exit_codes.FAILED
        raise Failure(ErrorCode.INTERNAL_ERROR, why, exit_code=code)
    if body.get("success") is not True and "error" in body:
        error = body["error"] if isinstance(body["error"], dict) else {}
        name, message = str(error.get("code", "")), str(error.get("message", ""))
        code = done.returncode or exit_codes.FAILED
        raise Failure(name, message, body=body, exit_code=code)
    return VerbResult(done.returncode, text, body)


def spawn_daemon(terminal: Terminal, log: str, flags: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start `daemon run` in its own session, with its output in the log, and do not wait for it."""
    folder = os.path.dirname(log)  # noqa: PTH120  # pathlib is not needed here
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 -- pathlib is not needed here
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603  # our own program
            verb_argv("run", *flags),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            env=terminal.located.environ,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
