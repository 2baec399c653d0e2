"""Crash reports of the command line contain no personal data."""

from datetime import timedelta
from pathlib import Path

import pytest

from momo_cli.frame import run
from tests.cli.conftest import NOW, Momo, Shop


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


def test_old_ones_make_room(tmp_path: Path) -> None:
    for hour in range(run.KEPT + 2):
        run.write_crash_file(str(tmp_path), "it broke", NOW + timedelta(hours=hour))
    kept = sorted(path.name for path in (tmp_path / "crash").iterdir())
    assert (len(kept), kept[0][:11]) == (run.KEPT, f"{NOW + timedelta(hours=2):%Y%m%dT%H}")
