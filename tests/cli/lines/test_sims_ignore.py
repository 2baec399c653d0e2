"""SIMs that are not for payments, and the name on a number."""

import pytest

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

SIM = Path.SIM.format(device_id=samples.DEVICE, slot_index=0)
METHOD = Path.PAYMENT_METHOD.format(id=samples.METHOD)


@pytest.fixture
def plugged(api: FakeApi) -> FakeApi:
    api.on("GET", Path.SIMS, ok(samples.SIMS))
    api.on("PATCH", SIM, ok(samples.IGNORED_SIM))
    api.on("PATCH", METHOD, ok(samples.METHOD_ROW))
    return api


@pytest.mark.parametrize(
    ("flags", "ignored", "said"),
    [
        ((), True, "✓ zte-front:0 is set aside."),
        (("--undo",), False, "✓ zte-front:0 is for payments again."),
    ],
)
def test_a_sim_is_set_aside_and_taken_back(
    flags: tuple[str, ...], ignored: bool, said: str, plugged: FakeApi, momo: Momo
) -> None:
    ran = momo("lines", "ignore", "zte-front:0", *flags, "-o", "table")
    assert (ran.code, ran.out.splitlines()[0]) == (0, said)
    assert plugged.asked[-1].body == {"ignored": ignored}


def test_an_ignored_sim_is_shown_as_such_and_no_number_is_offered_for_it(
    plugged: FakeApi, momo: Momo
) -> None:
    ignored = {**samples.SIMS[0]["sims"][0], "ignored": True}
    plugged.on("GET", Path.SIMS, ok([{**samples.SIMS[0], "sims": [ignored]}]))
    plugged.on("GET", Path.LOCAL_MODEMS, ok([]))
    ran = momo("phones", "list", "-o", "table")
    assert "ignored" in ran.out
    assert "lines update" not in ran.err


def test_the_name_on_a_number_is_changed_and_its_sim_is_not(plugged: FakeApi, momo: Momo) -> None:
    ran = momo("lines", "update", samples.METHOD, "--name", "Ama Ventures", "-o", "table")
    assert (ran.code, ran.out.startswith("✓ Changed 024 412 4567")) == (0, True)
    assert plugged.asked[-1].body == {"account_name": "Ama Ventures"}
    both = momo("lines", "update", samples.METHOD, "--name", "Ama", "--sim", "none")
    assert both.code == 0
    assert plugged.asked[-1].body == {"account_name": "Ama", "sim": None}


def test_an_update_of_nothing_is_a_usage_error(plugged: FakeApi, momo: Momo) -> None:
    ran = momo("lines", "update", samples.METHOD)
    assert (ran.code, "give --sim, --name or --phone" in ran.err) == (2, True)
