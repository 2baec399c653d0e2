"""Take a number away. What was paid to it stays as it is; new payments to its SIM match no number.

Exit 10: you did not say yes.
"""

from dataclasses import dataclass
from typing import Final

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.methods import VIEW, Method
from momo_cli.naming import method_id
from momo_cli.terminal import Terminal
from momo_cli.words import phone

EXAMPLES: Final = """\
  momo methods remove 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
  momo methods remove 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --yes
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo methods remove`."""

    method: str


def command(method: Method) -> Call:
    """Read the flags."""
    return Call(run, Options(method.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask, and take it away."""
    path = path_of(Path.PAYMENT_METHOD, id=method_id(client, options.method))
    if not terminal.flags.yes:
        seen = client.get(path)
        number = phone(seen.data.get("phone_number"))
        asked = f"Take {number} away? Payments to it will match no number. [y/N] "
        if terminal.ask(asked, "--yes").lower() not in ("y", "yes"):
            return Answer(
                document=seen.text,
                rows=[seen.data],
                lines=["Nothing was changed."],
                exit_code=exits.CANCELLED,
            )
    reply = client.call("DELETE", path)
    number = phone(reply.data.get("phone_number"))
    said = f"{terminal.style('✓', 'green')} {number} is gone; its payments are kept."
    return Answer(document=reply.text, rows=[reply.data], lines=[said], next=["momo lines"])
