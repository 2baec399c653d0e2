"""Turn a command line into output and an exit code.

Every result of a command is handled here: an answer, an error, Ctrl-C, a closed pipe, a full disk, a defect. Commands need not handle
them. A defect is written to a crash file in `state/crash`. `--ping URL` reports the start and the end of a run to a
monitor of cron jobs, by the protocol of Healthchecks and similar services: GET `URL/start`, then `URL` on success, else
`URL/fail?exit=CODE`.
"""

import contextlib
import errno
import fcntl
import io
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from typer.exceptions import TyperException

from daemon.wire import ErrorCode
from momo_cli import errors, exit_codes, system
from momo_cli.errors import Failure, usage
from momo_cli.flags import Flags, Output, lift
from momo_cli.frame import tree
from momo_cli.frame.command_table import RUNNABLE, find_name
from momo_cli.frame.tree import HelpWanted, root
from momo_cli.show.terminal import Terminal, UnwrittenError, open_terminal
from momo_cli.text import clean

_ALWAYS: Final = (
    "backup create", "backup prune", "dead-letters replay", "messages import", "messages reparse", "data prune",
    "replay", "restore",
)  # fmt: skip
_WITH_FLAG: Final = {"reconcile": "--from-file", "deliveries redeliver": "--failed"}
"""Commands that are bulk only with a flag."""
_PER_FLAG: Final = {"replay": "--endpoint"}
"""Commands that need a lock only against runs with the same value of this flag."""
_CHANGE_NOTHING: Final = frozenset({"-n", "--dry-run", "--gap", "-h", "--help"})
_PAUSE_S: Final = 0.1


def lock_name(command: str, words: Sequence[str]) -> str:
    """Return the name of the lock that a command needs with these words of its command line, "" for none."""
    flags = {word.partition("=")[0] for word in words}
    if flags & _CHANGE_NOTHING or not (command in _ALWAYS or _WITH_FLAG.get(command, "") in flags):
        return ""
    name = command.replace(" ", "-")
    if (flag := _PER_FLAG.get(command)) is None:
        return name
    value = _value(words, flag)
    safe = "".join(letter for letter in value if letter.isalnum() or letter in "-_")
    return f"{name}-{safe}" if safe else name


@contextlib.contextmanager
def hold_lock(terminal: Terminal, name: str, command: str) -> Iterator[None]:
    """Hold a lock while the block runs; wait for it up to `--wait-lock`, then fail (LOCKED) and name its holder."""
    folder = f"{terminal.located.places.state}/lock"
    try:
        system.make_own_folder(folder)
        descriptor = system.open_own(f"{folder}/{name}", os.O_RDWR | os.O_CREAT)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise Failure(ErrorCode.NOT_PERMITTED, f"{problem.filename}: {problem.strerror}") from None
        # A folder that cannot be written must not stop a backup; the daemon itself prevents harmful overlaps.
        yield
        return
    try:
        _take(descriptor, terminal.flags.wait_lock_s or 0.0, command)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, wait_s: float, command: str) -> None:
    until = system.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if system.monotonic() < until:
                system.sleep(_PAUSE_S)
                continue
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            who = f"process {holder}" if holder else "another process"
            why, again = (f"another momo {command} is already running ({who})", f"momo {command} --wait-lock 10m")
            raise Failure(ErrorCode.LOCKED, why, next=(again,)) from None
        else:
            return


def _value(words: Sequence[str], flag: str) -> str:
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == flag:
            return value if equals else "".join(words[number + 1 : number + 2])
    return ""


COMPLETE_WORD: Final = "__complete"
"""The first argument with which a completion script calls `momo`; then the shell's name and the line up to the cursor."""
KEPT: Final = 10
"""Number of newest crash files kept: a command that crashes in a crontab must not fill the disk."""
_PING_S: Final = 10.0


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the words after the program's name, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # With cron's LANG=C a name with the letter ɔ would raise an error.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a stream of text has it
    if len(argv) == 3 and argv[0] == COMPLETE_WORD:
        from momo_cli.frame.completion import completions  # noqa: PLC0415  # only TAB asks

        try:
            for each in completions(argv[2], environ, bash=argv[1] == "bash"):
                sys.stdout.write(each + "\n")
            sys.stdout.flush()
        except Exception:  # noqa: BLE001  # a message would appear inside the line being typed
            return exit_codes.FAILED
        return exit_codes.OK
    flags, words = lift(argv, environ)
    terminal = open_terminal(flags, environ, RUNNABLE)
    try:
        code = _pinged(terminal, flags, words) if flags.ping else _guarded(terminal, flags, words)
        terminal.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit; give it somewhere to go (docs: signal, SIGPIPE).
        _discard_stdout()
        return exit_codes.PIPE_CLOSED
    except UnwrittenError as problem:
        _discard_stdout()
        with contextlib.suppress(OSError):  # stderr may be in the same place
            said = f"the output could not be written ({problem}); what the command changed stays"
            terminal.complain(f"{terminal.style('error:', 'red', message=True)} {said}")
        return exit_codes.FAILED
    return code


def _discard_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _pinged(terminal: Terminal, flags: Flags, words: list[str]) -> int:
    """Run the command, and report its start and its end to the URL of `--ping`."""
    try:
        url = checked_url(flags.ping or "")
    except Failure as failure:
        return fail(terminal, failure)
    send_ping(url, "start", terminal.complain)
    code = _guarded(terminal, flags, words)
    send_ping(url, "end", terminal.complain, code)
    return code


def _guarded(terminal: Terminal, flags: Flags, words: list[str]) -> int:
    command = _command_of(words)
    try:
        return _work(terminal, flags, words)
    except Failure as failure:
        failure.facts.setdefault("command", command)
        failure.facts.setdefault("typed", shlex.join(words))
        return fail(terminal, failure)
    except TyperException as problem:
        return fail(terminal, tree.explain_problem(problem, command))
    except KeyboardInterrupt:
        terminal.note("\nStopped.")
        return exit_codes.INTERRUPTED
    except (BrokenPipeError, UnwrittenError):
        raise
    except Exception as defect:  # noqa: BLE001  # the last line of defence; nothing is swallowed
        # A crash file has no values, so a traceback is masked.
        from parsers.masking import describe_traceback  # noqa: PLC0415  # only defects need it

        text = describe_traceback(defect)
        try:
            path = write_crash_file(terminal.located.places.state, text, terminal.now())
            message = f"this is a defect of momo; it is recorded in {path}"
        except OSError as problem:
            message = f"this is a defect of momo; it could not be recorded ({problem.strerror})"
            terminal.complain(text)
        else:
            if terminal.flags.debug:
                terminal.complain(text)
        why = f"{type(defect).__name__}; {message}"
        bundle = ("momo doctor --bundle momo-doctor.tar.gz",)
        return fail(terminal, Failure(ErrorCode.INTERNAL_ERROR, why, next=bundle))


def _work(terminal: Terminal, flags: Flags, words: list[str]) -> int:
    if flags.problem:
        raise usage(flags.problem)
    if flags.tz:
        _ = terminal.zone  # an unknown zone is an error, even if no time is shown
    words = ["help", "version"] if flags.version else _helped(words)
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):  # Typer writes only help pages
            call = root().main(args=words, prog_name="momo", standalone_mode=False)
    except HelpWanted as wanted:
        if _for_programs(terminal):
            of = f"momo {wanted.group}".rstrip()
            why = f"{of} needs a command: {', '.join(wanted.verbs)}"
            raise usage(why, f"{of} --help") from None
        show_help(terminal, str(wanted))
        return exit_codes.USAGE
    if call is None or isinstance(call, int):  # --help was answered by Typer
        text = shown.getvalue().rstrip("\n")
        if _for_programs(terminal):
            from momo_cli.show.answer import document_of  # noqa: PLC0415  # people's help needs no JSON

            terminal.stdout.write(document_of({"topic": _command_of(words), "text": text}) + "\n")
        else:
            show_help(terminal, text)
        return int(call or exit_codes.OK)
    # Help needs neither locks nor a client.
    from momo_cli.frame.command import run_call  # noqa: PLC0415

    command = _command_of(words)
    lock = lock_name(command, words)
    with hold_lock(terminal, lock, command) if lock else contextlib.nullcontext():
        return run_call(terminal, call)


def show_help(terminal: Terminal, text: str) -> None:
    """Write a page of help; one that is longer than the screen goes through the pager."""
    if not terminal.stdout.isatty():
        terminal.stdout.write(f"{text}\n")
        return
    from momo_cli.show.render import show_paged  # noqa: PLC0415  # only a screen has a pager

    show_paged(terminal, text.split("\n"))


def _helped(words: list[str]) -> list[str]:
    """Read `help COMMAND` as `COMMAND --help`, and a bare `help` as `--help`."""
    if words[:1] != ["help"] or any(word.startswith("-") for word in words):
        return words
    asked = words[1:]
    if not asked:
        return ["--help"]
    return [*asked, "--help"] if _command_of(asked) == " ".join(asked) else words


def _for_programs(terminal: Terminal) -> bool:
    """Return whether stdout gets JSON documents."""
    return terminal.flags.get is None and terminal.output in (Output.JSON, Output.NDJSON)


def fail(terminal: Terminal, failure: Failure) -> int:
    """Print a failure, on stderr for people, on stdout for programs; return its exit code."""
    code = errors.exit_code_of(failure)
    if _for_programs(terminal):
        from momo_cli.show.answer import dumps  # noqa: PLC0415  # help needs no JSON

        body = errors.document(failure)
        body["error"]["next"] = [terminal.reaching(each) for each in body["error"]["next"]]
        if terminal.output is Output.NDJSON or failure.streamed:
            body = {"type": "error", **body}
        terminal.stdout.write(dumps(body) + "\n")
        if terminal.flags.quiet:
            return code
    elif failure.shown and terminal.flags.get is None:
        terminal.stdout.write(failure.shown + "\n")
        terminal.stdout.flush()
    from momo_cli.show.error_detail import explain_failure  # noqa: PLC0415  # only failures need it

    sentence, details = explain_failure(failure, terminal)
    shown_code = terminal.style(f"[{clean(failure.code) or 'unknown'}]", "dim", message=True)
    if terminal.flags.quiet and details:  # one line, and cron's mail still has the reason
        sentence, details = f"{sentence}: {'; '.join(details)}", []
    lines = [f"{terminal.style('error:', 'red', message=True)} {sentence}  {shown_code}"]
    lines += [f"    {detail}" for detail in details]
    for i, command in enumerate(errors.next_of(failure)):
        lines.append(("  next:  " if i == 0 else "         ") + command)
    if terminal.flags.quiet:
        lines = [lines[0], *[line for line in lines if line.startswith("  next:")][:1]]
    for line in lines:
        terminal.complain(line)
    return code


def _command_of(words: Sequence[str]) -> str:
    """Return the name of the command or group that the words begin with."""
    return find_name([word for word in words if not word.startswith("-")])


def write_crash_file(state: str, text: str, now: datetime) -> str:
    """Write a crash file and return its path, or raise OSError; delete the oldest ones beyond `KEPT`."""
    folder = f"{state}/crash"
    path = f"{folder}/{now:%Y%m%dT%H%M%S}-{system.new_key()[:8]}.log"
    system.make_own_folder(folder)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text + "\n")
    for old in sorted(os.listdir(folder))[:-KEPT]:  # noqa: PTH208  # the same
        os.unlink(f"{folder}/{old}")  # noqa: PTH108  # the same
    return path


def checked_url(url: str) -> str:
    """Return the URL; fail (exit 2) if it is not an http or https URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise usage(f"--ping: {url!r} is not a URL such as https://hc.example/UUID")
    return url


def send_ping(url: str, step: str, warn: Callable[[str], None], exit_code: int = 0) -> None:
    """Report one step to the monitor: `start` or `end`."""
    import urllib.error  # noqa: PLC0415  # only this flag needs HTTP over TCP
    import urllib.request  # noqa: PLC0415  # the same

    parts = urlsplit(url)
    path, query = parts.path.rstrip("/"), parts.query
    if step == "start":
        path += "/start"
    elif exit_code:
        path += "/fail"
        query = f"{query}&exit={exit_code}".lstrip("&")
    target = urlunsplit((parts.scheme, parts.netloc, path, query, ""))
    request = urllib.request.Request(target, headers={"User-Agent": "momo-cli"})  # noqa: S310  # http(s), see checked
    try:
        with contextlib.closing(urllib.request.urlopen(request, timeout=_PING_S)) as answer:  # noqa: S310 -- http(s) only, see above
            answer.read(1024)
    except (OSError, ValueError, urllib.error.URLError) as problem:
        why = getattr(problem, "reason", problem)
        warn(f"warning: --ping: {parts.hostname} did not accept the report: {why}")
