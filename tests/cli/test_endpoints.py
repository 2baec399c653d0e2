"""Changing and deleting endpoints: what is asked, what is sent, what is said."""

from typing import Any

import pytest

from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok

ID = samples.ENDPOINT["id"]
ONE = f"/v1/open-collections/endpoints/{ID}"
GONE = Says({"success": True, "deleted": True, "undelivered": 3, "hint": "They are kept."})


def sent(api: FakeApi) -> list[tuple[str, Any]]:
    return [(asked.method, asked.body) for asked in api.asked if asked.method != "GET"]


@pytest.mark.parametrize(
    ("flags", "body"),
    [
        (("--url", "https://shop.example/b"), {"url": "https://shop.example/b"}),
        (("--description", ""), {"description": ""}),
        (("--no-catch-all", "--include-raw"), {"catch_all": False, "include_raw": True}),
        (("--event", "transaction.forwarded"), {"events": ["transaction.forwarded"]}),
    ],
)
def test_only_what_was_given_is_sent(
    api: FakeApi, momo: Momo, flags: tuple[str, ...], body: dict[str, Any]
) -> None:
    api.on("PUT", ONE, ok(samples.ENDPOINT))
    assert momo("endpoints", "update", ID, *flags).code == 0
    assert sent(api) == [("PUT", body)]


def test_an_update_of_nothing_is_a_usage_error(momo: Momo) -> None:
    assert momo("endpoints", "update", ID).code == 2


def test_a_resume_says_how_much_will_go(api: FakeApi, momo: Momo) -> None:
    api.on("PUT", ONE, ok(samples.ENDPOINT, meta={"queued": 4}))
    ran = momo("endpoints", "resume", ID, "-o", "table")
    assert ran.out.startswith("Resumed: 4 waiting deliveries will now go.\n✓ active")
    assert sent(api) == [("PUT", {"is_active": True})]


def test_a_pause_names_the_way_back(api: FakeApi, momo: Momo) -> None:
    api.on("PUT", ONE, ok({**samples.ENDPOINT, "is_active": False}))
    assert momo("endpoints", "pause", ID, "-o", "table").out.startswith("! paused")
    assert sent(api) == [("PUT", {"is_active": False})]


def test_the_host_confirms_a_deletion(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    api.on("DELETE", ONE, GONE)
    ran = momo("endpoints", "delete", ID, "--confirm", "shop.example", "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ Deleted; 3 deliveries never arrived.\n")
    assert "They are kept." in ran.err


def test_another_host_deletes_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    ran = momo("endpoints", "delete", ID, "--confirm", "other.example")
    assert ran.code == 10
    assert sent(api) == []


def test_a_script_that_does_not_confirm_deletes_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    assert momo("endpoints", "delete", ID).code == 2
    assert sent(api) == []
