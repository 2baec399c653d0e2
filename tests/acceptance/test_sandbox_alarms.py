"""Failed deliveries of tests in the sandbox raise no alarm: the hourly recipes of docs/operators/cron.md stay quiet, and one command closes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.real_shop import RealShop, wait_until

pytestmark = pytest.mark.slow
HOURLY = (
    ("status", "--fail-if-unhealthy", "--quiet"),
    ("dead-letters", "list", "--fail-if-any", "--quiet"),
    ("review", "list", "--fail-if-any", "--quiet"),
)
ENOUGH_S = 60


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    with RealShop(tmp_path / "shop", phone=tmp_path / "no-phone") as made:
        made.start()
        yield made
        made.stop()


def data_of(shop: RealShop, *words: str) -> Any:
    done = shop.momo(*words, "--json")
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return json.loads(done.stdout)["data"]


def test_a_dead_letter_and_a_review_of_the_sandbox_alarm_nobody(shop: RealShop) -> None:
    before = [shop.momo(*words).returncode for words in HOURLY]
    # A test with an endpoint that is deleted afterwards, as `momo listen` does.
    endpoint = data_of(shop, "endpoints", "add", "https://localhost:9/hook", "--sandbox")["id"]
    code = data_of(shop, "init", "12.50", "--phone", "0244765432", "--sandbox")["svc_code"]
    data_of(shop, "simulate", "payment", "--order", code)
    assert shop.momo("endpoints", "delete", endpoint, "--yes").returncode == 0
    # A forged test message is held for a review.
    data_of(shop, "simulate", "payment", "--amount", "7", "--fake")
    letters = wait_until(
        lambda: data_of(shop, "dead-letters", "list", "--sandbox"), ENOUGH_S, "the webhooks are given up"
    )  # fmt: skip
    assert {letter["cause"] for letter in letters} == {"endpoint_deleted"}

    assert [shop.momo(*words).returncode for words in HOURLY] == before
    assert before[1:] == [0, 0]
    assert data_of(shop, "dead-letters", "list") == []
    found = json.loads(shop.momo("doctor", "endpoints", "--json").stdout)["data"]["checks"]
    assert {one["status"] for one in found} <= {"ok", "skipped", "info"}, found

    done = shop.momo("dead-letters", "dismiss", "--sandbox", "--notes", "a test with momo listen")
    assert done.returncode == 0, done.stderr
    assert data_of(shop, "dead-letters", "list", "--sandbox") == []
