"""The area `dns`: do the names of the webhook receivers lead to an address from here."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlsplit

from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import asked
from daemon.store import endpoints
from daemon.store.engine import Reader

HOSTS: Final = 20
"""Asked at most, a few at a time: a resolver that does not answer takes its time over each."""


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the names."""

    def look(reader: Reader) -> Iterator[Check]:
        hosts = {
            urlsplit(one.url).hostname or ""
            for one in endpoints.in_use(reader)
            if one.url.startswith("https://")
        }
        yield from _ask(patient, sorted(hosts - {""})[:HOSTS])

    yield from asked(patient, "dns.resolves", look)


def _ask(patient: Patient, hosts: list[str]) -> Iterator[Check]:
    if not hosts:
        yield Check("dns.resolves", Status.OK, "no endpoint has a name to look up")
        return
    with ThreadPoolExecutor(5, thread_name_prefix="momo-dns") as pool:
        lost = [
            host
            for host, found in zip(hosts, pool.map(patient.resolves, hosts), strict=True)
            if not found
        ]
    if len(lost) == len(hosts) > 0:
        yield Check(
            "dns.resolves", Status.WARN,
            f"no name can be looked up ({', '.join(lost)}): the Internet is away, or its name server",
            "look at the router; payments are read and matched meanwhile, webhooks wait",
        )  # fmt: skip
        return
    for host in lost:
        yield Check(
            "dns.resolves", Status.FAIL, f"{host} leads nowhere, other names do",
            "momo endpoints list; is the address right, has the domain run out?",
        )  # fmt: skip
    if not lost:
        yield Check("dns.resolves", Status.OK, f"names that lead to an address: {len(hosts)}")
