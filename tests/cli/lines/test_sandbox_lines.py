"""The commands about lines with `--sandbox`: they see the simulated phones, and their hints work when typed."""

import pytest

from daemon.wire import MODE_HEADER, Path
from momo_cli.flags import lift
from momo_cli.frame.command_table import COMMANDS
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

SIM = Path.SIM.format(device_id=samples.DEVICE, slot_index=0)
SIMULATED = [{**samples.SIMS[0], "name": "simulated-mtn"}]
NUMBER = ("0244000001", "--provider", "mtn", "--name", "Practice")


def _is_test(asked: Asked) -> bool:
    return asked.headers.get(MODE_HEADER.lower()) == "test"


@pytest.fixture
def practice(api: FakeApi) -> FakeApi:
    """A shop whose only phones are simulated ones."""
    missing = refusal(404, "DEVICE_NOT_FOUND")
    api.on("GET", Path.SIMS, lambda asked: ok(SIMULATED if _is_test(asked) else []))
    api.on("PATCH", SIM, lambda asked: ok(samples.IGNORED_SIM) if _is_test(asked) else missing)
    api.on(
        "POST",
        Path.PAYMENT_METHODS,
        lambda asked: Says(ok(samples.METHOD_ROW).body, 201) if _is_test(asked) else missing,
    )
    return api


@pytest.mark.parametrize(
    "argv", [("lines", "ignore", "simulated-mtn:0"), ("lines", "add", *NUMBER, "--sim", "simulated-mtn:0")]
)
def test_a_simulated_phone_is_reached_with_the_flag_and_named_without_it(
    argv: tuple[str, ...], practice: FakeApi, momo: Momo
) -> None:
    assert momo(*argv, "--sandbox").code == 0
    without = momo(*argv)
    assert without.code == 3
    assert "is a phone of the sandbox: repeat the command with --sandbox" in without.err
    assert "next:  momo phones list --sandbox" in without.err


def test_a_refused_sandbox_endpoint_suggests_commands_of_the_sandbox(api: FakeApi, momo: Momo) -> None:
    bare = [{"device_id": samples.DEVICE, "name": "simulated-mtn", "slot_index": 0}]
    api.on("POST", Path.ENDPOINTS, refusal(409, "LINES_NOT_READY", sims_without_number=bare))
    argv = ("endpoints", "add", "https://test.shop.example/hook")
    assert momo(*argv, "--sandbox", "--json").json["error"]["next"] == [
        "momo lines --sandbox",
        "momo lines list --sandbox",
        "momo lines ignore simulated-mtn:0 --sandbox",
    ]
    assert momo(*argv, "--json").json["error"]["next"][2] == "momo lines ignore simulated-mtn:0"


def test_a_change_in_the_sandbox_suggests_commands_of_the_sandbox(practice: FakeApi, momo: Momo) -> None:
    argv = ("lines", "ignore", "simulated-mtn:0", "--sandbox", "-o", "table")
    assert "next:  momo lines ignore simulated-mtn:0 --undo --sandbox" in momo(*argv).err


def test_a_shop_with_simulated_phones_alone_is_told_how_to_list_them(practice: FakeApi, momo: Momo) -> None:
    practice.on("GET", Path.LOCAL_MODEMS, ok([{"name": "simulated-mtn", "simulated": True}]))
    assert "next:  momo phones list --sandbox" in momo("phones", "list", "-o", "table").err
    assert "simulated-mtn" in momo("phones", "list", "--sandbox").out


def test_the_lines_of_a_shop_with_simulated_phones_alone_say_so(practice: FakeApi, momo: Momo) -> None:
    simulated = {"name": "simulated-mtn", "simulated": True, "state": "ready"}
    practice.on("GET", Path.LOCAL_MODEMS, ok([simulated]))
    practice.on("GET", Path.LINES, ok({"ready": True, "unplaced_payments": 0, "phones": []}))
    said = momo("lines", "-o", "table").err
    assert said.startswith("Only simulated phones, for the sandbox: no real payment is seen.\n")
    assert said.endswith("next:  momo lines --sandbox\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_the_flag(name: str) -> None:
    flags, words = lift([*name.split(), "--sandbox"], {})
    assert (flags.sandbox, words) == (True, name.split())
