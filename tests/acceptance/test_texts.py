"""SMS to payers with the real programs: sent at most once despite kills, and received SMS do not wait for them."""

import random
from collections import Counter

import pytest

from daemon.modem.codec import pdu
from daemon.modem.codec.pdu_fields import Direction, Submit
from tests.acceptance.conftest import Scene
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.seed import seed

COMMAND_S = (0.001, 0.004, 0.02)
RESTING = {"sent", "unknown", "failed", "expired"}


def settle(shop: RealShop, **sms: object) -> None:
    """Write settings under which many transactions send their codes at once, in long SMS."""
    shop.write_settings(
        {
            "transactions": {"code_sms_at": "request"},
            "limits": {"sms_per_number_hour": 0},
            "sms": {"code_text": "{amount} to {number} ({account}): {steps}, {code}. " + "Thank you! " * 25} | sms,
        }
    )


def sent_parts(phone: PhoneProcess) -> list[tuple[str, int, str]]:
    """Return number, position and text of every part that left the phone."""
    found = []
    for sent in phone.state()["sent"]:
        value = pdu.decode(sent["pdu"], direction=Direction.TO_NETWORK)
        assert isinstance(value, Submit), value
        found.append((value.recipient, value.concat.position if value.concat else 1, value.text))
    return found


def test_the_payer_gets_the_code_and_a_receipt_and_the_journal_tells(scene: Scene) -> None:
    scene.open_for_business()
    made = scene.shop.request("25.00", "0244123456")
    assert made["payer_sms_sent"] is True
    [receipt] = mtn_receipts(1, 7, started=utc_now(), references=[made["svc_code"]])
    wait_until(lambda: sent_parts(scene.phone) or None, 20, "the SMS with the code")
    scene.phone.deliver(receipt.pdus)
    both = wait_until(lambda: found if len(found := sent_parts(scene.phone)) == 2 else None, 20, "the receipt")
    assert [number for number, _part, _text in both] == ["+233244123456"] * 2
    assert made["svc_code"] in both[0][2]
    assert made["svc_code"] in both[1][2]
    events = wait_until(
        lambda: found if "receipt was sent" in (found := _events(scene, made)) else None, 20, "the journal"
    )
    assert "The SMS with the payment code is queued." in events
    assert "The SMS with the payment code was sent." in events


def _events(scene: Scene, made: dict[str, str]) -> str:
    events = scene.shop.ask("GET", f"/v1/transactions/{made['reference']}/events")
    return "\n".join(str(fact["text"]) for fact in events)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_forty_kills_send_nothing_twice(scene: Scene) -> None:
    _run(scene, kills=40, requests=28)


def _run(scene: Scene, *, kills: int, requests: int) -> None:
    rng = random.Random(seed())
    settle(scene.shop)
    scene.shop.start()
    scene.shop.assign("0244124567")
    made, promised = 0, 0
    for number in range(kills):
        scene.phone.ask("latency", latency_s=rng.choice(COMMAND_S))
        while made < requests * (number + 1) // kills:
            answer = scene.shop.request("25.00", f"02441{made:05}")
            promised += answer["payer_sms_sent"]
            made += 1
        pause(rng.uniform(0.0, 0.25))
        assert scene.shop.running(), f"it ended by itself: {scene.shop.said_now()}"
        scene.shop.kill()
        scene.phone.ask("latency", latency_s=0)
        scene.shop.start()
        wait_until(lambda: _line_is_ready(scene.shop) or None, 30, "the line to be ready again")
    scene.phone.ask("latency", latency_s=0)
    rows = wait_until(lambda: _rested(scene.shop), 60, "every SMS to come to its end")
    scene.shop.stop()
    parts = Counter(sent_parts(scene.phone))
    assert len(rows) == promised
    assert promised == requests, "the test would show less"
    assert max(parts.values()) == 1, "a part was sent twice"
    counts = Counter(number for number, _part, _text in parts)
    for recipient, status, parts_sent in rows:
        if status == "sent":
            assert counts[recipient] == parts_sent == 3
        else:
            assert status == "unknown"
            # The phone goes on with the next part while one is being recorded.
            assert counts[recipient] >= parts_sent, "a part counts that never left the phone"
    assert len([row for row in rows if row[1] == "unknown"]) <= kills


def _line_is_ready(shop: RealShop) -> bool:
    return shop.rows("SELECT present FROM devices WHERE mode = 'live'") == [(1,)]


def _rested(shop: RealShop) -> list[tuple[str, str, int]] | None:
    rows = _rows(shop)
    return rows if all(status in RESTING for _number, status, _parts in rows) else None


def _rows(shop: RealShop) -> list[tuple[str, str, int]]:
    return [
        (str(number), str(status), int(parts))
        for number, status, parts in shop.rows("SELECT number, status, parts_sent FROM sms_outbox ORDER BY seq")
    ]
