"""Run the daemon's program, `python -m daemon VERB`.

The machine's shop belongs to the user `momo`: root runs the verbs as that user, and other users get an error that names sudo.
"""

import json
import os
import pwd
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from daemon.wire import ErrorCode
from momo_cli import exit_codes, system
from momo_cli.errors import Failure
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Reply
from momo_cli.socket.connect import SYSTEM_HOME


def verb_argv(verb: str, *flags: str) -> list[str]:
    """Return the command line of a verb, with this process's Python."""
    return system.python_argv("daemon", verb, *flags)


_NEED_NO_SHOP: Final = frozenset({"decode", "demo", "verify"})
MACHINE_USER: Final = "momo"


def machine_user(terminal: Terminal, verb: str) -> pwd.struct_passwd | None:
    """Return the user to become for a verb; None to stay the caller.

    Raises:
        Failure: NOT_PERMITTED, if the machine's shop is meant and the caller is neither root nor its user.
    """
    if not terminal.located.machine or verb in _NEED_NO_SHOP:
        return None
    try:
        user = pwd.getpwnam(MACHINE_USER)
    except KeyError:
        why = f"the shop in {SYSTEM_HOME} has lost its user {MACHINE_USER!r}"
        again = "sudo apt install --reinstall momo"
        raise Failure(ErrorCode.INTERNAL_ERROR, why, next=(again,)) from None
    if os.getuid() == user.pw_uid:
        return None
    if os.getuid() != 0:
        why = f"the shop of this machine belongs to the user {MACHINE_USER!r}; do this with sudo"
        again = shlex.join(["sudo", "momo", *sys.argv[1:]])
        raise Failure(ErrorCode.NOT_PERMITTED, why, next=(again,))
    return user


def _environ(terminal: Terminal, user: pwd.struct_passwd | None) -> dict[str, str]:
    own = terminal.located.environ
    if user is None:
        return own
    return {**own, "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}


def _identity(user: pwd.struct_passwd | None) -> dict[str, Any]:
    """Return the arguments with which `subprocess` becomes the user, with the groups that may use modems."""
    if user is None:
        return {}
    groups = os.getgrouplist(user.pw_name, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": groups}


def exec_daemon(terminal: Terminal, verb: str, *flags: str) -> NoReturn:
    """Replace this process by the daemon's program, which then gets the signals and sets the exit code."""
    user = machine_user(terminal, verb)
    terminal.stdout.flush()
    terminal.stderr.flush()
    if user is not None:
        _prepare_runtime_folder(terminal, user)
        os.initgroups(user.pw_name, user.pw_gid)
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    words = verb_argv(verb, *flags)
    os.execve(words[0], words, _environ(terminal, user))  # noqa: S606  # our own program


class VerbResult(Reply):
    """The result of a verb that answers with one JSON document; its `status` is the exit code."""


def run_verb(terminal: Terminal, verb: str, *flags: str, stdin: str | None = None) -> VerbResult:
    """Run a verb to its end; its stdout is one JSON document.

    Its stderr is dropped, because the document has the same information, unless there is no document.

    Raises:
        Failure: The verb refused, or did not answer with a document.
    """
    user = machine_user(terminal, verb)
    done = subprocess.run(  # noqa: S603  # our own program
        verb_argv(verb, *flags),
        input=(stdin or "").encode(),
        capture_output=True,
        env=_environ(terminal, user),
        check=False,
        **_identity(user),
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
    user = machine_user(terminal, "run")
    folder = os.path.dirname(log)  # noqa: PTH120  # pathlib is not needed here
    system.make_own_folder(folder)
    descriptor = system.open_own(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid, follow_symlinks=False)
            os.fchown(descriptor, user.pw_uid, user.pw_gid)
            _prepare_runtime_folder(terminal, user)
        return subprocess.Popen(  # noqa: S603  # our own program
            verb_argv("run", *flags),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            env=_environ(terminal, user),
            start_new_session=True,
            **_identity(user),
        )
    finally:
        os.close(descriptor)


def _prepare_runtime_folder(terminal: Terminal, user: pwd.struct_passwd) -> None:
    """Create /run/momo for the socket, as systemd does for the service (RuntimeDirectory=)."""
    folder = os.path.dirname(terminal.located.places.socket)  # noqa: PTH120  # pathlib is not needed here
    os.makedirs(folder, mode=0o711, exist_ok=True)  # noqa: PTH103 -- pathlib is not needed here
    os.chown(folder, user.pw_uid, user.pw_gid, follow_symlinks=False)
