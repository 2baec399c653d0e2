"""Show one number that takes money: its SIM, and when it was last paid to."""

from dataclasses import dataclass
from typing import Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.methods import VIEW, Method
from momo_cli.naming import method_id
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo methods show 0244124567
  momo methods show 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo methods show`."""

    method: str


def command(method: Method) -> Call:
    """Read the flags."""
    return Call(run, Options(method.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for the number."""
    reply = client.get(path_of(Path.PAYMENT_METHOD, id=method_id(client, options.method)))
    return Answer(document=reply.text, rows=[reply.data])
