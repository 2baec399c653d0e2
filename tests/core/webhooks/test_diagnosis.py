"""The diagnosis of a dead letter: cause and next step in plain words."""

import pytest
from msgspec.structs import replace

from daemon.core.webhooks.delivery import DeadLetter, DeadLetterReason, DeliveryError
from daemon.core.webhooks.diagnosis import diagnose, explain
from tests.fakes.each import each
from tests.fakes.rows import AT, DAY, endpoint


def letter(reason: DeadLetterReason, code: str | None, status: int | None, **more: int) -> DeadLetter:
    row = {
        "seq": 1,
        "id": "l1",
        "delivery_id": "d1",
        "reason": reason,
        "created_at": AT,
        "replayed_at": None,
        "replay_count": 0,
        "resolved_at": None,
        "failed_at": AT,
        "failing_since": AT,
        "error_code": code,
        "error_message": None,
        "last_status_code": status,
        "last_response_body": None,
        "attempt_count": 1,
    }
    return DeadLetter(**(row | more))  # type: ignore[arg-type]  # the members of a row, by name


def refused(status: int) -> DeadLetter:
    return letter(DeadLetterReason.PERMANENT_4XX, DeliveryError.HTTP_ERROR, status)


def test_a_refusal_says_what_answered_since_when_and_what_to_do() -> None:
    found = diagnose(refused(410), endpoint(last_success_at=AT - DAY))
    assert (found.cause, found.text) == (
        "gone",
        (
            "shop.example answered 410: it asks for no more webhooks, on 2026-11-21 08:01 UTC; a 4xx is "
            "final. It last accepted a webhook on 2026-11-20 08:01 UTC. Give the endpoint its new address, or delete it, "
            "then replay this."
        ),
    )


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("listen:e97124b5-d7dd-47fd-a498-df710ca6887f", "the listener"),
        ("exec:/usr/local/bin/paid", "/usr/local/bin/paid"),
        ("spool:/paid", "/paid"),
        ("https://shop.example:8443/hook", "shop.example:8443"),
    ],
)
def test_a_receiver_on_this_machine_has_no_host_and_is_named_all_the_same(url: str, called: str) -> None:
    found = diagnose(refused(410), endpoint(url=url, url_normalised=url))
    assert found.text.startswith(f"{called} answered 410: ")


def test_an_exhausted_schedule_says_how_often_and_from_when() -> None:
    gone = letter(
        DeadLetterReason.RETRIES_EXHAUSTED, DeliveryError.TIMEOUT, None, attempt_count=13, failing_since=AT - 3 * DAY
    )
    found = diagnose(gone, endpoint())
    assert (found.cause, found.text) == (
        "timeout",
        (
            "shop.example: it gave no complete answer in time, in all of 13 attempts from 2026-11-18 08:01 UTC to "
            "2026-11-21 08:01 UTC. It has never accepted a webhook. Let the receiver answer first and process the webhook afterwards, "
            "then replay this."
        ),
    )


def test_one_bad_delivery_to_a_good_endpoint_is_told_apart_from_an_outage() -> None:
    found = diagnose(refused(422), endpoint(last_success_at=AT + 1_000_000))
    assert "It has accepted others since, the last on 2026-11-21 08:01 UTC." in found.text


def test_a_deleted_endpoint_is_replaced_not_mended() -> None:
    found = diagnose(letter(DeadLetterReason.ENDPOINT_DELETED, None, None), endpoint())
    assert (found.cause, found.text) == (
        "endpoint_deleted",
        (
            "The endpoint was deleted on 2026-11-21 08:01 UTC, before this was delivered. "
            "Replay the window to the endpoint that should have it."
        ),
    )


@each(
    ("status", "cause"),
    [
        (400, "refused_content"), (401, "refused_signature"), (403, "refused_signature"),
        (404, "no_such_address"), (405, "no_such_address"), (408, "too_busy"), (410, "gone"),
        (413, "too_large"), (415, "refused_content"), (418, "refused"), (422, "refused_content"),
        (425, "too_busy"), (429, "too_busy"), (451, "refused"), (499, "refused"),
    ],
)  # fmt: skip
def test_each_4xx_has_its_cause(status: int, cause: str) -> None:
    assert diagnose(refused(status), endpoint()).cause == cause


@each("error", DeliveryError)
def test_each_error_has_a_cause_of_its_own(error: DeliveryError) -> None:
    exhausted = DeadLetterReason.RETRIES_EXHAUSTED
    found = diagnose(letter(exhausted, error, 503 if error is DeliveryError.HTTP_ERROR else None), endpoint())
    expected = "server_error" if error is DeliveryError.HTTP_ERROR else str(error)
    assert found.cause == expected
    assert found.text.endswith(", then replay this.")


def test_of_an_endpoint_that_was_deleted_later_nobody_is_told_to_mend_anything() -> None:
    found = diagnose(refused(404), endpoint(deleted_at=AT + DAY))
    assert (found.cause, found.text) == (
        "endpoint_deleted",
        (
            "This was given up on 2026-11-21 08:01 UTC (nothing accepts webhooks at this address), and its "
            "endpoint was deleted on 2026-11-22 08:01 UTC. Replay the window to the endpoint that should have it."
        ),
    )


def test_a_4xx_after_24_hours_of_waits_is_explained_by_the_clocks() -> None:
    found = diagnose(replace(refused(400), clock_waits=144), endpoint())
    assert (found.cause, found.text) == (
        "clock",
        (
            "shop.example answered 400: your receiver's clock and ours differ, on 2026-11-21 08:01 UTC; a 4xx is final after "
            "24 hours. It has never accepted a webhook. Let both machines take the time from the network (`momo doctor clock`), "
            "then replay this."
        ),
    )
    assert diagnose(replace(refused(400), clock_waits=3), endpoint()).cause == "refused_content"


def test_a_failed_tls_connection_names_each_of_its_causes() -> None:
    means, mend = explain(None, DeliveryError.TLS_ERROR)
    assert "certificate" not in str(means)  # the port may speak plain HTTP, or our own file may be missing
    assert all(cause in str(mend) for cause in ("port", "certificate", "ca_file"))
