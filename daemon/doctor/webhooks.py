"""Whom the shop reaches, in three areas of the doctor.

`dns`: the host names of the endpoints resolve. `endpoints`: their webhooks are delivered. `hub`: a branch reaches its hub; at a
hub, the branches are heard and all that they send is stored.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlsplit

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.webhooks.endpoint import Endpoint
from daemon.doctor.checks import (
    Check,
    Status,
    System,
    checks_or_default,
    failed,
    passed,
    skipped,
    warned,
    with_database,
)
from daemon.store import shop
from daemon.store.branches import branches, feed
from daemon.store.branches.branches import Branch
from daemon.store.branches.feed import HubLink
from daemon.store.engine import Reader
from daemon.store.webhooks import delivery_log, endpoints
from daemon.wire import ShopRole

HOSTS: Final = 20
"""Maximum number of names, looked up a few at a time: an unreachable resolver is slow on each."""
FAILURES: Final = 5
"""Failures in a row: more than a restart of the receiver causes."""


def dns_checks(system: System) -> Iterator[Check]:
    """Check the names."""

    def look(reader: Reader) -> Iterator[Check]:
        hosts = {urlsplit(one.url).hostname or "" for one in endpoints.in_use(reader) if one.url.startswith("https://")}
        yield from _resolve(system, sorted(hosts - {""})[:HOSTS])

    yield from with_database(system, "dns.resolves", look)


def _resolve(system: System, hosts: list[str]) -> Iterator[Check]:
    if not hosts:
        yield passed("dns.resolves", "no endpoint has a host name to look up")
        return
    with ThreadPoolExecutor(5, thread_name_prefix="momo-dns") as pool:
        lost = [host for host, found in zip(hosts, pool.map(system.resolves, hosts), strict=True) if not found]
    if len(lost) == len(hosts) > 0:
        yield warned("dns.resolves", f"no host name can be looked up ({', '.join(lost)}): no Internet connection, or the name server does not answer",
            "check the router; meanwhile payments are read and matched, and webhooks wait")  # fmt: skip
        return
    for host in lost:
        yield failed("dns.resolves", f"{host} has no address, other names do",
            "check the address with momo endpoints list, and that the domain has not expired")  # fmt: skip
    if not lost:
        yield passed("dns.resolves", f"host names with an address: {len(hosts)}")


def endpoint_checks(system: System) -> Iterator[Check]:
    """Check the endpoints."""
    yield from with_database(system, "endpoints.answer", _endpoints)


def _endpoints(reader: Reader) -> Iterator[Check]:
    found = endpoints.in_use(reader)
    if not found:
        yield passed("endpoints.answer", "no webhook endpoint is in use")
    for one in found:
        yield _endpoint(one)
    queue = delivery_log.queue_counts(reader)
    if dead := queue.get("dead_letters", 0):
        yield warned("endpoints.dead_letters", f"webhooks that failed for good (dead letters): {dead}", "momo dead-letters list")  # fmt: skip
    else:
        yield passed("endpoints.dead_letters", "no webhook failed for good")


def _endpoint(one: Endpoint) -> Check:
    if one.auto_paused_at is not None:
        return failed("endpoints.answer", f"{one.url} was paused after {one.consecutive_failures} failures in a row; its webhooks wait",
            f"momo endpoints resume {one.id}")  # fmt: skip
    if one.consecutive_failures >= FAILURES:
        return warned("endpoints.answer", f"{one.url} failed {one.consecutive_failures} times in a row",
            f"momo endpoints test {one.id}")  # fmt: skip
    if not one.is_active:
        return passed("endpoints.answer", f"{one.url} was paused by an operator")
    return passed("endpoints.answer", f"{one.url} works")


LATE_US: Final = 15 * MINUTE_US
"""A branch tries again after 5 minutes at most."""
SILENT_US: Final = DAY_US
"""A shop may be closed for a night."""
WINDOW_US: Final = 7 * DAY_US
CLOCK_US: Final = 5 * MINUTE_US


def hub_checks(system: System) -> Iterator[Check]:
    """Check the link between hub and branches."""

    def look(reader: Reader) -> Iterator[Check]:
        if shop.get(reader) is None:
            yield skipped("hub.link", "there is no shop here yet", "momo setup")
            return
        role = feed.link_place(reader).role
        found = feed.get_link(reader)
        if role is ShopRole.HUB:
            yield from _branches(reader, system.now_us)
        elif found is not None:
            yield _answers(system, found)
            yield _sent(reader, system, found)
        else:
            yield passed("hub.link", "the shop is on its own: no hub, no branches")

    yield from with_database(system, "hub.link", look)


def _answers(system: System, found: HubLink) -> Check:
    if system.running is None:
        return skipped("hub.link", "the daemon does not run, so nothing is sent to the hub", "momo daemon start")
    if found.problem:
        return failed("hub.link", f"the hub {found.url} takes nothing: {found.problem}", "momo hub status")
    if found.heard_at is None:
        return warned("hub.link", f"the hub {found.url} has not answered yet", "check the connection, and that the hub runs")  # fmt: skip
    gone = system.now_us - found.heard_at
    if gone > LATE_US:
        return warned("hub.link", f"the hub {found.url} answered last {_span(gone)} ago; the branch works on",
            "check the connection, and that the hub runs")  # fmt: skip
    return passed("hub.link", f"the hub {found.url} answers")


def _sent(reader: Reader, system: System, found: HubLink) -> Check:
    _first, last = feed.bounds(reader)
    behind = max(0, last - found.acked_seq)
    if not behind:
        return passed("hub.sent", "the hub has everything")
    late = found.heard_at is None or system.now_us - found.heard_at > LATE_US
    return Check(
        "hub.sent", Status.WARN if late else Status.OK,
        f"changes that the hub does not have yet: {behind:,}", "momo hub status" if late else "",
    )  # fmt: skip


def _branches(reader: Reader, now: int) -> Iterator[Check]:
    joined = [one for one in branches.every(reader) if one.status not in ("invited", "left")]
    yield from checks_or_default(
        (check for one in joined for check in _branch(one, now)),
        passed("hub.link", f"branches: {len(joined)}, all heard within a day"),
    )
    refused = (
        warned("hub.refused", f"rows of {name} that could not be stored in the last seven days: {count}; the last one: {why}",
            "upgrade the hub if it is older than the branch; else send the bundle of momo doctor --bundle",
        )
        for name, count, why in branches.refused_since(reader, now - WINDOW_US)
    )  # fmt: skip
    yield from checks_or_default(refused, passed("hub.refused", "every row that branches sent was stored"))


def _branch(one: Branch, now: int) -> Iterator[Check]:
    if one.status == "disputed":
        yield failed("hub.link", f"two machines send as the branch {one.name}; nothing is taken from either",
            f"momo hub invite {one.name}, and join at the right machine")  # fmt: skip
    elif one.last_heard_at is None or now - one.last_heard_at > SILENT_US:
        gone = "nothing" if one.last_heard_at is None else f"for {_span(now - one.last_heard_at)} nothing"
        yield warned("hub.link", f"{gone} was heard of the branch {one.name}; its payments wait there",
            f"momo hub status, at {one.name}")  # fmt: skip
    if abs(one.clock_off_us or 0) > CLOCK_US:
        yield warned("hub.clock", f"the clock of the branch {one.name} is off by {_span(abs(one.clock_off_us or 0))}",
            f"sudo timedatectl set-ntp true, at {one.name}")  # fmt: skip


def _span(us: int) -> str:
    if us < 2 * HOUR_US:
        return f"{us // MINUTE_US} min"
    return f"{us // HOUR_US} h" if us < 3 * DAY_US else f"{us // DAY_US} days"
