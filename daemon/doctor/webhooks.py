"""The areas `dns` (the host names of the endpoints resolve) and `endpoints` (their webhooks are delivered)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlsplit

from daemon.core.webhooks.endpoint import Endpoint
from daemon.doctor.checks import Check, Status, System, with_database
from daemon.store.engine import Reader
from daemon.store.webhooks import delivery_log, endpoints

HOSTS: Final = 20
"""Maximum number of names, looked up a few at a time: an unreachable resolver is slow on each."""
FAILURES: Final = 5
"""Failures in a row: more than a restart of the receiver causes."""


def dns_checks(system: System) -> Iterator[Check]:
    """Check the names."""

    def look(reader: Reader) -> Iterator[Check]:
        hosts = {
            urlsplit(one.url).hostname or ""
            for one in endpoints.in_use(reader)
            if one.url.startswith("https://")
        }
        yield from _resolve(system, sorted(hosts - {""})[:HOSTS])

    yield from with_database(system, "dns.resolves", look)


def _resolve(system: System, hosts: list[str]) -> Iterator[Check]:
    if not hosts:
        yield Check("dns.resolves", Status.OK, "no endpoint has a host name to look up")
        return
    with ThreadPoolExecutor(5, thread_name_prefix="momo-dns") as pool:
        lost = [
            host
            for host, found in zip(hosts, pool.map(system.resolves, hosts), strict=True)
            if not found
        ]
    if len(lost) == len(hosts) > 0:
        yield Check(
            "dns.resolves", Status.WARN,
            f"no host name can be looked up ({', '.join(lost)}): no Internet connection, or the name server does not answer",
            "check the router; meanwhile payments are read and matched, and webhooks wait",
        )  # fmt: skip
        return
    for host in lost:
        yield Check(
            "dns.resolves", Status.FAIL, f"{host} has no address, other names do",
            "check the address with momo endpoints list, and that the domain has not expired",
        )  # fmt: skip
    if not lost:
        yield Check("dns.resolves", Status.OK, f"host names with an address: {len(hosts)}")


def endpoint_checks(system: System) -> Iterator[Check]:
    """Check the endpoints."""
    yield from with_database(system, "endpoints.answer", _endpoints)


def _endpoints(reader: Reader) -> Iterator[Check]:
    found = endpoints.in_use(reader)
    if not found:
        yield Check("endpoints.answer", Status.OK, "no webhook endpoint is in use")
    for one in found:
        yield _endpoint(one)
    queue = delivery_log.queue_counts(reader)
    if dead := queue.get("dead_letters", 0):
        yield Check(
            "endpoints.dead_letters", Status.WARN,
            f"webhooks that failed for good (dead letters): {dead}", "momo dead-letters list",
        )  # fmt: skip
    else:
        yield Check("endpoints.dead_letters", Status.OK, "no webhook failed for good")


def _endpoint(one: Endpoint) -> Check:
    if one.auto_paused_at is not None:
        return Check(
            "endpoints.answer", Status.FAIL,
            f"{one.url} was paused after {one.consecutive_failures} failures in a row; its webhooks wait",
            f"momo endpoints resume {one.id}",
        )  # fmt: skip
    if one.consecutive_failures >= FAILURES:
        return Check(
            "endpoints.answer", Status.WARN,
            f"{one.url} failed {one.consecutive_failures} times in a row", f"momo endpoints test {one.id}",
        )  # fmt: skip
    if not one.is_active:
        return Check("endpoints.answer", Status.OK, f"{one.url} was paused by an operator")
    return Check("endpoints.answer", Status.OK, f"{one.url} works")
