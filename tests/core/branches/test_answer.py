"""What a branch relies on in an answer of its hub; anything else is refused as a whole."""

import json

import pytest

from daemon.core.branches.answer import AnswerError, read


def test_members_that_an_older_or_newer_hub_has_are_no_fault() -> None:
    assert read({"acked": 3}).acked == 3
    command = {"id": "c", "kind": "new_in_99", "subject": "", "body": {}, "more": 1}
    found = read({"acked": 3, "commands": [command], "want": {"from_seq": 2}, "more": 1})
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
        read(json.loads(data))


def test_an_answer_too_deep_to_be_written_again_is_not_understood() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(AnswerError):
        read({"acked": 0, "more": deep})


def test_a_pause_lasts_five_minutes_at_most() -> None:
    assert read({"acked": 0, "pause_ms": 1500}).pause_s == 1.5
    assert read({"acked": 0, "pause_ms": 1e300}).pause_s == 300.0
