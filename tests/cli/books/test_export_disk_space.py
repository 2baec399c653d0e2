"""An export stops before it fills the disk that payments need."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok


@pytest.mark.parametrize(("free_mb", "code"), [(99, 2), (100, 0)])
def test_a_file_on_the_tight_disk_of_the_shop_is_refused(
    free_mb: int,
    code: int,
    api: FakeApi,
    momo: Momo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api.on("GET", "/local/v1/export/payments", ok([], meta={"next": None}))
    room = SimpleNamespace(f_bavail=free_mb, f_frsize=1_000_000)
    monkeypatch.setattr("momo_cli.commands.books.export.os.statvfs", lambda _folder: room)
    file = tmp_path / "payments.csv"
    ran = momo("data", "export", "payments", "-O", str(file))
    assert (ran.code, file.exists()) == (code, code == 0)
    assert ("has 99 MB left, which are reserved for payments" in ran.err) is (code == 2)
    assert len(api.asked) == (0 if code else 1)
