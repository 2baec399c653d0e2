"""List the API keys, newest first: what each may do and when it was last used. The keys themselves are kept nowhere."""

from dataclasses import dataclass
from typing import Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.keys import VIEW
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo keys list
  momo keys list --fields id,hint,state,last_used_at
"""


@dataclass(frozen=True, slots=True)
class Options:
    """`momo keys list` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for the keys."""
    reply = client.get(Path.KEYS)
    rows = reply.data or []
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No API keys yet.",
        next=[] if rows else ["momo keys create --name NAME"],
    )
