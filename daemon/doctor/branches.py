"""The area `hub`: a branch reaches its hub; at a hub, the branches are heard and all that they send is stored."""

from collections.abc import Iterator
from typing import Final

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.doctor.checks import Check, Status, System, checks_or_default, with_database
from daemon.store import shop
from daemon.store.branches import branches, feed, link
from daemon.store.branches.branches import Branch
from daemon.store.branches.link import HubLink
from daemon.store.engine import Reader
from daemon.wire import ShopRole

LATE_US: Final = 15 * MINUTE_US
"""A branch tries again after 5 minutes at most."""
SILENT_US: Final = DAY_US
"""A shop may be closed for a night."""
WINDOW_US: Final = 7 * DAY_US
CLOCK_US: Final = 5 * MINUTE_US


def checks(system: System) -> Iterator[Check]:
    """Check the link between hub and branches."""

    def look(reader: Reader) -> Iterator[Check]:
        if shop.get(reader) is None:
            yield Check("hub.link", Status.SKIP, "there is no shop here yet", "momo setup")
            return
        role = link.place(reader).role
        found = link.get(reader)
        if role is ShopRole.HUB:
            yield from _branches(reader, system.now_us)
        elif found is not None:
            yield _answers(system, found)
            yield _sent(reader, system, found)
        else:
            yield Check("hub.link", Status.OK, "the shop is on its own: no hub, no branches")

    yield from with_database(system, "hub.link", look)


def _answers(system: System, found: HubLink) -> Check:
    if system.running is None:
        return Check(
            "hub.link", Status.SKIP, "the daemon does not run, so nothing is sent to the hub",
            "momo daemon start",
        )  # fmt: skip
    if found.problem:
        return Check(
            "hub.link", Status.FAIL, f"the hub {found.url} takes nothing: {found.problem}",
            "momo hub status",
        )  # fmt: skip
    if found.heard_at is None:
        return Check(
            "hub.link", Status.WARN, f"the hub {found.url} has not answered yet",
            "check the connection, and that the hub runs",
        )  # fmt: skip
    gone = system.now_us - found.heard_at
    if gone > LATE_US:
        return Check(
            "hub.link", Status.WARN, f"the hub {found.url} answered last {_span(gone)} ago; the branch works on",
            "check the connection, and that the hub runs",
        )  # fmt: skip
    return Check("hub.link", Status.OK, f"the hub {found.url} answers")


def _sent(reader: Reader, system: System, found: HubLink) -> Check:
    _first, last = feed.bounds(reader)
    behind = max(0, last - found.acked_seq)
    if not behind:
        return Check("hub.sent", Status.OK, "the hub has everything")
    late = found.heard_at is None or system.now_us - found.heard_at > LATE_US
    return Check(
        "hub.sent", Status.WARN if late else Status.OK,
        f"changes that the hub does not have yet: {behind:,}", "momo hub status" if late else "",
    )  # fmt: skip


def _branches(reader: Reader, now: int) -> Iterator[Check]:
    joined = [one for one in branches.every(reader) if one.status not in ("invited", "left")]
    yield from checks_or_default(
        (check for one in joined for check in _branch(one, now)),
        Check("hub.link", Status.OK, f"branches: {len(joined)}, all heard within a day"),
    )
    refused = (
        Check(
            "hub.refused", Status.WARN,
            f"rows of {name} that could not be stored in the last seven days: {count}; the last one: {why}",
            "upgrade the hub if it is older than the branch; else send the bundle of momo doctor --bundle",
        )
        for name, count, why in branches.refused_since(reader, now - WINDOW_US)
    )  # fmt: skip
    yield from checks_or_default(
        refused, Check("hub.refused", Status.OK, "every row that branches sent was stored")
    )


def _branch(one: Branch, now: int) -> Iterator[Check]:
    if one.status == "disputed":
        yield Check(
            "hub.link", Status.FAIL, f"two machines send as the branch {one.name}; nothing is taken from either",
            f"momo hub invite {one.name}, and join at the right machine",
        )  # fmt: skip
    elif one.last_heard_at is None or now - one.last_heard_at > SILENT_US:
        gone = (
            "nothing"
            if one.last_heard_at is None
            else f"for {_span(now - one.last_heard_at)} nothing"
        )
        yield Check(
            "hub.link", Status.WARN, f"{gone} was heard of the branch {one.name}; its payments wait there",
            f"momo hub status, at {one.name}",
        )  # fmt: skip
    if abs(one.clock_off_us or 0) > CLOCK_US:
        yield Check(
            "hub.clock", Status.WARN,
            f"the clock of the branch {one.name} is off by {_span(abs(one.clock_off_us or 0))}",
            f"sudo timedatectl set-ntp true, at {one.name}",
        )  # fmt: skip


def _span(us: int) -> str:
    if us < 2 * HOUR_US:
        return f"{us // MINUTE_US} min"
    return f"{us // HOUR_US} h" if us < 3 * DAY_US else f"{us // DAY_US} days"
