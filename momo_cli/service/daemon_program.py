"""Run the daemon's program, `python -m daemon VERB`.

The machine's shop belongs to the user `momo`: root runs the verbs as that user, and other users get an error that names sudo.
"""

import json
import os
import pwd
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes, system
from momo_cli.errors import Failure
from momo_cli.service.manager import run_control, supervising_service
from momo_cli.show.answer import Answer, dumps, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, Reply
from momo_cli.socket.connect import SYSTEM_HOME, is_set_up


def verb_argv(verb: str, *flags: str) -> list[str]:
    """Return the command line of a verb, with this process's Python."""
    return system.python_argv("daemon", verb, *flags)


MACHINE_USER: Final = "momo"


def machine_user(terminal: Terminal, verb: str) -> pwd.struct_passwd | None:
    """Return the user to become for a verb; None to stay the caller.

    If the machine's shop is meant, only root and its user may.
    """
    if not terminal.located.machine or verb in frozenset({"decode", "demo", "verify"}):
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


PAUSE_S: Final = 0.05
DAEMON_VIEW: Final = view_of("status pid log", id="pid")
_TAIL_BYTES: Final = 2000
_ERROR: Final = "error: "
_LAST_WORDS: Final = 10
"""An error is one line or a few, followed by the commands to type next."""
_TAKEN: Final = re.compile(r"cannot listen on (\S+):(\d+): another program uses it")
_CODE: Final = re.compile(r" +\[[A-Z_]+\]$")
"""The code at the end of the daemon's error, which is shown anyway."""
_DIED: Final = {
    exit_codes.DATABASE: ErrorCode.DATABASE_DAMAGED,
    exit_codes.TEMPORARY: ErrorCode.LOCKED,
    exit_codes.CONFIGURATION: ErrorCode.CONFIG_INVALID,
}


@dataclass(frozen=True, slots=True)
class Started:
    """The result of a start: `started`, `already_running`, or `starting` if it was not ready in time."""

    status: str
    pid: Any  # JSON
    log: str
    took_s: float
    supervisor: str = "none"


def start_daemon(
    client: Client, terminal: Terminal, flags: Sequence[str], wait_s: float, *, by_service: bool = True
) -> Started:
    """Start the daemon unless it runs, and wait until it has opened the database, or knows why it cannot.

    `flags` are those of `daemon run`; a service has its own flags, so with any, or with `by_service=False`, the daemon is
    started directly. `wait_s` is the time limit in seconds; 0 is no limit. Fails with NOT_SET_UP, or the error with which the daemon ended.
    """
    log = f"{terminal.located.places.log}/daemon.log"
    began, runs = system.monotonic(), client.alive()
    keeper, child = ("none", None) if runs else _launch(terminal, log, flags, by_service=by_service)
    while (status := _status(client, fails=runs)) is None:
        code = None if child is None else child.poll()
        if code is not None:
            raise _died(code, log)
        if wait_s and system.monotonic() - began >= wait_s:
            return Started("starting", _detach(child), log, wait_s, keeper)
        client.pause(PAUSE_S)
    pid = _detach(child) or status.get("pid")
    if runs:
        return Started("already_running", pid, log, 0.0)
    return Started("started", pid, log, system.monotonic() - began, keeper)


def _launch(
    terminal: Terminal, log: str, flags: Sequence[str], *, by_service: bool
) -> tuple[str, subprocess.Popen[bytes] | None]:
    """Start the daemon; return the service that keeps it running, or `none` and its process."""
    _check_set_up(terminal)
    service = supervising_service(terminal) if by_service and not flags else None
    if service is not None:
        try:
            run_control(terminal, service.control("start"))
        except Failure as failure:
            # Started directly, it reports its own error, or runs on a machine without systemd.
            terminal.note(f"! {failure.message}")
        else:
            return str(service.kind), None
    try:
        return "none", spawn_daemon(terminal, log, flags)
    except OSError as problem:
        raise Failure(ErrorCode.INTERNAL_ERROR, f"{log}: {problem.strerror}") from None


def _status(client: Client, *, fails: bool) -> dict[str, Any] | None:
    """Return the daemon's status; None while it does not answer, or still opens the database.

    Without `fails`, a connection that breaks is no answer: the daemon may have ended, and then says why.
    """
    if not client.alive():
        return None
    try:
        found: dict[str, Any] = client.get(Path.LOCAL_STATUS).data or {}
    except Failure as failure:
        if fails or failure.http_status:
            raise
        return None
    return None if found.get("state") == "starting" else found


def start_answer(started: Started, terminal: Terminal, *, again: bool = False) -> Answer:
    """Return the answer for a start, or with `again` for a restart; exit 8 if it is not ready yet."""
    waits = started.status == "starting"
    status = "restarted" if again and not waits else started.status
    pid, took_s = started.pid, started.took_s
    row = {"status": status, "pid": pid, "supervisor": started.supervisor, "log": started.log}
    done = f"{terminal.tick} Daemon {status} (pid {pid}) in {took_s:.1f} s."
    lines = {
        "already_running": f"The daemon is already running (pid {pid}).",
        "starting": f"! The daemon is not ready after {took_s:g} s. Its log: {started.log}",
    }
    return Answer(
        document=dumps({"success": not waits, "data": row}),
        rows=[row],
        lines=[lines.get(status, done)],
        exit_code=exit_codes.PENDING if waits else exit_codes.OK,
        next=["momo daemon status"] if waits else ["momo status"],
    )


def stop_daemon(client: Client, terminal: Terminal, wait_s: float) -> str:
    """Ask the daemon to stop and wait until it has closed the database; return `stopped`, `already_stopped` or `stopping`.

    A service then ends with success, so its supervisor does not restart it. If the daemon does not answer, the supervisor
    is told to stop it, so that it is not started again and again. Fails if there is no shop (NOT_SET_UP).
    """
    machine_user(terminal, "run")  # who may not start it may not stop it
    if not client.alive():
        _check_set_up(terminal)
        if (service := supervising_service(terminal)) is not None:
            try:
                run_control(terminal, service.control("stop"))
            except Failure as failure:
                terminal.note(f"! {failure.message}")
        return "already_stopped"
    client.call("POST", Path.LOCAL_SHUTDOWN)
    started = system.monotonic()
    while client.alive() or is_locked(terminal):
        if wait_s and system.monotonic() - started >= wait_s:
            return "stopping"
        client.pause(PAUSE_S)
    return "stopped"


def is_locked(terminal: Terminal) -> bool:
    """Return whether a daemon still holds the shop's lock, which it releases once the database is closed.

    False for the socket of another shop, because its lock is not known.
    """
    import fcntl  # noqa: PLC0415  # only a stop needs it

    places = terminal.located.places
    if terminal.located.socket != places.socket:
        return False
    try:
        lock = os.open(places.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _check_set_up(terminal: Terminal) -> None:
    if not is_set_up(terminal.located.places):
        raise Failure(ErrorCode.NOT_SET_UP)


def _detach(child: subprocess.Popen[bytes] | None) -> int | None:
    if child is None:
        return None
    child.returncode = 0  # it keeps running; Python must not warn about it at exit
    return child.pid


def _died(code: int, log: str) -> Failure:
    error = _tail(log)
    if error.endswith(f"[{ErrorCode.NOT_SET_UP}]"):
        return Failure(ErrorCode.NOT_SET_UP)
    if taken := _TAKEN.search(error):
        host, port = taken.groups()
        why = f"{host}:{port} is used by another program"
        there = (f"ss -ltnp 'sport = :{port}'", f"momo daemon start --http {host}:0")
        return Failure(ErrorCode.CONFIG_INVALID, why, next=there)
    error = _CODE.sub("", error)
    why = f"the daemon ended with {code}" + (f": {error}" if error else f"; see {log}")
    return Failure(_DIED.get(code, ErrorCode.INTERNAL_ERROR), why, next=("momo daemon run",))


def _tail(log: str) -> str:
    """Return the daemon's error, which it writes last; else the last line of the log."""
    try:
        with open(log, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    last = [line.strip() for line in reversed(lines) if line.strip()]
    errors = (line for line in last[:_LAST_WORDS] if line.startswith(_ERROR))
    return next(errors, next(iter(last), "")).removeprefix(_ERROR)
