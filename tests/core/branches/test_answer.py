"""What a branch relies on in an answer of its hub; anything else is refused as a whole."""

import json

import pytest

from daemon.core.branches import answer
from daemon.core.branches.answer import AnswerError, DaySums, ExchangeAnswer, Joined, read, read_page
from daemon.core.branches.facts import BYTES_MAX


def test_members_that_an_older_or_newer_hub_has_are_no_fault() -> None:
    assert read({"acked": 3}, ExchangeAnswer).acked == 3
    command = {"id": "c", "kind": "new_in_99", "subject": "", "body": {}, "more": 1}
    found = read({"acked": 3, "commands": [command], "want": {"from_seq": 2}, "more": 1}, ExchangeAnswer)
    assert [one["kind"] for one in found.commands] == ["new_in_99"]
    assert found.want is not None


@pytest.mark.parametrize(
    "data",
    [
        "{}",
        '{"acked": "x"}',
        '{"acked": -1}',
        '{"acked": 0, "commands": null}',
        '{"acked": 0, "commands": ["x"]}',
        '{"acked": 0, "commands": [{"kind": "claim", "subject": "s", "body": {}}]}',
        '{"acked": 0, "commands": [{"id": "c", "kind": "claim", "subject": "s", "body": null}]}',
        '{"acked": 0, "commands": [{"id": "\\ud800", "kind": "claim", "subject": "s", "body": {}}]}',
        '{"acked": 0, "want": {"from_seq": "x"}}',
        '{"acked": 0, "left": "no"}',
        '{"acked": 0, "pause_ms": "soon"}',
        '{"acked": 0, "pause_ms": NaN}',
        '{"acked": 0, "pause_ms": 1e400}',
        '{"acked": 0, "pause_ms": -1}',
    ],
)
def test_an_answer_with_an_odd_member_is_not_understood(data: str) -> None:
    with pytest.raises(AnswerError, match=r"^the hub's answer is not understood: "):
        read(json.loads(data), ExchangeAnswer)


def test_an_answer_too_deep_to_be_written_again_is_not_understood() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(AnswerError):
        read({"acked": 0, "more": deep}, ExchangeAnswer)


def test_a_pause_lasts_five_minutes_at_most() -> None:
    assert read({"acked": 0, "pause_ms": 1500}, ExchangeAnswer).pause_s == 1.5
    assert read({"acked": 0, "pause_ms": 1e300}, ExchangeAnswer).pause_s == 300.0


JOINED = {
    "branch_id": "b", "name": "kumasi", "hub": "Office", "decides": "all", "epoch": 2,
    "known": {"epoch": 1, "acked": 9}, "key": "k",
}  # fmt: skip
SUM = {"day": 20_000, "mode": "live", "currency": "GHS", "count": 1, "amount_minor": 100}


def test_the_answers_to_join_restore_and_compare_are_understood() -> None:
    assert read({**JOINED, "more": 1}, Joined).known == {"epoch": 1, "acked": 9}
    older = {name: JOINED[name] for name in JOINED if name not in ("known", "key")}
    assert read(older, Joined).known is None
    assert read({"rows": [{**SUM, "more": 1}], "next": None}, DaySums).rows[0]["count"] == 1
    page = {"rows": [{"id": "x", "version": 1, "more": 1}], "next": 7, "epoch": 1}
    assert read_page(page, "payment").next == 7


@pytest.mark.parametrize(
    "changed",
    [
        {"branch_id": None}, {"name": ""}, {"decides": "some"}, {"epoch": "2"}, {"epoch": 1 << 22}, {"known": 5},
        {"known": {"epoch": 1}}, {"key": None},
    ],
)  # fmt: skip
def test_an_odd_answer_to_join_is_not_understood(changed: dict[str, object]) -> None:
    with pytest.raises(AnswerError):
        read(JOINED | changed, Joined)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("payment", None), ("payment", ["x"]), ("payment", [{}]), ("payment", [{"id": 5}]),
        ("payment", [{"id": "x", "version": "1"}]), ("payment", [{"id": "x", "amount_minor": "a lot"}]),
        ("payment", [{"id": "x", "payer_name": [[]]}]), ("reversal", [{"id": "x"}]),
    ],
)  # fmt: skip
def test_an_odd_page_of_rows_is_not_understood(kind: str, rows: object) -> None:
    with pytest.raises(AnswerError, match="is not understood"):
        read_page({"rows": rows, "next": None, "epoch": 1}, kind)


def test_a_row_that_this_version_cannot_read_is_named() -> None:
    page = {"rows": [{"id": "x", "provider": "momo_new"}], "next": None, "epoch": 1}
    with pytest.raises(AnswerError, match=r"payment x .* provider .* older than the hub"):
        read_page(page, "payment")


@pytest.mark.parametrize("changed", [{"day": "x"}, {"day": 1 << 40}, {"count": None}, {"mode": 5}])
def test_an_odd_sum_is_not_understood(changed: dict[str, object]) -> None:
    with pytest.raises(AnswerError):
        read({"rows": [SUM | changed]}, DaySums)


def test_a_quick_line_gets_the_largest_requests() -> None:
    assert answer.after_answer(BYTES_MAX, 500, 0.004) == BYTES_MAX
    assert answer.after_answer(8_000, 8_000, 0.02) == 16_000


def test_a_slow_answer_lowers_the_limit_to_what_fits() -> None:
    assert answer.after_answer(BYTES_MAX, 40_000, 10.0) == 20_000


def test_a_small_request_that_was_quick_does_not_lower_the_limit() -> None:
    assert answer.after_answer(100_000, 1_000, 0.5) == 100_000


def test_after_failures_requests_become_small_and_stay_above_the_least() -> None:
    limit = answer.after_failure(BYTES_MAX, 200_000)
    assert limit == 50_000
    assert answer.after_failure(limit, 900) == answer.BYTES_MIN
