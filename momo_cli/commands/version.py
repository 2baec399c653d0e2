"""Show the version of this momo, and of the daemon if it runs."""

from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import PROTOCOL, Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo version
  momo -V --json
"""
VIEW: Final = View(
    fields=(Field("version"), Field("protocol"), Field("daemon"), Field("schema"), Field("sqlite")),
    id="version",
)


@dataclass(frozen=True, slots=True)
class Options:
    """`momo version` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Put both versions side by side; a daemon that does not answer is no failure here."""
    daemon = _daemon(client)
    row = {
        "version": own_version(),
        "protocol": PROTOCOL,
        "daemon": daemon.get("version"),
        "schema": at(daemon, "db.schema"),
        "sqlite": at(daemon, "db.sqlite"),
    }
    told = [f"daemon {clean(row['daemon'])}" if row["daemon"] else "daemon not running"]
    told += [f"{name} {clean(row[name])}" for name in ("schema", "sqlite") if row[name] is not None]
    line = f"momo {row['version']} ({', '.join(told)})"
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[line],
        plain=line,
    )


def own_version() -> str:
    """Return the version of the installed program."""
    from importlib import metadata  # noqa: PLC0415  # slow, and only this command needs it

    try:
        return metadata.version("momo")
    except metadata.PackageNotFoundError:
        return "unknown (not installed)"


def _daemon(client: Client) -> dict[str, Any]:
    if not client.alive():
        return {}
    try:
        found = client.get(Path.LOCAL_STATUS).data
    except Failure:
        return {}
    return found if isinstance(found, dict) else {}
