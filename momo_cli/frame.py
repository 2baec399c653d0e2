"""The one place where a command line becomes output and an exit code.

Everything that can happen to a command ends here: an answer, a refusal, Ctrl-C, a reader that went
away, a defect of ours. Commands know nothing of it.
"""

import contextlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from typer.exceptions import TyperException

from daemon.wire import ErrorCode
from momo_cli import errors, exits, misuse
from momo_cli.commands import ALIASES, COMMANDS, GROUPS
from momo_cli.completion_scripts import ASK
from momo_cli.errors import Failure
from momo_cli.flags import Flags, Output, lift
from momo_cli.group import HelpWanted, root
from momo_cli.terminal import Terminal, open_terminal
from momo_cli.text import at, clean

_INDENT: Final = "    "


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run one command line and return its exit code.

    Args:
        argv: The words after the program's name.
        environ: The environment.
    """
    for stream in (sys.stdout, sys.stderr):
        # Cron's LANG=C must not turn a name with an open o into a crash.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]  # a stream of text has it
    if len(argv) == 3 and argv[0] == ASK:
        return _completed(argv[1], argv[2], environ)
    flags, words = lift(argv, environ)
    terminal = open_terminal(flags, environ, COMMANDS)
    try:
        code = _watched(terminal, flags, words) if flags.ping else _guarded(terminal, flags, words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit; give it somewhere to go (docs: signal, SIGPIPE).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.PIPE_CLOSED
    return code


def _completed(shell: str, line: str, environ: Mapping[str, str]) -> int:
    """Answer a shell that asks what may stand at its cursor; whatever goes wrong, with nothing."""
    from momo_cli.completion import answers  # noqa: PLC0415  # only TAB asks

    try:
        for each in answers(line, environ, bash=shell == "bash"):
            sys.stdout.write(each + "\n")
        sys.stdout.flush()
    except Exception:  # noqa: BLE001  # a message in the middle of what somebody types would be worse
        return exits.FAILED
    return exits.OK


def _watched(terminal: Terminal, flags: Flags, words: list[str]) -> int:
    """Run it, and tell the watcher of `--ping` that it began and how it ended."""
    from momo_cli.ping import checked, ping  # noqa: PLC0415  # only this flag needs it

    try:
        url = checked(flags.ping or "")
    except Failure as failure:
        return fail(terminal, failure)
    ping(url, "start", terminal.complain)
    code = _guarded(terminal, flags, words)
    ping(url, "end", terminal.complain, code)
    return code


def _guarded(terminal: Terminal, flags: Flags, words: list[str]) -> int:
    command = _command_of(words)
    try:
        return _work(terminal, flags, words)
    except Failure as failure:
        failure.facts.setdefault("command", command)
        return fail(terminal, failure)
    except TyperException as problem:
        return fail(terminal, misuse.told(problem, command))
    except KeyboardInterrupt:
        terminal.note("\nStopped.")
        return exits.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as defect:  # noqa: BLE001  # the last line of defence; nothing is swallowed
        return _crash(terminal, defect)


def _work(terminal: Terminal, flags: Flags, words: list[str]) -> int:
    if flags.problem:
        raise errors.usage(flags.problem)
    if flags.tz:
        _ = terminal.zone  # one that there is not is refused, whether or not a time will be shown
    words = ["version"] if flags.version else _helped(words)
    shown = io.StringIO() if _for_programs(terminal) else terminal.stdout
    try:
        with contextlib.redirect_stdout(shown):  # a help page is all that Typer writes
            call = root().main(args=words, prog_name="momo", standalone_mode=False)
    except HelpWanted as wanted:
        if _for_programs(terminal):
            raise misuse.no_verb(wanted.group, wanted.verbs) from None
        terminal.stdout.write(f"{wanted}\n")
        return exits.USAGE
    if call is None or isinstance(call, int):  # --help was answered by Typer
        if isinstance(shown, io.StringIO):
            _help_for_programs(terminal, words, shown.getvalue())
        return int(call or exits.OK)
    from momo_cli.alone import hold, lock_name  # noqa: PLC0415  # help needs no locks
    from momo_cli.perform import perform  # noqa: PLC0415  # nor a client and tables

    command = _command_of(words)
    if lock := lock_name(command, words):
        with hold(terminal, lock, command):
            return perform(terminal, call)
    return perform(terminal, call)


def _help_for_programs(terminal: Terminal, words: Sequence[str], text: str) -> None:
    from momo_cli.values import dumps  # noqa: PLC0415  # people's help needs no JSON

    data = {"topic": _command_of(words), "text": text.rstrip("\n")}
    terminal.stdout.write(dumps({"success": True, "data": data}) + "\n")


def _helped(words: list[str]) -> list[str]:
    """Read `help COMMAND` as `COMMAND --help`, and a bare `help` as `--help`."""
    if words[:1] != ["help"] or any(word.startswith("-") for word in words):
        return words
    asked = words[1:]
    if not asked:
        return ["--help"]
    return [*asked, "--help"] if _command_of(asked) == " ".join(asked) else words


def _for_programs(terminal: Terminal) -> bool:
    """Say whether stdout holds JSON documents."""
    return terminal.flags.get is None and terminal.output in (Output.JSON, Output.NDJSON)


def fail(terminal: Terminal, failure: Failure) -> int:
    """Tell a failure: people on stderr, programs on stdout; return its exit code."""
    code = errors.exit_code_of(failure)
    if _for_programs(terminal):
        from momo_cli.values import dumps  # noqa: PLC0415  # help needs no JSON

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
    lines = _told(terminal, failure)
    if terminal.flags.quiet:
        lines = [lines[0], *[line for line in lines if line.startswith("  next:")][:1]]
    for line in lines:
        terminal.complain(line)
    return code


def _told(terminal: Terminal, failure: Failure) -> list[str]:
    from momo_cli.proofs import proof_of  # noqa: PLC0415  # only a failure is proved

    row = errors.row_for(failure)
    sentence, proof = row.sentence, proof_of(failure, terminal) or clean(failure.message)
    if failure.code in (ErrorCode.USAGE, ErrorCode.DAEMON_DOWN) and proof:
        sentence, proof = proof, ""
    elif proof in errors.SAID:
        proof = ""
    elif proof.casefold().startswith(f"{sentence}:".casefold()):  # the same, with the reason
        sentence, proof = f"{sentence}{proof[len(sentence) :].rstrip('.')}", ""
    code = terminal.style(f"[{clean(failure.code) or 'unknown'}]", "dim", message=True)
    details = at(failure.body, "error.details")
    if isinstance(details, list) and details:
        proofs = [
            f"{clean(at(detail, 'field'))}: {clean(at(detail, 'message'))}" for detail in details
        ]
    else:
        proofs = [proof] if proof.rstrip(".").casefold() not in ("", sentence.casefold()) else []
    if terminal.flags.quiet and proofs:  # one line, and cron's mail still says why
        sentence, proofs = f"{sentence}: {'; '.join(proofs)}", []
    lines = [f"{terminal.style('error:', 'red', message=True)} {sentence}  {code}"]
    lines += [_INDENT + proof for proof in proofs]
    for i, command in enumerate(errors.next_of(failure)):
        lines.append(("  next:  " if i == 0 else "         ") + command)
    return lines


def _command_of(words: Sequence[str]) -> str:
    """Return the command's own words, for `momo ... --help`."""
    plain = [word for word in words if not word.startswith("-")][:2]
    meant = [(word, *ALIASES.get(word, ())) for word in plain]
    for full in (*map(" ".join, product(*meant)), *(meant[0] if meant else ())):
        if full in COMMANDS or full in GROUPS:
            return full
    return ""


def _crash(terminal: Terminal, defect: Exception) -> int:
    """Write the fault down, without anybody's values, and say where it is."""
    from momo_cli import crash  # noqa: PLC0415  # only defects need it
    from privacy.faults import story  # noqa: PLC0415  # the same

    try:
        path = crash.write(terminal.located.places.state, defect, terminal.now())
        said = f"this is a fault in momo; it is written down in {path}"
    except OSError as problem:
        said = f"this is a fault in momo; it could not be written down ({problem.strerror})"
        terminal.complain(story(defect))
    else:
        if terminal.flags.debug:
            terminal.complain(story(defect))
    name = type(defect).__name__
    return fail(
        terminal,
        Failure(
            ErrorCode.INTERNAL_ERROR,
            f"{name}; {said}",
            next=("momo doctor --bundle momo-doctor.tar.gz",),
        ),
    )
