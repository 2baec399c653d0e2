"""Practise with a broken receiver: a sandbox endpoint that fails every webhook, and made-up payments for it.

Shows retries, dead letters, and the pause after 20 failures in a row. It ends after --count tries, or when momo has
paused it, and leaves the endpoint behind so that you can look around; take it away with momo endpoints delete. After
three failures momo tries a broken receiver every 5, 15 and then 30 s only, so 20 tries take some minutes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Row
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.listening import VIEW, Webhook, listen
from momo_cli.local_receiver import Heard
from momo_cli.simulated import ask
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo simulate endpoint --fail 500
  momo simulate endpoint --fail 410 --count 3
  momo simulate endpoint --fail timeout
"""
_ERRORS: Final = {"timeout": "timeout", "drop": "connection_reset"}
_COUNT_MAX: Final = 200
_PAYMENT: Final = {"amount": "1.00"}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo simulate endpoint`."""

    heard: Heard
    count: int


def command(
    fail: Annotated[
        str, typer.Option(metavar="500|410|timeout|drop", help="What it does with each webhook.")
    ],
    count: Annotated[
        int, typer.Option(min=1, max=_COUNT_MAX, help="After so many tries it ends.")
    ] = 20,
) -> Call:
    """Read the flags."""
    return Call(run, Options(_heard(fail.strip()), count), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the endpoint and its payments, and fail."""
    made = client.call("POST", Path.LOCAL_LISTEN).data
    endpoint = str(made["id"])
    return Answer(
        rows=_rows(client, terminal, options, endpoint),
        stream=True,
        next=[
            "momo dead-letters list",
            f"momo endpoints show {endpoint}",
            f"momo endpoints delete {endpoint} --yes",
        ],
    )


def _rows(client: Client, terminal: Terminal, options: Options, endpoint: str) -> Iterator[Row]:
    def handle(_webhook: Webhook) -> Heard:
        return options.heard

    def now() -> str:
        return f"{terminal.now():%Y-%m-%dT%H:%M:%SZ}"

    for number, row in enumerate(listen(client, endpoint, handle, now)):
        if row is None:
            terminal.note(f"A broken receiver: endpoint {endpoint}. Ctrl-C ends it.")
            # Only now: what is paid while nobody is connected waits, and comes as after an outage.
            for _ in range(options.count):
                ask(client, _PAYMENT)
            continue
        yield row
        if number == options.count:
            return
        if client.get(path_of(Path.ENDPOINT, id=endpoint)).data.get("auto_paused_at"):
            terminal.note(f"momo has paused it; next: momo endpoints show {endpoint}")
            return


def _heard(fail: str) -> Heard:
    if fail in _ERRORS:
        return Heard(None, _ERRORS[fail], "", 0)
    if fail.isdecimal() and len(fail) == 3 and 300 <= int(fail) <= 599:
        return Heard(int(fail), None, "momo simulate endpoint", 0)
    raise usage("--fail: a status from 300 to 599, timeout or drop")
