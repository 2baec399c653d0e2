"""What a list that is to be empty (`--fail-if-any`) says to cron when it is not (docs/cron.md)."""

from momo_cli.client import Reply
from momo_cli.text import at


def faults(reply: Reply, one: str, many: str, *, wanted: bool) -> list[str] | None:
    """Return what is wrong: nothing of an empty list; None where nobody said that it is to be empty.

    Args:
        reply: A page of the list.
        one: What there is one of: "webhook was given up".
        many: The same of several.
        wanted: `--fail-if-any`.
    """
    if not wanted:
        return None
    rows, total = reply.data or (), at(reply.body, "meta.total")
    if not rows:
        return []
    number = total if isinstance(total, int) else len(rows)
    return [f"{number} {one if number == 1 else many}"]
