"""Carrying out a parsed command line: the client, the command, its answer on stdout."""

from collections.abc import Sequence
from dataclasses import replace

from momo_cli import exits, render, system
from momo_cli.answer import Answer, Call
from momo_cli.client import DEFAULT_TIMEOUT_S, Client
from momo_cli.flags import Flags
from momo_cli.terminal import Terminal
from momo_cli.trace import Trace


def perform(terminal: Terminal, call: Call) -> int:
    """Run a command and write its answer; return the exit code.

    Raises:
        Failure: The command could not do what was asked.
    """
    render.check(terminal, call.view)
    client = Client(
        terminal.located,
        timeout_s=_limit(terminal.flags),
        warn=terminal.note,
        trace=Trace(terminal.complain, whole=terminal.flags.debug)
        if terminal.flags.debug or terminal.flags.verbose
        else None,
        pause=system.sleep,
    )
    terminal = replace(terminal, shop_zone=client.zone_name)
    answer = call.run(client, terminal, call.options)
    return _show(terminal, call, answer)


def _tell_cron(terminal: Terminal, answer: Answer, faults: Sequence[str]) -> int:
    """Say nothing, or why it did not go well: what cron mails (docs/cron.md)."""
    if answer.exit_code != exits.OK:
        terminal.complain(f"error: {'; '.join(faults)}")
        terminal.complain(f"next:  {next(iter(answer.next), 'momo doctor')}")
    return answer.exit_code


def _limit(flags: Flags) -> float | None:
    """Return the limit of one call; `--timeout 0` is for ever."""
    return DEFAULT_TIMEOUT_S if flags.timeout_s is None else flags.timeout_s or None


def _show(terminal: Terminal, call: Call, answer: Answer) -> int:
    flags = terminal.flags
    asked_for = bool(flags.output or flags.get or flags.fields)
    if answer.faults is not None and flags.quiet and not asked_for:
        return _tell_cron(terminal, answer, answer.faults)
    render.write(terminal, call.view, answer)
    terminal.stdout.flush()
    exit_code = answer.exit_code if answer.ended is None else answer.ended()
    if answer.empty:
        terminal.note(answer.empty)
    for note in answer.notes:
        terminal.note(note)
    if terminal.human:
        for line in answer.next_lines():
            terminal.note(line)
    return exit_code
