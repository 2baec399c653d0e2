"""The line above a table: what is shown, of how many, and what shows the next."""

from momo_cli.client import Reply
from momo_cli.text import at


def showing(reply: Reply, things: str, *, offset: int = 0, kind: str | None = None) -> str:
    """Return `Showing 50 of 214 deliveries (failed), next: --offset 50` for one page of a list.

    Args:
        reply: The page, with `meta.total`.
        things: What they are, in the plural.
        offset: How many were left out before them.
        kind: What the list was narrowed to.
    """
    shown, total = len(reply.data or ()), at(reply.body, "meta.total")
    of = f" of {total}" if isinstance(total, int) else ""
    more = offset + shown
    hint = f", next: --offset {more}" if isinstance(total, int) and more < total else ""
    return f"Showing {shown}{of} {things}{f' ({kind})' if kind else ''}{hint}"
