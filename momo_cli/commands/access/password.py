"""The command password set."""

from daemon.wire import Path
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import NewPasswordFile
from momo_cli.inputs.passwords import new_password
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client


@command("users password")
def set_(client: Client, terminal: Terminal, password_file: NewPasswordFile = None) -> Answer:
    """Set a new owner's password.

    Every dashboard session ends. The user that runs momo, or root, needs no old password. It works with and without a
    running daemon.

    Examples:
        momo users password
        momo users password --password-file pw.txt
    """
    password = new_password(terminal, password_file)
    if client.alive():
        text = client.call("POST", Path.LOCAL_PASSWORD, body={"password": password}).text
    else:
        text = run_verb(terminal, "password-set", "--json", stdin=password).text
    said = f"{terminal.tick} The owner has a new password; every session has ended."
    return Answer(text, lines=[said])
