"""Certificates are checked at the best known time while the wall clock is wrong."""

import datetime as dt
import time
from pathlib import Path

import pytest

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.sender import https
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.https import Sender
from tests.fakes.receiver import Answer, Receiver

NOW_S = time.time_ns() // 1_000_000_000
DAY_S = 86_400
DATE = (("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),)


async def post(receiver: Receiver, stamp: int) -> AttemptOutcome:
    sender = Sender(AddressPolicy.from_settings(hosts=("localhost",), cidrs=()), receiver.ca_file)
    try:
        return await sender.post(receiver.url(), {"webhook-timestamp": str(stamp)}, b"{}")
    finally:
        await sender.aclose()


async def test_an_expired_certificate_was_valid_at_the_time_of_the_signature(tmp_path: Path) -> None:
    """The wall clock of this test is the wrong one."""
    expired = dt.datetime.fromtimestamp(NOW_S - DAY_S, dt.UTC)
    with Receiver(tmp_path, not_after=expired, default=Answer(headers=DATE)) as receiver:
        outcome = await post(receiver, NOW_S - 2 * DAY_S)
        assert (outcome.status_code, outcome.date_us) == (200, 784_111_777_000_000)
        for stamp in (NOW_S, NOW_S - DAY_S // 2):
            assert (await post(receiver, stamp)).error_code is DeliveryError.TLS_ERROR


async def test_the_time_counts_also_if_a_second_thread_loaded_the_cas_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache of loaded CAs then holds another context than the connections of the sender have."""
    expired = dt.datetime.fromtimestamp(NOW_S - DAY_S, dt.UTC)
    with Receiver(tmp_path, not_after=expired) as receiver:
        monkeypatch.setattr(https, "load_context", https.load_context.__wrapped__)  # nobody shares
        outcome = await post(receiver, NOW_S - 2 * DAY_S)
    assert outcome.status_code == 200, outcome.error_message


@pytest.mark.parametrize("stamp", [60, NOW_S + 40_000 * DAY_S], ids=["1970", "in a century"])
async def test_a_certificate_that_is_not_valid_at_that_time_is_refused(tmp_path: Path, stamp: int) -> None:
    not_after = dt.datetime.fromtimestamp(NOW_S + 300 * DAY_S, dt.UTC)
    with Receiver(tmp_path, not_after=not_after) as receiver:
        outcome = await post(receiver, stamp)
    assert outcome.error_code is DeliveryError.TLS_ERROR
    assert "by the best known time" in (outcome.error_message or "")


async def test_name_and_issuer_are_checked_as_always(tmp_path: Path) -> None:
    with Receiver(tmp_path / "a", names=("other.example",)) as receiver:
        assert (await post(receiver, NOW_S - 2 * DAY_S)).error_code is DeliveryError.TLS_ERROR
    with Receiver(tmp_path / "b") as receiver, Receiver(tmp_path / "c") as stranger:
        stranger.directory = receiver.directory
        assert (await post(stranger, NOW_S - 2 * DAY_S)).error_code is DeliveryError.TLS_ERROR


@pytest.mark.parametrize("said", ["", "yesterday", "Sun, 99 Nov 1994 08:49:37 GMT"])
async def test_an_answer_without_a_proper_date_has_none(tmp_path: Path, said: str) -> None:
    with Receiver(tmp_path, default=Answer(headers=(("Date", said),))) as receiver:
        outcome = await post(receiver, NOW_S)
    assert (outcome.status_code, outcome.date_us) == (200, None)
