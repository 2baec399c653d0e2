"""Which rows of the other side this version can read."""

from typing import Any

import pytest

from daemon.core.branches.facts import fault_of
from daemon.core.payments.reviews import REASONS
from daemon.wire import ReviewReason


@pytest.mark.parametrize(
    ("kind", "row", "why"),
    [
        ("transaction", {"origin": "open", "svc_code": "AB2345"}, "origin does not fit the rest"),
        ("transaction", {"origin": "request", "merged_into": "x"}, "origin does not fit the rest"),
        ("transaction", {"webhook_url": "https://a.example/x"}, ""),
        ("transaction", {"webhook_url": "ftp://a.example/x"}, "webhook_url does not have its form"),
        ("transaction", {"settlement": '{"kind": "waived", "amount_minor": 5, "notes": null}'}, ""),
        ("transaction", {"settlement": '{"kind": "x", "amount_minor": 5, "notes": null}'}, "settlement does not have its form"),
        ("transaction", {"settlement": "x"}, "settlement does not have its form"),
        ("review", {"reason": "x"}, "reason has a value that this version does not know"),
        ("review", {"state": "approved", "decided_at": None}, "decided_at is missing"),
        ("review", {"details": '{"payment_id": {}}'}, "details does not have its form"),
        ("review", {"details": '{"doubts": 5}'}, "details does not have its form"),
        ("review", {"details": '{"payment_id": null, "more": 1}'}, ""),
        ("message", {"fields": '{"amount": 5}'}, "fields does not have its form"),
    ],
)  # fmt: skip
def test_a_row_that_a_page_or_a_decision_could_not_read_is_refused(kind: str, row: dict[str, Any], why: str) -> None:
    assert fault_of(kind, row) == why


def test_each_reason_is_known_and_explained() -> None:
    assert all(fault_of("review", {"reason": one.value}) == "" for one in ReviewReason)
    assert set(REASONS) == set(ReviewReason)
