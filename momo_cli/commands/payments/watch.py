"""The command watch: payments live on the whole screen."""

import os

from momo_cli import system
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import flag
from momo_cli.show.answer import Answer
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client


@command("watch")
def watch(
    client: Client,
    terminal: Terminal,
    read_only: bool = flag("Show only; nothing can be approved."),
    no_sound: bool = flag("Never ring the bell."),
) -> Answer:
    """Show payments live on the whole screen.

    The screen has the newest payment in large figures, the day's total of each line and the payments held for review; a
    bell rings for each payment. Type the six characters of a code to see whether that transaction is paid. + approves
    the marked payment for its suggested transaction, by the rules of `momo review approve`: a payment that may be
    forged needs the owner's password. Tab marks the next one, * turns the sound on and off, Esc clears; q and Enter
    leave, Ctrl-C or Ctrl-D too (q alone is a letter of codes). It works over SSH, best from 80 columns by 24 lines, at
    least 40 columns, and reconnects when the daemon is back; exit 7: the daemon was away for 30 s.

    Examples:
        momo watch
        momo watch --read-only --no-sound
        momo watch --sandbox
    """
    _require_screen(terminal)
    from momo_cli.watch import fetch, loop, model  # noqa: PLC0415  # only a screen needs rich

    shown = model.Model(read_only=read_only, sound=not no_sound)
    model.apply_result(shown, fetch.fetch_day(client), system.monotonic())
    code = loop.run_loop(fetch.Fetcher(client), terminal, shown)
    return Answer(exit_code=code)


def _require_screen(terminal: Terminal) -> None:
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    if terminal.human and terminal.on_screen and terminal.stdin.isatty() and not dumb:
        return
    why = "this terminal cannot (TERM)" if terminal.on_screen and dumb else "there is none here"
    needs = (
        f"momo watch needs a full-screen terminal, and {why}; for programs: momo tx watch --json"
    )
    raise usage(needs, "momo tx watch --json", "momo today")
