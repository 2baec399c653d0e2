"""`--branch NAME`: a name that no branch has is refused; it is no empty list and no sheet without money."""

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

COMMANDS = [["today"], ["report", "--yesterday"], ["tx", "list"], ["review", "list"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistyped_branch_is_not_found(command: list[str], api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, ok([samples.BRANCH]))
    ran = momo(*command, "--branch", "kumsi")
    assert (ran.code, ran.out) == (3, "")
    assert [line.strip() for line in ran.err.splitlines()] == [
        "error: there is no branch 'kumsi'; did you mean 'kumasi'?  [BRANCH_NOT_FOUND]",
        "next:  momo hub status",
    ]
    assert [one.path for one in api.asked] == [wire.Path.LOCAL_HUB]
    assert "; the branches are: kumasi" in momo(*command, "--branch", "zzz").err


def test_a_script_gets_the_code_of_a_branch_that_is_not_there(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, ok([]))
    ran = momo("today", "--branch", "kumasi", "--json")
    assert (ran.json["error"]["code"], ran.json["exit_code"]) == ("BRANCH_NOT_FOUND", 3)
    assert "no branch has joined yet" in ran.json["error"]["message"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shop_that_is_no_hub_has_no_branches(
    command: list[str], api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, refusal(409, "NOT_A_HUB"))
    ran = momo(*command, "--branch", "kumasi")
    assert (ran.code, ran.out) == (5, "")
    assert "this shop is not a hub and has no branches: leave --branch out" in ran.err
