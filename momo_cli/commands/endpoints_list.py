"""List the addresses that payments are sent to, how each is doing, and how much waits for it."""

from dataclasses import dataclass
from typing import Final

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Head, View
from momo_cli.client import Client
from momo_cli.endpoints import FIELDS, state_cell
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago

EXAMPLES: Final = """\
  momo endpoints list
  momo endpoints list --fields id,url,is_active -o csv
"""


VIEW: Final = View(
    fields=FIELDS,
    heads=(
        Head("STATE", lambda row, _: state_cell(row)),
        Head("URL", lambda row, _: clean(row.get("url"))),
        Head("QUEUED", lambda row, _: str(row.get("queued", "")), right=True),
        Head("LAST OK", lambda row, t: ago(row.get("last_success_at"), t) or "—"),
        Head(
            "FAILS",
            lambda row, _: str(row.get("consecutive_failures") or 0),
            right=True,
        ),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """`momo endpoints list` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for the endpoints."""
    reply = client.get(Path.ENDPOINTS)
    rows = reply.data or []
    if terminal.human and rows:
        queued = _queued(client)
        rows = [{**row, "queued": queued.get(row.get("id"), "")} for row in rows]
    stopped = [clean(row.get("id")) for row in rows if row.get("auto_paused_at")]
    lost = at(reply.body, "meta.unclaimed_payments")
    notes = []
    if isinstance(lost, int) and lost:
        notes.append(
            f"{lost} payments of the last 30 days went to nobody: no rule and no catch-all claimed them"
        )
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No endpoints yet: payments are kept, and sent to nobody.",
        notes=notes,
        next=[
            *([] if rows else ["momo endpoints add https://shop.example/hook"]),
            *(f"momo endpoints {verb} {one}" for one in stopped[:1] for verb in ("test", "resume")),
        ],
    )


def _queued(client: Client) -> dict[object, object]:
    """Return how many deliveries wait for each; the list of the API does not say."""
    try:
        status = client.get(Path.LOCAL_STATUS).data
    except Failure:
        return {}  # the endpoints are what was asked for
    return {one.get("id"): one.get("queued") for one in at(status, "endpoints") or ()}
