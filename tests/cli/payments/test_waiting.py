"""Orders: init with --wait, tx wait, tx watch, reconcile, over event streams."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.flags import Flags
from momo_cli.show.answer import Cell
from momo_cli.socket.client import Client, Event
from momo_cli.socket.connect import locate
from momo_cli.views.transactions import transaction_state
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

TX = f"/v1/transactions/{samples.REF}"
BY_CODE = f"/v1/transactions/by-svc/{samples.CODE}"


def stream(*events: tuple[int, str, Mapping[str, object]]) -> Says:
    """Make an event stream that ends after these events."""
    text = ": keep-alive\n\n"
    for number, kind, data in events:
        text += f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n"
    return Says(stream=text)


VERIFIED = (7, "transaction.verified", {**samples.PAID, "at": "2026-11-20T09:14:00.000Z"})


@pytest.mark.parametrize(
    ("status", "goal", "code"),
    [
        ("SUCCESS", "paid", 0),
        ("OVERPAID", "paid", 0),
        ("PARTIAL", "paid", 6),
        ("EXPIRED", "paid", 6),
        ("CANCELLED", "paid", 6),
        ("CANCELLED", "final", 0),
        ("EXPIRED", "expired", 0),
        ("SUCCESS", "expired", 6),
    ],
)
def test_wait_on_an_order_that_has_ended_answers_at_once(
    status: str, goal: str, code: int, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", TX, samples.one(status))
    ran = momo("tx", "wait", samples.REF, "--for", goal, "--json")
    assert (ran.code, ran.json["data"]["status"]) == (code, status)
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("status", "goal", "code"),
    [
        ("SUCCESS", "paid", 0),
        ("OVERPAID", "paid", 6),
        ("PARTIAL", "paid", 6),
        ("PARTIAL", "final", 6),
        ("CANCELLED", "final", 0),
    ],
)
def test_wait_for_the_exact_amount_is_6_if_more_or_less_was_paid(
    status: str, goal: str, code: int, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", TX, samples.one(status))
    assert momo("tx", "wait", samples.REF, "--for", goal, "--exact").code == code


def test_wait_reads_the_state_again_at_each_event(api: FakeApi, momo: Momo) -> None:
    pending = samples.one("PENDING")
    api.on("GET", TX, pending, pending, pending, samples.one("SUCCESS"))
    api.on("GET", wire.Path.EVENTS, stream(VERIFIED))
    ran = momo("tx", "wait", samples.REF, "--json")
    assert (ran.code, ran.json["data"]["status"]) == (0, "SUCCESS")
    events = [asked for asked in api.asked if asked.path == wire.Path.EVENTS]
    assert [asked.query for asked in events] == [{"reference": samples.REF}]


def test_wait_misses_nothing_between_reading_and_following(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"), samples.one("SUCCESS"))
    api.on("GET", wire.Path.EVENTS, Says(stream=""))
    assert momo("tx", "wait", samples.REF).code == 0


@pytest.mark.usefixtures("naps")
def test_wait_that_runs_out_of_time_is_8(api: FakeApi, momo: Momo) -> None:
    api.on("GET", BY_CODE, samples.one("PENDING"))
    api.on("GET", TX, samples.one("PENDING"))
    api.on("GET", wire.Path.EVENTS, Says(stream=""))
    ran = momo("tx", "wait", samples.CODE, "--timeout", "500ms", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (8, "PENDING")
    assert ran.json["success"] is True


def test_init_wait_ends_with_the_order_and_talks_on_stderr(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    api.on("GET", TX, samples.one("PENDING"), samples.one("PARTIAL"))
    api.on("GET", wire.Path.EVENTS, stream(VERIFIED))
    ran = momo("init", "12.50", "--phone", "0244124567", "--wait", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (6, "PARTIAL")
    assert samples.CODE in ran.err


def test_init_sends_what_was_said_and_nothing_else(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    momo("init", "GHS 1,012.5", "--phone", "0244124567", "--expires", "90m", "--no-sms")
    momo("init", "12", "--phone", "+233244124567", "--meta", '{"a":1}', "--for", "rent")
    assert [asked.body for asked in api.asked] == [
        {
            "amount": "1012.50",
            "phone_number": "0244124567",
            "currency": "GHS",
            "expires_in_hours": 2,
            "send_sms_to_payer": False,
        },
        {"amount": "12.00", "phone_number": "+233244124567", "description": "rent", "meta": {"a": 1}},
    ]


def test_watch_writes_one_line_per_change_of_an_order(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    received = (6, "message.received", {"id": "6", "type": "message.received", "reference": None})
    api.on(
        "GET",
        wire.Path.EVENTS,
        stream(received, VERIFIED),
        refusal(503, "UNAVAILABLE"),
        refusal(503, "UNAVAILABLE"),
        stream((8, "transaction.expired", samples.SHORT)),
        refusal(500, "INTERNAL_ERROR"),
    )
    ran = momo("tx", "watch", "--json", "--since-event", "5")
    *items, last = [json.loads(line) for line in ran.out.splitlines()]
    assert [(item["type"], item["event"], item["id"]) for item in items] == [
        ("item", "transaction.verified", "7"),
        ("item", "transaction.expired", "8"),
    ]
    assert (ran.code, last["error"]["code"]) == (1, "INTERNAL_ERROR")
    said = [line for line in ran.err.splitlines() if line.startswith("the daemon")]
    assert said[:3] == [
        "the daemon is restarting; waiting",
        "the daemon cannot serve this now (the service cannot take this right now); waiting",
        "the daemon is back",
    ]
    assert [asked.headers.get("last-event-id") for asked in api.asked[:4]] == ["5", "7", "7", "7"]


@pytest.mark.usefixtures("naps")
def test_watch_is_readable_on_a_terminal(api: FakeApi, momo: Momo) -> None:
    api.on("GET", BY_CODE, samples.one("PENDING"))
    api.on("GET", wire.Path.EVENTS, stream(VERIFIED), refusal(500, "INTERNAL_ERROR"))
    ran = momo("tx", "watch", samples.CODE, "-o", "table", "--utc")
    assert ran.out == (
        f"today 09:14  transaction.verified  ✓ PAID  7KQ2MX  GHS 1,012.50  Kofi Ɔsei 024…4567  {samples.REF}\n"
    )
    assert api.asked[1].query == {"reference": samples.REF}


def test_following_a_daemon_that_is_not_there_fails_at_once(momo: Momo, shop: Shop) -> None:
    Path(shop.places.database).touch()
    assert momo("tx", "watch").code == 7


CANNOT = refusal(503, "UNAVAILABLE", "The database is damaged.")


@pytest.mark.usefixtures("naps")
def test_a_wait_goes_on_while_the_daemon_answers_503_and_says_why_once(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, CANNOT, CANNOT, CANNOT, samples.one("SUCCESS"))
    api.on("GET", wire.Path.EVENTS, CANNOT)
    ran = momo("tx", "wait", samples.REF, "--json")
    assert (ran.code, ran.json["data"]["status"]) == (0, "SUCCESS")
    assert ran.err.splitlines() == [
        "the daemon cannot serve this now (the database is damaged); waiting",
        "the daemon is back",
    ]


@pytest.mark.usefixtures("naps")
def test_a_daemon_that_answers_503_until_the_time_is_over_is_8_with_the_command_to_go_on(
    api: FakeApi, momo: Momo
) -> None:
    api.on("GET", TX, CANNOT)
    api.on("GET", wire.Path.EVENTS, CANNOT)
    ran = momo("tx", "wait", samples.REF, "--timeout", "50ms", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (8, "UNAVAILABLE")
    assert ran.json["error"]["next"] == [f"momo tx wait {samples.REF}"]


def test_a_wait_that_is_given_up_names_the_command_to_go_on(
    api: FakeApi, momo: Momo, naps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("momo_cli.system.monotonic", lambda: sum(naps))
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    api.on("GET", TX, Says(drop=True))
    api.on("GET", wire.Path.EVENTS, Says(drop=True))
    ran = momo("init", "12.50", "--phone", "0244124567", "--wait", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (7, "DAEMON_DOWN")
    assert ran.json["error"]["next"] == ["momo daemon start", f"momo tx wait {samples.REF}"]
    assert "away for 30 s" in ran.json["error"]["message"]
    assert sum(naps) == 30
    assert [asked.method for asked in api.asked].count("POST") == 1


def test_following_continues_where_it_was_opened_even_if_nothing_happened_before_the_restart(
    api: FakeApi, momo: Momo, naps: list[float]
) -> None:
    opened = Says(stream=": open\nid: 41\n\n")
    api.on("GET", wire.Path.EVENTS, opened, refusal(500, "INTERNAL_ERROR"))
    assert momo("tx", "watch", "--json").code == 1
    assert [asked.headers.get("last-event-id") for asked in api.asked] == [None, "41"]
    assert len(naps) == 1


def test_broken_event_is_passed_on_rather_than_lost(api: FakeApi, shop: Shop) -> None:
    text = "event: x\ndata: {\ndata: no\n\nid: 9\ndata: [1]\n\n"
    api.on("GET", wire.Path.EVENTS, Says(stream=text))
    client = Client(locate(Flags(), shop.environ, os.getuid()))
    assert list(client.events()) == [None, Event("", "x", {"value": None}), Event("9", "message", {"value": [1]})]


def test_reconcile_finds_the_order_by_its_code(api: FakeApi, momo: Momo) -> None:
    api.on("GET", BY_CODE, samples.one("PENDING"))
    api.on("POST", f"{TX}/reconcile", ok(samples.RECONCILED))
    ran = momo("reconcile", samples.CODE.lower(), "0000 012345", "--amount", "12.5", "--notes", "n")
    assert ran.code == 0
    assert api.asked[1].body == {"transaction_id": "0000012345", "amount": "12.50", "notes": "n"}


@pytest.mark.parametrize(
    ("kind", "difference", "line", "exact_code"),
    [
        ("exact", "0.00", "✓ Paid exactly. GHS 12.50 from Kofi (MTN 0000012345) → " + samples.REF, 0),
        ("underpaid", "-2.00", "! Short by GHS 2.00: received 12.50 of 12.50. The transaction is now PARTIAL. "
         "This cannot be undone.\n  from Kofi (MTN 0000012345) → " + samples.REF, 6),
        ("overpaid", "2.00", "! Over by GHS 2.00: received 12.50 for 12.50. The transaction is now OVERPAID. "
         "This cannot be undone.\n  from Kofi (MTN 0000012345) → " + samples.REF, 6),
    ],
)  # fmt: skip
def test_reconcile_says_what_was_paid(
    kind: str, difference: str, line: str, exact_code: int, api: FakeApi, momo: Momo
) -> None:
    body = {**samples.RECONCILED, "difference_type": kind, "difference": difference}
    api.on("POST", f"{TX}/reconcile", ok(body))
    paid = {
        **samples.ONE,
        "payer_source": {"phone_number": "request", "name": "receipt"},
        "telco": {"provider": "mtn", "transaction_id": "0000012345"},
    }
    api.on("GET", TX, ok(paid))
    ran = momo("reconcile", samples.REF, "0000012345", "-o", "table", COLUMNS="200")
    assert (ran.code, ran.out) == (0, f"{line}\n")
    assert momo("reconcile", samples.REF, "0000012345", "--exact").code == exact_code


def test_reconcile_says_so_too_when_the_payer_cannot_be_looked_up(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{TX}/reconcile", ok(samples.RECONCILED))
    ran = momo("reconcile", samples.REF, "0000012345", "-o", "table")
    assert ran.out == f"✓ Paid exactly. 12.50 (0000012345) → {samples.REF}\n"
    assert momo("reconcile", samples.REF, "0000012345").code == 0
    assert [asked.method for asked in api.asked] == ["POST", "GET", "POST"]


def test_reconcile_warns_of_letters_that_look_like_digits_and_sends_them(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{TX}/reconcile", refusal(404, "NO_MATCHING_TRANSACTION"))
    ran = momo("reconcile", samples.REF, "O0123")
    assert ran.code == 3
    assert "O0123 has letters that look like digits" in ran.err
    assert f"  next:  momo messages list --since 1h\n         momo reconcile {samples.REF} O0123" in ran.err
    assert api.asked[0].body == {"transaction_id": "O0123"}


FROM_A_FILE = "The message of this payment came from a file."


def test_a_payment_from_a_file_is_reconciled_with_the_owners_password(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    refused = refusal(403, "INVALID_PASSWORD", FROM_A_FILE, attempts_remaining=5)
    words = ("reconcile", samples.REF, "0012345678")
    api.on("POST", f"{TX}/reconcile", refused)
    ran = momo(*words)
    assert (ran.code, FROM_A_FILE[1:-1] in ran.err) == (4, True)
    file = tmp_path / "pw.txt"
    file.write_text("correct horse\n")
    api.on("POST", f"{TX}/reconcile", refused, ok(samples.RECONCILED))
    ran = momo(*words, "--password-file", str(file))
    assert (ran.code, FROM_A_FILE in ran.err) == (0, True)
    sent = [asked.body for asked in api.asked if asked.method == "POST"]
    assert sent[1:] == [{"transaction_id": "0012345678"}, {"transaction_id": "0012345678", "password": "correct horse"}]
    many = momo("reconcile", "--from-file", "x.csv", "--password-file", str(file))
    assert (many.code, "one by one" in many.err) == (2, True)


def test_times_are_sent_in_utc(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([], pagination=samples.PAGE))
    momo("tx", "list", "--from", "24h", "--to", "2026-11-20", "--tz", "Africa/Lagos")
    asked: Asked = api.asked[0]
    assert asked.query == {
        "from": "2026-11-19T09:18:00.000Z",
        "to": "2026-11-20T23:00:00.000Z",
        "mode": "live",
        "per_page": "50",
        "page": "1",
    }


def test_an_order_whose_money_was_taken_back_does_not_look_paid() -> None:
    row = {"status": "SUCCESS", "reversed_at": "2026-11-20T09:14:00.000Z"}
    assert transaction_state(row) == Cell("✓ PAID, REVERSED", "red")
    assert transaction_state({"status": "SUCCESS", "reversed_at": None}).style == "green"


HELD = f"a message that names this code is held: momo review show {samples.REVIEW['id']}"


def held(status: str = "PENDING") -> Says:
    return ok({**samples.ONE, "status": status, "held_review_id": samples.REVIEW["id"]})


@pytest.mark.usefixtures("naps")
def test_a_held_message_that_names_the_transaction_is_told_once_while_waiting(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, samples.one("PENDING"), held(), held(), held("SUCCESS"))
    api.on("GET", wire.Path.EVENTS, stream(VERIFIED, VERIFIED))
    ran = momo("tx", "wait", samples.REF, "--json")
    assert (ran.code, ran.err.count(HELD)) == (0, 1)
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    api.on("GET", TX, held(), held("SUCCESS"))
    ran = momo("init", "12.50", "--phone", "0244124567", "--wait", "--json")
    assert (ran.code, ran.err.count(HELD)) == (0, 1)


def test_show_says_that_a_message_which_names_the_transaction_is_held(api: FakeApi, momo: Momo) -> None:
    api.on("GET", TX, held())
    assert f"! {HELD}" in momo("tx", "show", samples.REF, "-o", "table", COLUMNS="120").out
    api.on("GET", TX, samples.one("PENDING"))
    assert "is held" not in momo("tx", "show", samples.REF, "-o", "table").out
