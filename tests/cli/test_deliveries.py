"""Deliveries, dead letters, replay and secrets from the command line: what is asked, sent and said."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from daemon.wire import Path as ApiPath
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

ID = samples.DELIVERY["id"]
LETTER = samples.DEAD_LETTER["id"]
OTHER = "00000000-0000-4000-8000-000000000001"
ENDPOINT = samples.ENDPOINT["id"]
ONE = f"/v1/open-collections/deliveries/{ID}"
HOOK = f"/v1/open-collections/endpoints/{ENDPOINT}"


def sent(api: FakeApi) -> list[tuple[str, Any]]:
    return [(asked.path, asked.body) for asked in api.asked if asked.method == "POST"]


def documents(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


# Deliveries ---------------------------------------------------------------------------------------------


def test_show_tells_where_it_went_and_each_attempt(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.DELIVERED))
    api.on("GET", f"{ONE}/attempts", ok([samples.ATTEMPT]))
    ran = momo("deliveries", "show", ID, "--attempts", "--payload", "-o", "table")
    assert "  to       https://shop.example/hook\n" in ran.out
    assert "run 1 try 1  503 in 143 ms — try later\n" in ran.out
    assert ran.out.endswith('"type":"transaction.forwarded"}\n')
    assert f"momo deliveries redeliver {ID}" in ran.err


def test_redelivering_several_goes_on_after_a_refusal_and_sums_up(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{ONE}/redeliver", refusal(409, "DELIVERY_NOT_REDELIVERABLE"))
    api.on("POST", f"/v1/open-collections/deliveries/{OTHER}/redeliver", ok(samples.DELIVERY))
    ran = momo("deliveries", "redeliver", ID, OTHER, "--json")
    assert ran.code == 9
    assert documents(ran.out) == [
        {
            "type": "item",
            "id": ID,
            "ok": False,
            "code": "DELIVERY_NOT_REDELIVERABLE",
            "message": "no",
        },
        {"type": "item", "id": OTHER, "ok": True, "code": None, "message": None},
        {"type": "summary", "requested": 2, "requeued": 1, "failed": 1},
    ]
    keys = [asked.headers["idempotency-key"] for asked in api.asked]
    assert len(set(keys)) == 2


def test_every_failed_one_of_an_endpoint_oldest_first(api: FakeApi, momo: Momo) -> None:
    failed = [{**samples.DELIVERY, "id": OTHER}, {**samples.DELIVERY, "id": ID}]
    api.on("GET", ApiPath.DELIVERIES, ok(failed))
    api.on("POST", f"{ONE}/redeliver", ok(samples.DELIVERY))
    api.on("POST", f"/v1/open-collections/deliveries/{OTHER}/redeliver", ok(samples.DELIVERY))
    flags = ("--failed", "--endpoint", ENDPOINT)
    plan = momo("deliveries", "redeliver", *flags, "--dry-run")
    assert (plan.code, len(plan.out.splitlines()), sent(api)) == (0, 2, [])
    ran = momo("deliveries", "redeliver", *flags)
    assert ran.code == 0
    assert [path for path, _body in sent(api)] == [
        f"{ONE}/redeliver",
        f"/v1/open-collections/deliveries/{OTHER}/redeliver",
    ]
    assert api.asked[0].query["status"] == "failed"


@pytest.mark.parametrize(
    "flags", [(), (ID, "--failed"), ("--failed",), (ID, "--endpoint", ENDPOINT), (ID, "--dry-run")]
)
def test_redeliver_must_know_which(momo: Momo, flags: tuple[str, ...]) -> None:
    assert momo("deliveries", "redeliver", *flags).code == 2


def test_a_gap_is_6_and_none_is_0(api: FakeApi, momo: Momo) -> None:
    meta = {
        "limit": 1000,
        "looked_at": 3,
        "delivered": 2,
        "missing": 1,
        "has_more": False,
        "next_cursor": None,
    }
    flags = ("deliveries", "gap", "--endpoint", ENDPOINT)
    api.on("GET", ApiPath.GAP, ok([samples.GAP], meta=meta))
    ran = momo(*flags, "-o", "table")
    assert ran.code == 6
    assert "1 payments are not delivered" in ran.out
    assert "✗ never sent" in ran.out
    assert f"next:  momo replay --endpoint {ENDPOINT} --from 2026-11-19T09:18:00.000Z" in ran.err
    assert momo(*flags, "--quiet").code == 6
    api.on("GET", ApiPath.GAP, ok([], meta={**meta, "delivered": 3, "missing": 0}))
    ran = momo(*flags)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "No gap: all of 3 payments that it should have are delivered.\n"


def test_a_long_gap_is_never_cut_off_silently(api: FakeApi, momo: Momo) -> None:
    more = {"looked_at": 1, "has_more": True, "next_cursor": "abc"}
    last = {"looked_at": 1, "has_more": False, "next_cursor": None}
    flags = ("deliveries", "gap", "--endpoint", ENDPOINT)
    api.on("GET", ApiPath.GAP, ok([samples.GAP], meta=more))
    assert "There are more: add --all." in momo(*flags).err
    api.on("GET", ApiPath.GAP, ok([samples.GAP], meta=more), ok([samples.GAP], meta=last))
    ran = momo(*flags, "--all", "--json")
    assert ran.code == 6
    assert [line["type"] for line in documents(ran.out)] == ["item", "item", "summary"]
    assert api.asked[-1].query["cursor"] == "abc"


# Dead letters -------------------------------------------------------------------------------------------


def test_dead_letters_are_told_by_what_went_wrong(api: FakeApi, momo: Momo) -> None:
    slow = {**samples.DEAD_LETTER, "id": OTHER, "cause": "timeout", "diagnosis": "Too slow."}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER, slow, samples.DEAD_LETTER]))
    ran = momo("dead-letters", "list", "-o", "table")
    assert ran.out.splitlines() == [
        "✗ 2  shop.example  no such address  since today 09:14",
        f"   {samples.DEAD_LETTER['diagnosis']}",
        f"   {LETTER}  4m ago",
        f"   {LETTER}  4m ago",
        "✗ 1  shop.example  timeout  since today 09:14",
        "   Too slow.",
        f"   {OTHER}  4m ago",
    ]
    assert "momo dead-letters replay-batch --all" in ran.err


def test_a_list_that_is_not_empty_fails_when_asked_to(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER]), ok([]))
    assert momo("dl", "ls", "--fail-if-any", "--quiet").code == 6
    assert momo("dl", "ls", "--fail-if-any", "--quiet").code == 0


def test_one_is_shown_with_its_answer_and_payload(api: FakeApi, momo: Momo) -> None:
    letter = {**samples.DEAD_LETTER, "payload": {"type": "transaction.forwarded"}}
    api.on("GET", f"/v1/webhooks/dead-letters/{LETTER}", ok(letter))
    ran = momo("dead-letters", "show", LETTER, "--payload", "-o", "table")
    assert f"  {samples.DEAD_LETTER['diagnosis']}\n" in ran.out
    assert "  answer   no such page\n" in ran.out
    assert ran.out.endswith('{"type":"transaction.forwarded"}\n')
    assert f"next:  momo dead-letters replay {LETTER}" in ran.err


def accept(asked: Asked) -> Says:
    """Take every id but one."""
    ids = asked.body["dead_letter_ids"]
    refused = [{"id": OTHER, "code": "DEAD_LETTER_ALREADY_REPLAYED", "message": "no"}]
    good = [each for each in ids if each != OTHER]
    failed = refused if OTHER in ids else []
    return ok({"replayed": good, "failed": failed}, replayed=len(good))


def test_batch_sends_a_hundred_at_a_time_and_sums_up(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.DEAD_LETTERS_REPLAY, accept)
    ids = [f"0f3c0000-0000-4000-8000-{number:012}" for number in range(150)]
    ran = momo("dead-letters", "replay-batch", *ids, OTHER, ids[0], "--json")
    assert ran.code == 9
    *items, summary = documents(ran.out)
    assert summary == {"type": "summary", "requested": 151, "replayed": 150, "failed": 1}
    assert [item["id"] for item in items if not item["ok"]] == [OTHER]
    assert [len(body["dead_letter_ids"]) for _path, body in sent(api)] == [100, 51]
    human = momo("dead-letters", "replay-batch", ids[0], OTHER, "-o", "table")
    assert human.out == "✗ 1 replayed, 1 refused (1 DEAD_LETTER_ALREADY_REPLAYED).\n"


def test_batch_reads_ids_from_stdin(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("POST", ApiPath.DEAD_LETTERS_REPLAY, accept)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LETTER}\n{ID}\n{LETTER}\n"))
    assert momo("dead-letters", "replay-batch", "-").code == 0
    assert sent(api) == [(ApiPath.DEAD_LETTERS_REPLAY, {"dead_letter_ids": [LETTER, ID]})]


@pytest.mark.parametrize(
    ("reason", "found"),
    [("4xx", [LETTER]), ("no_such_address", [LETTER]), ("timeout", [OTHER]), ("gone", [])],
)
def test_all_of_one_reason_are_sent_oldest_first(
    api: FakeApi, momo: Momo, reason: str, found: list[str]
) -> None:
    slow = {**samples.DEAD_LETTER, "id": OTHER, "cause": "timeout", "reason": "retries_exhausted"}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER, slow]))
    api.on("POST", ApiPath.DEAD_LETTERS_REPLAY, ok({"replayed": found, "failed": []}, replayed=1))
    flags = ("dead-letters", "replay-batch", "--all", "--reason", reason)
    assert momo(*flags, "--dry-run").code == 0
    assert sent(api) == []
    assert momo(*flags).code == 0
    assert [body["dead_letter_ids"] for _path, body in sent(api)] == ([found] if found else [])


def test_letters_of_a_deleted_endpoint_are_no_part_of_all_and_point_elsewhere(
    api: FakeApi, momo: Momo
) -> None:
    gone = {**samples.DEAD_LETTER, "cause": "endpoint_deleted", "reason": "endpoint_deleted"}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([gone]))
    ran = momo("dead-letters", "list", "-o", "table")
    assert "replay-batch" not in ran.err
    assert "momo replay --help" in ran.err
    assert momo("dead-letters", "replay-batch", "--all", "--yes").code == 0
    assert sent(api) == []


@pytest.mark.parametrize("flags", [(), (LETTER, "--all"), (LETTER, "--reason", "4xx")])
def test_batch_must_know_which(momo: Momo, flags: tuple[str, ...]) -> None:
    assert momo("dead-letters", "replay-batch", *flags).code == 2


# Replay -------------------------------------------------------------------------------------------------


def replay(momo: Momo, *flags: str) -> Any:
    return momo("replay", "--endpoint", ENDPOINT, *flags)


def test_replay_tells_what_it_did_with_each(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    ran = replay(momo, "--from", "today", "--yes", "-o", "table")
    assert ran.out.splitlines() == [
        "5 payments queued.",
        "  209 it has",
        "  1 were taken back by the network",
    ]
    assert sent(api) == [
        (
            ApiPath.REPLAY,
            {
                "endpoint_id": ENDPOINT,
                "from": "2026-11-20T00:00:00.000Z",
                "to": "2026-11-20T09:18:00.000Z",
            },
        )
    ]


def test_a_plan_is_shown_first_and_no_is_10(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("GET", HOOK, ok(samples.ENDPOINT))
    api.on("POST", ApiPath.REPLAY, Says({**samples.REPLAYED, "dry_run": True}))
    stdin = io.StringIO("n\n")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    ran = replay(momo, "--from", "today", "-o", "table")
    assert ran.code == 10
    assert "Replay to https://shop.example/hook, today 00:00 to today 09:18:\n" in ran.err
    assert "5 payments will be sent.\n" in ran.err
    assert [body["dry_run"] for _path, body in sent(api)] == [True]


def test_a_plan_of_nothing_asks_nothing_and_says_so(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("GET", HOOK, ok(samples.ENDPOINT))
    none = {**samples.REPLAYED, "enqueued": 0, "dry_run": True}
    api.on("POST", ApiPath.REPLAY, Says(none))
    stdin = io.StringIO("")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    ran = replay(momo, "--from", "today", "-o", "table")
    assert (ran.code, ran.out) == (0, "Nothing to send.\n")


def test_a_script_is_not_asked(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    ran = replay(momo, "--from", "25h", "--json")
    assert (ran.code, ran.json) == (0, samples.REPLAYED)


def test_each_flag_is_sent(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    replay(momo, "--from", "25h", "--dry-run", "--without-failed", "--include-historical")
    ((_path, body),) = sent(api)
    assert (body["dry_run"], body["include_failed"], body["include_historical"]) == (
        True,
        False,
        True,
    )


def test_more_than_one_call_takes_is_9_unless_it_goes_on(api: FakeApi, momo: Momo) -> None:
    more = {**samples.REPLAYED, "has_more": True, "next_cursor": "abc"}
    api.on("POST", ApiPath.REPLAY, Says(more))
    ran = replay(momo, "--from", "25h")
    assert ran.code == 9
    assert "add --chunk" in ran.err
    api.on("POST", ApiPath.REPLAY, Says(more), Says(samples.REPLAYED))
    ran = replay(momo, "--from", "25h", "--chunk", "--json")
    assert ran.code == 0
    assert [line.get("enqueued") for line in documents(ran.out)] == [5, 5, None]
    assert sent(api)[-1][1]["cursor"] == "abc"


def test_a_long_window_is_cut_into_months(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    assert replay(momo, "--from", "70d", "--chunk").code == 0
    windows = [(body["from"], body["to"]) for _path, body in sent(api)]
    assert windows == [
        ("2026-09-11T09:18:00.000Z", "2026-10-12T09:18:00.000Z"),
        ("2026-10-12T09:18:00.000Z", "2026-11-12T09:18:00.000Z"),
        ("2026-11-12T09:18:00.000Z", "2026-11-20T09:18:00.000Z"),
    ]


def test_waiting_says_what_came_of_them(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    pending, failed = {**samples.GAP, "state": "pending"}, {**samples.GAP, "state": "failed"}
    api.on("GET", ApiPath.GAP, ok([pending, failed]), ok([failed]))
    ran = replay(momo, "--from", "25h", "--wait", "--json")
    assert ran.code == 9
    assert {name: ran.json[name] for name in ("delivered", "failed", "waiting")} == {
        "delivered": 4,
        "failed": 1,
        "waiting": 0,
    }
    assert len(naps) == 1


def test_a_wait_that_runs_out_is_8(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    api.on("GET", ApiPath.GAP, ok([{**samples.GAP, "state": "pending"}]))
    assert replay(momo, "--from", "25h", "--wait", "--timeout", "2s").code == 8
    assert sum(naps) == 2


def test_a_window_that_is_too_large_names_the_way_out(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, refusal(422, "REPLAY_WINDOW_TOO_LARGE"))
    ran = replay(momo, "--from", "60d")
    assert ran.code == 5
    assert "add --chunk" in ran.err


# Endpoints ----------------------------------------------------------------------------------------------


def test_a_test_that_is_not_taken_is_6(api: FakeApi, momo: Momo) -> None:
    said = {
        "success": False,
        "status_code": 401,
        "response_body": "who?",
        "message": "It said 401.",
    }
    api.on("POST", f"{HOOK}/test", Says(said))
    ran = momo("endpoints", "test", ENDPOINT, "-o", "table")
    assert (ran.code, ran.out) == (6, "✗ It said 401.\n  who?\n")
    assert momo("endpoints", "test", ENDPOINT, "--json").json == said


SECRET = {"success": True, "secret": "whsec_x", "previous_secret_expires_at": None}
ROTATED = {
    **SECRET,
    "data": samples.ENDPOINT,
    "previous_secret_expires_at": "2026-11-21T09:18:00.000Z",
}


@pytest.fixture
def password(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text("correct horse 42\n")
    return str(path)


@pytest.mark.parametrize(
    ("flags", "path", "body"),
    [
        (("reveal", ENDPOINT), f"{HOOK}/secret", {}),
        (("reveal", "--account"), ApiPath.ACCOUNT_SECRET, {}),
        (("rotate", ENDPOINT), f"{HOOK}/rotate-secret", {}),
        (("rotate", "--account"), ApiPath.ACCOUNT_ROTATE, {}),
        (
            ("rotate", ENDPOINT, "--expire-previous"),
            f"{HOOK}/rotate-secret",
            {"expire_previous": True},
        ),
    ],
)
def test_a_secret_is_asked_for_with_the_password(
    api: FakeApi, momo: Momo, password: str, flags: tuple[str, ...], path: str, body: dict[str, Any]
) -> None:
    api.on("POST", path, Says(SECRET))
    ran = momo("endpoints", *flags, "--password-file", password, "-o", "id")
    assert (ran.code, ran.out) == (0, "whsec_x\n")
    assert sent(api) == [(path, {**body, "password": "correct horse 42"})]


def test_a_rotation_says_how_long_the_old_one_signs(
    api: FakeApi, momo: Momo, password: str, tmp_path: Path
) -> None:
    api.on("POST", f"{HOOK}/rotate-secret", Says(ROTATED))
    kept = tmp_path / "hook.secret"
    flags = ("--password-file", password, "--secret-file", str(kept))
    ran = momo("endpoints", "rotate", ENDPOINT, *flags, "-o", "table")
    assert ran.code == 0
    assert "whsec_x" not in ran.out + ran.err
    assert kept.read_text() == "whsec_x\n"
    assert (
        "The old signature is also sent until 21 Nov 09:18 (X-Svc-Signature-Previous)." in ran.err
    )


def test_a_wrong_password_is_4_and_says_what_is_left(
    api: FakeApi, momo: Momo, password: str, tmp_path: Path
) -> None:
    api.on("POST", f"{HOOK}/secret", refusal(403, "INVALID_PASSWORD", attempts_remaining=2))
    kept = tmp_path / "hook.secret"
    flags = ("--password-file", password, "--secret-file", str(kept))
    ran = momo("endpoints", "reveal", ENDPOINT, *flags)
    assert ran.code == 4
    assert "2 tries are left in the next 15 minutes." in ran.err
    assert not kept.exists()


@pytest.mark.parametrize("flags", [(), (ENDPOINT, "--account")])
def test_a_secret_must_have_an_owner(momo: Momo, flags: tuple[str, ...]) -> None:
    assert momo("endpoints", "reveal", *flags).code == 2


@pytest.mark.parametrize(
    "argv",
    [
        ("deliveries", "gap", "--endpoint", ENDPOINT),
        ("dead-letters", "replay-batch", LETTER),
        ("endpoints", "reveal", ENDPOINT, "--password-file", "-"),
        ("endpoints", "rotate", ENDPOINT, "--password-file", "-"),
    ],
)
def test_daemon_down_is_7(
    momo: Momo, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse 42\n"))
    ran = momo(*argv, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (7, "DAEMON_DOWN")
