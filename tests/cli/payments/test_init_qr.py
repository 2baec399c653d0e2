"""The QR code that `momo init --qr` draws."""

from dataclasses import replace

import segno

from daemon import wire
from momo_cli.flags import Flags
from momo_cli.show.terminal import open_terminal
from momo_cli.show.words import drawn
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

URL = "https://pay.example/pay/Xb3"
HALVES = {"█": "##", "▀": "# ", "▄": " #", " ": "  "}


def test_screen_shows_every_module(shop: Shop) -> None:
    terminal = open_terminal(Flags(), {**shop.environ})
    code = segno.make(URL, error="l", micro=False)
    wanted = ["".join(" " if m else "#" for m in row) for row in code.matrix_iter(border=2)]
    ascii_lines = drawn(URL, replace(terminal, symbols=False))
    assert ascii_lines == ["".join(2 * c for c in row) for row in wanted]
    halves = drawn(URL, replace(terminal, symbols=True))
    seen = ["".join(HALVES[c][part] for c in line) for line in halves for part in (0, 1)]
    assert seen[: len(wanted)] == wanted
    coloured = drawn(URL, replace(terminal, symbols=True, color=True))
    assert coloured == [f"\x1b[97;40m{line}\x1b[0m" for line in halves]


def test_init_draws_the_page_under_its_lines(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, ok(samples.CREATED))
    argv = ("init", "12.50", "--phone", "0244124567", "-o", "table")
    plain = momo(*argv).out.splitlines()
    with_code = momo(*argv, "--qr").out.splitlines()
    assert [line for line in with_code if line in plain] == plain
    assert any("█▄" in line for line in with_code)
