"""The pictures in the documents show the program's output and load nothing."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.house import figures, pictures
from tests.house.markdown import DOCUMENTS, links


@pytest.mark.parametrize("name", ["demo", *pictures.PICTURES])
def test_each_picture_is_there_is_shown_and_loads_nothing(name: str) -> None:
    path = pictures.FOLDER / f"{name}.svg"
    text = path.read_text()
    ET.fromstring(text)
    assert f"momo&#160;{name}" in text or f">momo {name}<" in text
    assert not re.search(r"url\((?!#)|href=|@import|<script", text)
    shown = {(one.parent / link).resolve() for one in DOCUMENTS for link in links(one.read_text())}
    assert path in shown


@pytest.mark.parametrize("name", ["demo", *pictures.PICTURES])
def test_each_character_of_a_screen_has_its_place_in_every_viewer(name: str) -> None:
    # Viewers that ignore textLength would move the columns.
    text = (pictures.FOLDER / f"{name}.svg").read_text()
    assert "textLength" not in text
    lines = [one for one in ET.fromstring(text).iter() if one.get("clip-path", "").count("-line-")]
    written = [one for one in lines if one.tag.endswith("text")]
    assert len(written) > 3
    for one in written:
        places = [float(place) for place in one.get("x", "").split(" ")]
        assert len(places) == len(one.text or "")
        assert places == sorted(places)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_each_figure_is_as_its_list_draws_it_and_is_shown(name: str) -> None:
    path = figures.FOLDER / f"{name}.svg"
    title, screens = figures.FIGURES[name]
    text = path.read_text()
    assert text == figures.svg(title, screens), "make picture"
    assert not re.search(r"url\(|href=|@import|<script|textLength", text)
    shown = {(one.parent / link).resolve() for one in DOCUMENTS for link in links(one.read_text())}
    assert path in shown
    for screen in screens:
        assert 0 <= screen.press < len(screen.rows)
        assert screen.caption


@pytest.mark.parametrize("name", figures.FIGURES)
def test_each_line_of_a_figure_fits_into_its_place(name: str) -> None:
    """A letter of Helvetica is about half as wide as high."""
    for screen in figures.FIGURES[name][1]:
        assert all(len(line) * 5.8 <= 168 for line in screen.caption), screen.caption
        assert len(screen.title) * 7.4 <= 176, screen.title
        for row in screen.rows:
            title, _, value = row.partition("|")
            assert len(title) * 5.8 <= 168, row
            assert len(value) * 4.7 <= 160, row


def test_last_screen_of_a_terminal_is_what_a_picture_shows() -> None:
    said = "\x1b[?1049h\x1b[?25l\x1b[Hold\r\n\x1b[H\x1b[32mnew\x1b[0m\x1b[K\r\nline\x1b[?25h\x1b[?1049l"
    assert pictures.last_screen(said) == "\x1b[32mnew\x1b[0m\nline"
    assert pictures.last_screen("printed\r\n") == "printed"


@pytest.mark.slow
def test_pictures_can_be_drawn_again_from_a_real_run(tmp_path: Path) -> None:
    pictures.draw(tmp_path)
    shown = {
        name: " ".join((tmp_path / f"{name}.svg").read_text().replace("&#160;", " ").split())
        for name in pictures.PICTURES
    }
    assert "every SIM has a number" in shown["lines"]
    assert "wallet says 190.00" in shown["today"]
    assert "SELASI KONADU NARH" in shown["watch"]
