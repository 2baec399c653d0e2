"""Dead letters at the command line: list, show, and replay in batches."""

import io

import pytest

from daemon.wire import MODE_HEADER
from daemon.wire import Path as ApiPath
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.webhooks.test_deliveries import ID, LETTER, OTHER, documents, sent
from tests.fakes.fake_api import Asked, FakeApi, Says, ok


def test_dead_letters_are_told_by_what_went_wrong(api: FakeApi, momo: Momo) -> None:
    slow = {**samples.DEAD_LETTER, "id": OTHER, "cause": "timeout", "diagnosis": "Too slow."}
    slow["payment"] = {"amount": None, "currency": None, "svc_code": None}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER, slow, samples.DEAD_LETTER]))
    ran = momo("dead-letters", "list", "-o", "table")
    assert ran.out.splitlines() == [
        "✗ 2  shop.example  no such address  since today 09:14",
        f"   {samples.DEAD_LETTER['diagnosis']}",
        f"   {LETTER[:8]}…{LETTER[-6:]}  4m ago  GHS 38.00  7KQ2MX",
        f"   {LETTER[:8]}…{LETTER[-6:]}  4m ago  GHS 38.00  7KQ2MX",
        "✗ 1  shop.example  timeout  since today 09:14",
        "   Too slow.",
        f"   {OTHER[:8]}…{OTHER[-6:]}  4m ago",
    ]
    assert "momo dead-letters replay --all" in ran.err


def test_a_list_that_is_not_empty_fails_when_asked_to(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER]), ok([]))
    ran = momo("dl", "ls", "--fail-if-any", "--quiet")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == (f"error: 1 webhook was given up\nnext:  momo dead-letters replay {LETTER}\n")
    ran = momo("dl", "ls", "--fail-if-any", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


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
    ran = momo("dead-letters", "replay", *ids, OTHER, ids[0], "--json")
    assert ran.code == 9
    *items, summary = documents(ran.out)
    assert summary == {"type": "summary", "requested": 151, "replayed": 150, "failed": 1}
    assert [item["id"] for item in items if not item["ok"]] == [OTHER]
    assert [len(body["dead_letter_ids"]) for _path, body in sent(api)] == [100, 51]
    human = momo("dead-letters", "replay", ids[0], OTHER, "-o", "table")
    assert human.out == "✗ 1 replayed, 1 refused (1 DEAD_LETTER_ALREADY_REPLAYED).\n"


def test_batch_reads_ids_from_stdin(api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    api.on("POST", ApiPath.DEAD_LETTERS_REPLAY, accept)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{LETTER}\n{ID}\n{LETTER}\n"))
    assert momo("dead-letters", "replay", "-").code == 0
    assert sent(api) == [(ApiPath.DEAD_LETTERS_REPLAY, {"dead_letter_ids": [LETTER, ID]})]


@pytest.mark.parametrize(
    ("reason", "found"), [("4xx", [LETTER]), ("no_such_address", [LETTER]), ("timeout", [OTHER]), ("gone", [])]
)
def test_all_of_one_reason_are_sent_oldest_first(api: FakeApi, momo: Momo, reason: str, found: list[str]) -> None:
    slow = {**samples.DEAD_LETTER, "id": OTHER, "cause": "timeout", "reason": "retries_exhausted"}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER, slow]))
    api.on("POST", ApiPath.DEAD_LETTERS_REPLAY, ok({"replayed": found, "failed": []}, replayed=1))
    flags = ("dead-letters", "replay", "--all", "--reason", reason)
    assert momo(*flags, "--dry-run").code == 0
    assert sent(api) == []
    assert momo(*flags).code == 0
    assert [body["dead_letter_ids"] for _path, body in sent(api)] == ([found] if found else [])


@pytest.mark.parametrize("reason", ["endpoint_deleted", "permanent_4xx"])
def test_letters_of_a_deleted_endpoint_are_no_part_of_all_and_point_elsewhere(
    reason: str, api: FakeApi, momo: Momo
) -> None:
    gone = {**samples.DEAD_LETTER, "cause": "endpoint_deleted", "reason": reason}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([gone]))
    ran = momo("dead-letters", "list", "-o", "table")
    assert "replay-batch" not in ran.err
    assert "momo replay --help" in ran.err
    assert momo("dead-letters", "replay", "--all", "--yes").code == 0
    assert sent(api) == []


@pytest.mark.parametrize("flags", [(), (LETTER, "--all"), (LETTER, "--reason", "4xx")])
def test_batch_must_know_which(momo: Momo, flags: tuple[str, ...]) -> None:
    assert momo("dead-letters", "replay", *flags).code == 2


def test_the_sandbox_is_listed_on_request_and_never_an_alarm(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ApiPath.DEAD_LETTERS, ok([]))
    assert momo("dead-letters", "list", "--fail-if-any", "--quiet").code == 0
    assert api.asked[-1].query["mode"] == "live"
    momo("dead-letters", "list", "--sandbox")
    assert api.asked[-1].query["mode"] == "test"


def test_the_hints_of_a_list_of_the_sandbox_are_of_the_sandbox(api: FakeApi, momo: Momo) -> None:
    other = {**samples.DEAD_LETTER, "id": "00000000-1b2c-4d5e-8f90-a1b2c3d4e5f6"}
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER, other]))
    said = momo("dead-letters", "list", "--sandbox", "-o", "table").err
    assert said.endswith("momo dead-letters replay --all --sandbox\n")
    api.on("GET", ApiPath.DEAD_LETTERS, ok([]))
    said = momo("dead-letters", "list", "--sandbox", "-o", "table").err
    assert said.endswith("next:  momo deliveries list --sandbox\n")
    ran = momo("dead-letters", "replay", "--all", "--sandbox")
    assert api.asked[-1].query["mode"] == "test"
    assert "No dead letters of the sandbox." in ran.err
    api.on("POST", ApiPath.DEAD_LETTER_REPLAY.format(id=LETTER), ok(samples.DEAD_LETTER))
    assert momo("dead-letters", "replay", LETTER, "--sandbox").code == 0
    assert api.asked[-1].headers[MODE_HEADER.lower()] == "test"


def test_dead_letters_are_closed_only_with_a_note(api: FakeApi, momo: Momo) -> None:
    letter = samples.DEAD_LETTER["id"]
    assert momo("dead-letters", "dismiss", letter).code == 2
    assert api.asked == []
    api.on("POST", f"{ApiPath.DEAD_LETTERS}/{letter}/dismiss", ok(samples.DEAD_LETTER))
    assert momo("dead-letters", "dismiss", letter, "--notes", "by hand").code == 0
    assert api.asked[-1].body == {"notes": "by hand"}


def test_one_command_closes_all_that_tests_left(api: FakeApi, momo: Momo) -> None:
    letter = samples.DEAD_LETTER["id"]
    api.on("GET", ApiPath.DEAD_LETTERS, ok([samples.DEAD_LETTER], meta={"next_cursor": None}))
    api.on("POST", f"{ApiPath.DEAD_LETTERS}/{letter}/dismiss", ok(samples.DEAD_LETTER))
    assert momo("dead-letters", "dismiss", "--sandbox", "--notes", "tests").code == 0
    assert (api.asked[0].query["mode"], api.asked[-1].body) == ("test", {"notes": "tests"})
    assert momo("dead-letters", "dismiss", letter, "--sandbox", "--notes", "tests").code == 0
