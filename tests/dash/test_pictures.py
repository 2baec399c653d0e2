"""The pictures of docs/shop/dashboard.md show the dashboard as it is."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.fakes.browser import needs_browser
from tests.house import dash_pictures
from tests.house.dash_pictures import FOLDER, MADE_WITH, PICTURES, TOLERANCE, difference, draw
from tests.house.markdown import ROOT


def test_each_picture_is_there_once_and_is_shown() -> None:
    names = [f"{name}.png" for name, *_ in PICTURES]
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted([*names, MADE_WITH])
    document = (ROOT / "docs/shop/dashboard.md").read_text("utf-8")
    assert [name for name in names if f"(../img/dash/{name})" not in document] == []


@needs_browser
@pytest.mark.timeout(300)
async def test_each_picture_is_the_page_as_it_is_drawn_now(browser: Browser, tmp_path: Path) -> None:
    """After a change of a page: look at it, then `make dash-pictures`."""
    recorded = json.loads((FOLDER / MADE_WITH).read_text("utf-8"))
    here = dash_pictures.made_with(browser)
    if here != recorded:
        pytest.skip(f"the pictures were taken with {recorded}, and this machine has {here}")
    await draw(browser, tmp_path / "shop", tmp_path / "now")
    drawn = {
        name: await difference(browser, FOLDER / f"{name}.png", tmp_path / f"now/{name}.png") for name, *_ in PICTURES
    }
    assert {name: share for name, share in drawn.items() if share > TOLERANCE} == {}


@needs_browser
async def test_a_picture_with_another_number_is_another_picture(browser: Browser) -> None:
    till, code = FOLDER / "till.png", FOLDER / "till-code.png"
    assert await difference(browser, till, till) == 0
    assert await difference(browser, till, code) > TOLERANCE
    assert await difference(browser, till, FOLDER / "now.png") == 1
