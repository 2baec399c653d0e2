"""Store before delete: the system calls show that `fdatasync` comes before every deletion and every 2xx answer.

An SMS is durable twice: in the database and in the message journal.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.acceptance.conftest import SHOP_NUMBER, Scene
from tests.acceptance.strace_log import (
    ARGUMENTS,
    Call,
    announced_too_early,
    calls,
    deletions,
    has_ended,
    journaled_too_late,
    octets,
)
from tests.fakes.real_shop import SOON_S, RealShop, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@pytest.mark.timeout(120)
def test_no_sms_is_deleted_and_no_2xx_is_answered_before_its_commit_is_on_the_disk(
    scene: Scene, tmp_path: Path
) -> None:
    _run(scene, tmp_path, receipts=6)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_order_holds_for_hundreds_of_receipts(scene: Scene, tmp_path: Path) -> None:
    _run(scene, tmp_path, receipts=200)


def _run(scene: Scene, tmp_path: Path, *, receipts: int) -> None:
    shop, phone = scene.shop, scene.phone
    log = tmp_path / "strace.log"
    shop.begin_chain(50_000)
    shop.start(prefix=[*ARGUMENTS, f"--output={log}"])
    tty = os.path.realpath(phone.link)
    promised = _orders(shop, scene.receiver.url())
    # The first half waits on the phone and is stored in batches; the rest arrives one by one.
    plan = list(mtn_receipts(receipts, started=utc_now()))
    half = len(plan) // 2
    phone.deliver([pdu for receipt in plan[:half] for pdu in receipt.pdus])
    for receipt in plan[half:]:
        phone.deliver(receipt.pdus)
    deleted = wait_until(lambda: _all_deleted(scene, 2 * len(plan)), 60 + receipts, "every slot is empty")
    promised += _reconcile(shop, plan[0].telco_id, promised[-1])
    shop.stop()
    wait_until(lambda: has_ended(log), SOON_S, "strace has written everything")

    with log.open(encoding="ascii", errors="replace") as lines:
        trace = calls(lines)
    wal = f"{shop.places.database}-wal"
    announced = deletions(trace, tty, deleted)
    answers = [_answer(trace, text) for text in promised]
    assert announced_too_early(trace, wal, [*octets(announced), *answers]) == []
    assert journaled_too_late(trace, f"{shop.places.home}/messages", announced) == []


def _orders(shop: RealShop, url: str) -> list[bytes]:
    """Make one of each thing that is answered with a promise; return the data that the database must hold of each."""
    promised = [shop.assign(SHOP_NUMBER)["id"].encode()]
    status, answer = shop.api("POST", wire.Path.ENDPOINTS, {"url": url})
    assert status == 201, answer
    promised.append(answer["data"]["id"].encode())
    for number in range(5):
        reference = shop.request(f"{number + 1}.00")["reference"]
        promised.append(_uuid(reference).encode())
    return promised


def _reconcile(shop: RealShop, telco_id: str, transaction: bytes) -> list[bytes]:
    reference = "svc_trx_" + transaction.decode().replace("-", "")
    done = shop.ask("POST", f"/v1/transactions/{reference}/reconcile", {"transaction_id": telco_id})
    return [done["reconciliation_id"].encode()]


def _uuid(reference: str) -> str:
    digits = reference.removeprefix("svc_trx_")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _all_deleted(scene: Scene, count: int) -> list[dict[str, Any]] | None:
    if not scene.phone.is_empty():
        return None
    deleted: list[dict[str, Any]] = scene.phone.state(0, 0)["deleted"]
    return deleted if len(deleted) >= count else None


def _answer(trace: Sequence[Call], text: bytes) -> tuple[Call, bytes]:
    """Find the status line of the answer that contains `text`, or its hex without dashes."""
    said = (text, text.replace(b"-", b""))
    sockets = [call for call in trace if call.path.startswith(("socket:", "UNIX", "TCP"))]
    body = next(call for call in sockets if any(word in call.data for word in said))
    heads = [
        call for call in sockets if call.path == body.path and call.begun <= body.begun and b"HTTP/1.1 2" in call.data
    ]
    assert heads, f"no 2xx on the way of {text!r}"
    return heads[-1], text
