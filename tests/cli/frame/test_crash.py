"""Crash reports of the command line contain no personal data."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path as File

import pytest

from daemon.wire import Path
from momo_cli.frame import run
from tests.cli import samples
from tests.cli.conftest import NOW, Momo, Shop
from tests.fakes.fake_api import FakeApi, ok


@pytest.mark.parametrize("flags", [(), ("--debug",)])
def test_fault_whose_text_names_a_customer_tells_nobody_of_them(
    flags: tuple[str, ...], shop: Shop, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("invalid literal: 'Kofi Antwi' 0244123456 svc_live_sk_abcdef012345")

    monkeypatch.setattr("momo_cli.commands.lines.lines._look", fail)
    ran = momo("lines", *flags)
    (note,) = (shop.home / "state" / "crash").iterdir()
    told = f"{note.read_text()}{ran.err}{ran.out}"
    assert (ran.code, ran.err.count("momo doctor --bundle")) == (1, 1)
    assert "ValueError: invalid literal" in note.read_text()
    for private in ("Kofi", "Antwi", "244123456", "abcdef012345"):
        assert private not in told


def test_old_ones_make_room(tmp_path: File) -> None:
    for hour in range(run.KEPT + 2):
        run.write_crash_file(str(tmp_path), "it broke", NOW + timedelta(hours=hour))
    kept = sorted(path.name for path in (tmp_path / "crash").iterdir())
    assert (len(kept), kept[0][:11]) == (run.KEPT, f"{NOW + timedelta(hours=2):%Y%m%dT%H}")


@pytest.mark.skipif(not File("/dev/full").exists(), reason="this machine has no /dev/full")
@pytest.mark.parametrize(
    "argv",
    [
        ("tx", "list", "--sandbox"),
        ("tx", "list", "--json"),
        ("data", "export", "transactions"),
        ("tx", "show", "--json", "-q"),  # the failure is one document on stdout
        ("--help",),
    ],
)
def test_output_that_cannot_be_written_is_one_line_and_no_defect(
    argv: tuple[str, ...], shop: Shop, api: FakeApi
) -> None:
    many = [samples.PAID] * 300  # more than one buffer
    api.on("GET", Path.TRANSACTIONS, ok(many, pagination=samples.PAGE))
    api.on("GET", Path.LOCAL_EXPORT.format(what="transactions"), ok(many))
    command = [sys.executable, "-m", "momo_cli", *argv]
    with File("/dev/full").open("w") as full:
        ran = subprocess.run(command, env=shop.environ, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "the output could not be written (No space left on device); what the command changed stays"
    assert (ran.returncode, ran.stderr) == (1, f"error: {said}\n")
    assert not (shop.home / "state" / "crash").exists()
