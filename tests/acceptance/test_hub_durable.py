"""Stored before told, between branch and hub: system calls show the order of `fsync`, deletion, request and answer."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.acceptance.strace_log import (
    ARGUMENTS,
    ATTACHED,
    Call,
    announced_too_early,
    calls,
    committed_at,
    deletions,
    has_ended,
    journaled_too_late,
    octets,
)
from tests.fakes import postgresql
from tests.fakes.head_office import BranchShop, HeadOffice
from tests.fakes.real_shop import SOON_S, wait_until
from tests.fakes.tiers import share

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]
HEAD_END = b"\r\n\r\n"
GZIP = b"\x1f\x8b\x08"


def _pay_orders_of_the_hub(office: HeadOffice, branch: BranchShop, count: int) -> list[bytes]:
    """Let customers pay for orders of the hub; return the ids of the payments."""
    for _ in range(count):
        minor = branch.next_amount_minor()
        order = office.hub.request(f"{minor // 100}.{minor % 100:02d}")
        branch.pay(order["svc_code"])
    office.wait_until_quiet()
    ids = [row[0].encode() for row in branch.shop.rows("SELECT id FROM payments")]
    assert len(ids) == count
    return ids


def test_a_branch_stores_a_payment_before_it_empties_the_sim_and_before_it_tells_the_hub(tmp_path: Path) -> None:
    log = tmp_path / "strace.log"
    prefix = [*ARGUMENTS, f"--output={log}"]
    with HeadOffice(tmp_path, names=("kumasi",), branch_prefix=prefix) as office:
        office.open()
        (branch,) = office.branches
        ids = _pay_orders_of_the_hub(office, branch, share(100))
        deleted = branch.phone.state(0, 0)["deleted"]
        branch.shop.stop()
        wait_until(lambda: has_ended(log), SOON_S, "strace has written everything")
        with log.open(encoding="ascii", errors="replace") as lines:
            trace = calls(lines)
        wal = f"{branch.shop.places.database}-wal"
        emptied = deletions(trace, os.path.realpath(branch.phone.link), deleted)
        assert len(emptied) >= 2 * len(ids)
        assert journaled_too_late(trace, f"{branch.shop.places.home}/messages", emptied) == []
        told = _told(trace)
        assert {text for _, text in told} == set(ids)
        assert announced_too_early(trace, wal, [*octets(emptied), *told]) == []


def _told(trace: Sequence[Call]) -> list[tuple[Call, bytes]]:
    """Return the requests to the hub, each with the id of a payment in it."""
    found = []
    for call in trace:
        _head, end, packed = call.data.partition(HEAD_END + GZIP)
        if call.path.startswith("socket:") and end:
            body = json.loads(zlib.decompressobj(wbits=31).decompress(GZIP + packed))
            found += [(call, fact["id"].encode()) for fact in body.get("facts", ()) if fact["kind"] == "payment"]
    return found


def test_the_hub_answers_a_branch_after_the_servers_fsync(tmp_path: Path) -> None:
    if not postgresql.is_installed():
        pytest.skip("PostgreSQL's server is not installed")
    server = postgresql.Cluster("-c max_connections=40")
    log = tmp_path / "strace.log"
    try:
        with HeadOffice(tmp_path, url=server.new_database(), names=("kumasi",)) as office:
            office.open()
            ((writer,),) = office.hub.rows("SELECT pid FROM pg_locks WHERE locktype = 'advisory'")
            ((helper,),) = office.hub.rows("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
            with _traced([writer, helper, office.hub.pid], log):
                ids = _pay_orders_of_the_hub(office, office.branches[0], share(50))
            office.hub.stop()
    finally:
        server.remove()
    with log.open(encoding="ascii", errors="replace") as lines:
        trace = calls(lines)
    for payment_id in ids:
        sent = next(call for call in trace if payment_id in call.data)
        answer = next(call for call in trace if b'"data":{"acked"' in call.data and call.begun > sent.begun)
        head = next(
            call
            for call in reversed(trace)
            if call.path == answer.path and call.begun <= answer.begun and b"HTTP/1.1 200" in call.data
        )
        assert committed_at(trace, writer, payment_id) < head.begun


@contextlib.contextmanager
def _traced(pids: Sequence[int], log: Path) -> Iterator[None]:
    """Trace running programs."""
    tracer = subprocess.Popen(
        [*ATTACHED, f"--output={log}", *(f"--attach={pid}" for pid in pids)],
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: all(map(_is_traced, pids)), SOON_S, "strace is attached")
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(SOON_S)


def _is_traced(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return "TracerPid:\t0\n" not in status
