"""Stop the service until the next start of the machine. Messages stay on the SIM meanwhile.

Exit 3 when this shop has no service: momo service install, or momo daemon start without one.
"""

from typing import Annotated, Final

import typer

from momo_cli.answer import Call
from momo_cli.service_verbs import call_for

EXAMPLES: Final = """\
  momo service stop
  momo service stop --system
"""


def command(
    system: Annotated[
        bool, typer.Option("--system/--user", help="The machine's service, or yours.")
    ] = False,
) -> Call:
    """Read the flags."""
    return call_for("stop", system=system)
