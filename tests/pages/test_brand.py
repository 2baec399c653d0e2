"""The shop's logo and colour: accepted values, and a readable contrast for every colour."""

import re
from pathlib import Path

import pytest

from daemon.pages.assets import CONTRAST_MIN, Colour, colour_style, contrast, logo_address
from daemon.runtime.config import LOGO_BYTES_MAX
from daemon.runtime.config_file import ConfigError, load_config
from tests.fakes.each import each

PNG = b"\x89PNG\r\n\x1a\n"


def parsed(colour: str) -> Colour:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


@each("level", range(0, 256, 15))
@each("hue", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (1, 1, 1)])
def test_any_colour_becomes_one_that_can_be_read_in_light_and_dark(level: int, hue: Colour) -> None:
    style = colour_style("#{:02x}{:02x}{:02x}".format(*(part * level for part in hue)))
    light, dark = (dict(re.findall(r"--(\w+):(#\w+)", part)) for part in style.split("@media"))
    for main, tint, ground in ((light["main"], light["tint"], "#f1f4f2"), (dark["main"], dark["tint"], "#111815")):
        assert contrast(parsed(main), parsed(ground)) >= CONTRAST_MIN
        assert contrast(parsed(main), parsed(tint)) >= CONTRAST_MIN
    assert contrast(parsed(light["main"]), (255, 255, 255)) >= CONTRAST_MIN
    assert contrast(parsed(dark["main"]), parsed(dark["onmain"])) >= CONTRAST_MIN


def test_without_a_colour_the_page_keeps_its_own() -> None:
    assert colour_style("") == ""


def test_a_logo_is_part_of_the_page_and_one_that_has_gone_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "logo.png"
    assert logo_address(str(file)) == ""
    file.write_bytes(PNG)
    assert logo_address(str(file)) == "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("setting", "content", "why"),
    [
        ('colour = "red"', b"", "six hex digits"),
        ('logo = "logo.png"', b"", "path from the root"),
        ('logo = "FILE"', b"<html>", "PNG, JPEG, WebP or SVG"),
        ('logo = "FILE"', PNG + b"x" * LOGO_BYTES_MAX, "at most 6000 bytes"),
    ],
)
def test_a_logo_or_colour_that_cannot_be_shown_is_refused_with_the_reason(
    tmp_path: Path, setting: str, content: bytes, why: str
) -> None:
    (tmp_path / "logo").write_bytes(content)
    file = tmp_path / "config.toml"
    file.write_text(f"[pages]\n{setting.replace('FILE', str(tmp_path / 'logo'))}\n")
    with pytest.raises(ConfigError, match=why):
        load_config(str(file), {"MOMO_HOME": str(tmp_path)})
