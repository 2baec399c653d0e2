"""Send yourself a test over each way that the settings name: [smtp] and [notices] of config.toml."""

from dataclasses import dataclass
from typing import Final

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo notices test
"""
VIEW: Final = View(fields=(Field("channel"),), id="channel")


@dataclass(frozen=True, slots=True)
class Options:
    """`momo notices test` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Queue it."""
    reply = client.call("POST", Path.LOCAL_NOTICES_TEST)
    channels = reply.data.get("queued") or []
    if not channels:
        return Answer(
            document=reply.text,
            empty="The settings name no way to you: set host and to under [smtp], or desktop under [notices].",
            next=["momo help files"],
            exit_code=exits.FINDINGS,
        )
    names = ", ".join(clean(one) for one in channels)
    return Answer(
        document=reply.text,
        rows=[{"channel": one} for one in channels],
        lines=[f"{terminal.style('✓', 'green')} On its way by {names}."],
        next=["momo notices list"],
    )
