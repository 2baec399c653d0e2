"""List the modems: each phone, how well it hears the network, how full its SIM is, and what is wrong.

TROUBLE is one word; momo modems show says it whole, with what to do.
"""

from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.modems import VIEW, called
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo modems list
  momo modems list --fields name,state,signal_dbm,storage_used
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo modems list`: none."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for the phones."""
    reply = client.get(Path.LOCAL_MODEMS)
    rows: list[dict[str, Any]] = reply.data or []
    bad = [row for row in rows if row.get("troubles")]
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No modem was found. Plug one in, or type: momo doctor modem",
        next=[f"momo modems show {_typed(row)}" for row in bad[:1]],
    )


def _typed(row: dict[str, Any]) -> str:
    name = called(row)
    return f'"{name}"' if " " in name else name
