"""Say whether the daemon runs: exit 0 when it does, 7 when it does not."""

from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import uptime

EXAMPLES: Final = """\
  momo daemon status
  momo daemon status --get data.pid
"""
VIEW: Final = View(fields=(Field("pid"), Field("version"), Field("uptime_s")), id="pid")


@dataclass(frozen=True, slots=True)
class Options:
    """`momo daemon status` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask the daemon how it is."""
    reply = client.get(Path.LOCAL_STATUS)
    data: dict[str, Any] = reply.data or {}
    mark = terminal.style("✓", "green")
    line = f"{mark} The daemon runs (pid {clean(data.get('pid'))}"
    line += f", up {uptime(data.get('uptime_s'))})." if data.get("uptime_s") is not None else ")."
    return Answer(document=reply.text, rows=[data], lines=[line], next=["momo status"])
