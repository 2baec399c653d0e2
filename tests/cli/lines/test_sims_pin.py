"""`momo lines pin`: the PIN is sent to the daemon and never printed, and the output names the next step."""

from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok


def kept(wants: str | None) -> dict[str, object]:
    return {"device_id": samples.DEVICE, "device_name": "zte-front", "slot_index": 0, "wants": wants}


@pytest.mark.parametrize(
    ("wants", "said"),
    [
        ("SIM PIN", "It is tried now, once."),
        (None, "It is tried once, when the SIM asks for it."),
        ("SIM PUK", "The SIM asks for its SIM PUK first: unblock it in a phone."),
    ],
)
def test_the_pin_is_sent_and_not_shown(wants: str | None, said: str, api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "pin"
    file.write_text("4321\n")
    api.on("POST", wire.Path.LOCAL_SIM_PIN, ok(kept(wants)))
    ran = momo("lines", "pin", "zte-front:0", "--pin-file", str(file), "-o", "table")
    assert ran.code == 0
    assert said in ran.out
    assert "4321" not in ran.out + ran.err
    assert "next:  momo phones status" in ran.err


@pytest.mark.parametrize("pin", ["123", "123456789", "12a4", ""])
def test_what_is_no_pin_is_not_sent(pin: str, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "pin"
    file.write_text(pin)
    ran = momo("lines", "pin", "zte-front:0", "--pin-file", str(file))
    assert ran.code == 2
    assert "a PIN is 4 to 8 digits" in ran.err
