"""Start the service, and return when it is ready.

Exit 3 when this shop has no service: momo service install, or momo daemon start without one.
"""

from typing import Annotated, Final

import typer

from momo_cli.answer import Call
from momo_cli.service_verbs import call_for

EXAMPLES: Final = """\
  momo service start
  momo service start --system
"""


def command(
    system: Annotated[
        bool, typer.Option("--system/--user", help="The machine's service, or yours.")
    ] = False,
) -> Call:
    """Read the flags."""
    return call_for("start", system=system)
