"""`momo lines ussd`: a USSD session in the terminal."""

import contextlib
from collections.abc import Iterator
from typing import Final

from daemon.wire import Path
from momo_cli import exit_codes, system
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs import typed_values
from momo_cli.inputs.ids import METHODS, id_of
from momo_cli.inputs.parameters import METHOD, PASSWORD_FILE, argument, flag
from momo_cli.show.answer import Answer, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import money
from momo_cli.socket.client import Client, path_of
from momo_cli.text import clean
from momo_cli.views.lines import proof_lines, proved

_ANSWER_S: Final = 75.0
"""Longer than the daemon waits for the network."""
_CODES: Final = {
    "answered": exit_codes.OK,
    "cancelled": exit_codes.OK,
    **dict.fromkeys(("network", "timeout", "silent", "idle"), exit_codes.PENDING),
}


@command("lines ussd", view=view_of("text ended sent sentence balance currency"))
def ussd(
    client: Client,
    terminal: Terminal,
    method: str = METHOD,
    code: str = argument("CODE", "The code in quotes, such as '*170#'; never with a PIN."),
    hidden: bool = flag("--hidden", "Do not show what you type."),
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """Dial a code from the SIM of a number, read the network's menu, and type replies; Enter alone or Ctrl-C ends the session.
    A menu can move money: momo never answers one by itself. What you type is kept nowhere. If a menu shows the balance of
    the wallet, one key takes it as lines wallet does, with the owner's password.

    In a pipe the replies are the lines of stdin. A network has 60 seconds for an answer, and you two minutes for a reply.
    Exit 8: the session ended before its answer; 5: the phone or the network refused.

    Examples:
        momo lines ussd 0244124567 '*170#' --hidden
    """
    method_id, session, ends = id_of(client, METHODS, method), system.new_key(), list[str | None]()
    path, wallet = path_of(Path.USSD, id=method_id), path_of(Path.WALLET, id=method_id)
    client.timeout_s = _ANSWER_S

    def menus() -> Iterator[Row]:
        terminal.note("A menu can move money. momo sends only what you type; Enter alone ends the session.")
        ended, body = None, {"code": code}
        try:
            while ended is None:
                menu = client.call("POST", path, body={"session": session, **body}).data
                ended = menu["ended"]
                yield menu
                terminal.stdout.flush()
                if menu["sentence"]:
                    terminal.note(clean(menu["sentence"]))
                if menu["balance"] is not None and not client.sandbox:
                    _offer(client, terminal, wallet, menu, password_file)
                if ended is None:
                    if not (typed := _typed(terminal, hidden=hidden)):
                        return
                    body = {"reply": typed}
            ends.append(ended)
        finally:
            if ended is None:
                with contextlib.suppress(Failure):
                    client.call("POST", path, body={"session": session})

    rows = menus()
    lines = (f"{clean(line)}\n" for menu in rows for line in menu["text"].split("\n") if line)
    return Answer(
        rows=rows, text=lines, stream=True, ended=lambda: _CODES.get(str(ends[0]), exit_codes.REFUSED) if ends else 0
    )


def _typed(terminal: Terminal, *, hidden: bool) -> str:
    if not terminal.can_ask():
        return terminal.stdin.readline().strip()
    ask = terminal.ask_secret if hidden else terminal.ask
    return ask("Reply: ", "a line of stdin").strip()


def _offer(client: Client, terminal: Terminal, path: str, menu: Row, password_file: str | None) -> None:
    """Offer to take the balance of a menu as what the wallet shows now."""
    shown = money(menu["balance"], menu["currency"])
    if not (terminal.human and terminal.can_ask()):
        terminal.note(f"It shows a balance of {shown}; momo lines wallet takes it as what the wallet shows.")
    elif terminal.ask_key(f"Take {shown} as what the wallet shows now? [y/N] ", "momo lines wallet").lower() == "y":
        body = {"balance": menu["balance"], "password": typed_values.owners_password(terminal, password_file)}
        if (reply := proved(client, terminal, path, body)) is not None:
            for line in proof_lines(terminal, reply.data):
                terminal.note(line)
