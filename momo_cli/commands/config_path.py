"""Print where the shop's settings are, whether the file is there or not."""

import os
from dataclasses import dataclass
from typing import Final

from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo config path
"""
VIEW: Final = View(fields=(Field("path"), Field("exists")), id="path")


@dataclass(frozen=True, slots=True)
class Options:
    """`momo config path` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Say where."""
    path = terminal.located.places.config
    row = {"path": path, "exists": os.path.exists(path)}  # noqa: PTH110  # no pathlib needed
    return Answer(
        document=dumps({"success": True, "data": row}), rows=[row], lines=[path], plain=path
    )
