"""The flags of `daemon run`, which `daemon start` and `daemon restart` take too."""

from collections.abc import Sequence
from typing import Annotated

import typer

from momo_cli.errors import usage

Http = Annotated[str | None, typer.Option(metavar="HOST:PORT|off", help="Where the API listens.")]
InsecureHttp = Annotated[
    bool,
    typer.Option("--insecure-http", help="--http may be reached by other machines, in the clear."),
]
Modems = Annotated[
    list[str] | None, typer.Option(metavar="PATH", help="A modem's tty; may be repeated.")
]
NoModem = Annotated[
    bool, typer.Option("--no-modem", help="Serve no phone, such as to look at a copy of a shop.")
]
SimulatedPhone = Annotated[
    bool,
    typer.Option(
        "--simulated-phone", help="Attach a simulated phone, for momo simulate: test mode only."
    ),
]


def run_flags(  # noqa: PLR0913 -- one argument per flag
    http: str | None,
    modems: Sequence[str],
    *,
    simulated_phone: bool,
    no_modem: bool = False,
    insecure_http: bool = False,
    log_json: bool = False,
    supervised: bool = False,
) -> tuple[str, ...]:
    """Return the flags as the daemon's program takes them.

    Raises:
        Failure: USAGE, when a phone is named and none is wanted.
    """
    if modems and no_modem:
        raise usage("--modem names a phone and --no-modem wants none; give one of them")
    flags: list[str] = []
    if http is not None:
        flags.append(f"--http={http}")
    if insecure_http:
        flags.append("--insecure-http")
    flags += [f"--modem={modem}" for modem in modems]
    if no_modem:
        flags.append("--no-modem")
    if simulated_phone:
        flags.append("--simulated-phone")
    if log_json:
        flags.append("--log-json")
    if supervised:
        flags.append("--supervised")
    return tuple(flags)
