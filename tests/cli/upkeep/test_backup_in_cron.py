"""`momo backup` in a crontab: silent after a success, two lines of output when an operator must act."""

from typing import Any

import pytest

from momo_cli.service.daemon_program import VerbResult
from tests.cli.conftest import Momo

COPY: dict[str, Any] = {
    "id": "20261120T020000Z", "path": "/c.db", "bytes": 1, "shop": "Ama", "rows": {}, "findings": [],
}  # fmt: skip
FAILED = {"status": "failed", "path": None, "why": "the disk of /media/stick is full"}
AWAY = {"status": "away", "path": None, "why": "/media/stick is not there"}


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({}, 0, ""),
        ({"also": AWAY}, 0, ""),
        (
            {"also": FAILED},
            6,
            (
                "error: This backup is not in the second place: the disk of /media/stick is full\n"
                "next:  momo doctor backup\n"
            ),
        ),
        (
            {"findings": ["counts.kept: 1 is wrong"]},
            6,
            "error: counts.kept: 1 is wrong\nnext:  momo doctor ledger\n",
        ),
    ],
)
def test_nightly_copy_says_nothing_unless_a_person_must_look(
    more: dict[str, Any], code: int, said: str, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = VerbResult(code, "{}", {"data": {**COPY, **more}})
    monkeypatch.setattr("momo_cli.commands.upkeep.data.run_verb", lambda *_args, **_named: done)
    ran = momo("backup", "create", "--quiet")
    assert (ran.code, ran.out, ran.err) == (code, "", said)


def test_thinning_out_says_nothing(momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    done = VerbResult(0, "{}", {"data": {"removed": ["a"], "kept": ["b"]}})
    monkeypatch.setattr("momo_cli.commands.upkeep.data.run_verb", lambda *_args, **_named: done)
    ran = momo("backup", "prune", "--quiet", "--yes")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
