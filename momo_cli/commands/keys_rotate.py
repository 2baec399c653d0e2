"""Make a new API key that may do what this one may. Both work until the overlap is over; then the old one ends.

Change your programs over meanwhile. The new key is shown once, here; with --key-file it goes into that file (which must
not exist yet; mode 0600) and is null in the output. --overlap 0 ends the old key at once, and asks first.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits, keys, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.naming import KEYS, id_of
from momo_cli.secret_file import secret_file
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of
from momo_cli.times import duration_s
from momo_cli.values import dumps
from momo_cli.words import clock

EXAMPLES: Final = """\
  momo keys rotate 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
  momo keys rotate 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --overlap 48h --key-file shop.key
  momo keys rotate 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --overlap 0 --yes
"""
VIEW: Final = View(fields=(*keys.FIELDS, Field("key")))
_HOUR_S: Final = 3600


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo keys rotate`."""

    key: str
    hours: int
    key_file: str | None


def command(
    key: Annotated[str, typer.Argument(metavar="ID", help="The old key: its id or name.")],
    overlap: Annotated[
        str, typer.Option(metavar="TIME", help="For so long the old key goes on; whole hours.")
    ] = "24h",
    key_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the key there, not to the output.")
    ] = None,
) -> Call:
    """Read the flags."""
    hours, rest = divmod(duration_s(overlap, "--overlap"), _HOUR_S)
    if rest:
        raise usage("--overlap: whole hours, such as 24h; 0 ends the old key at once")
    return Call(run, Options(key.strip(), int(hours), key_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the key; where it is to be kept comes first."""
    options = replace(options, key=id_of(client, KEYS, options.key))
    if not options.hours and not terminal.flags.yes:
        asked = "Whoever uses the old key is refused from now on. Go on? [y/N] "
        if terminal.ask(asked, "--yes").lower() not in ("y", "yes"):
            return Answer(lines=["Nothing was changed."], exit_code=exits.CANCELLED)
    with secret_file(options.key_file, "--key-file") as keep:
        reply = client.call(
            "POST",
            path_of(Path.KEY_ROTATE, id=options.key),
            body={"overlap_hours": options.hours},
            idempotency_key=system.new_key(),
        )
        keep(str(reply.body.get("key")))
    row = {**reply.data, "key": None if options.key_file else reply.body.get("key")}
    shown = terminal.style(clean(row["key"]), "bold") if row["key"] else f"in {options.key_file}"
    previous = reply.body.get("previous") or {}
    ends = clock(previous.get("expires_at"), terminal) if options.hours else "now"
    return Answer(
        document=dumps({**reply.body, "key": None}) if options.key_file else reply.text,
        rows=[row],
        lines=[
            f"{terminal.style('✓', 'green')} Made a {row['mode']} key: {keys.may(row)}",
            f"  key  {shown}",
            f"  id   {clean(row['id'])}",
            f"  old  {clean(previous.get('hint'))} ends {ends}",
        ],
        notes=[
            *warnings_of(reply.body),
            *(["Keep the key now: it is not shown again."] if row["key"] else []),
        ],
        next=["momo keys list"],
    )
