"""The house has no room without a floor."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.house.markdown import blocks

ROOT = Path(__file__).parents[2]
PACKAGES = ("momo_cli", "daemon", "privacy", "parsers")


def contract(name: str) -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = [one for one in settings["tool"]["importlinter"]["contracts"] if one["id"] == name]
    assert len(found) == 1
    return dict(found[0])


def rooms() -> set[str]:
    """Every module and folder right under `daemon`."""
    files = {path.stem for path in (ROOT / "daemon").glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in (ROOT / "daemon").glob("*/*.py")}
    return files | folders


def test_every_room_of_the_daemon_has_a_floor_and_every_floor_a_room() -> None:
    floors = {room.strip() for layer in contract("floors")["layers"] for room in layer.split("|")}
    assert floors == rooms()
    assert contract("floors")["exhaustive"]


def test_the_map_shows_the_floors_as_they_are() -> None:
    drawn = blocks((ROOT / "docs/architecture.md").read_text())[0].text
    path = re.search(r"__main__ ->.*-> wire", drawn, re.DOTALL)
    assert path
    floors = [set(re.findall(r"\w+", floor)) for floor in path[0].split("->")]
    assert floors == [
        {room.strip() for room in layer.split("|")} for layer in contract("floors")["layers"]
    ]


def test_the_map_says_of_every_room_what_lives_there() -> None:
    rows = re.findall(r"^\| (`.+?) \|", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    told = {
        name.strip("/").removesuffix(".py")
        for row in rows
        for name in re.findall(r"`([\w/]+(?:\.py)?/?)`", row)
    }
    named = {name.removeprefix("daemon/") for name in told}
    assert rooms() - named == set()
    folders = {
        path.parent.relative_to(ROOT)
        for package in ("momo_cli", "privacy", "parsers")
        for path in (ROOT / package).rglob("*.py")
    }
    assert {str(path) for path in folders} - told <= {"momo_cli"}, "its files are rows of their own"


def test_command_line_may_see_one_room_of_the_daemon() -> None:
    hidden = {name.removeprefix("daemon.") for name in contract("window")["forbidden_modules"]}
    assert rooms() - hidden == {"wire"}


def test_codecs_of_the_modem_are_pure_and_its_ports_are_the_exception() -> None:
    pure = {name for name in contract("pure")["source_modules"] if name.startswith("daemon.modem.")}
    files = {f"daemon.modem.{path.stem}" for path in (ROOT / "daemon/modem").glob("[!_]*.py")}
    ports = {"port", "port_holders", "discovery", "usb", "emulated_port", "emulated_pty"}
    assert files - pure == {f"daemon.modem.{name}" for name in ports}


def test_every_folder_with_modules_is_a_package_with_an_empty_init() -> None:
    for package in PACKAGES:
        for folder in {path.parent for path in (ROOT / package).rglob("*.py")}:
            init = folder / "__init__.py"
            assert init.is_file(), folder
            # The table of commands is the one exception: help reads it, and it imports nothing.
            if folder != ROOT / "momo_cli/commands":
                assert init.read_text() == "", init


def test_every_folder_of_tests_is_named_after_what_it_tests() -> None:
    known = {path.name for package in PACKAGES for path in (ROOT / package).iterdir()}
    own = {
        "cli",
        "core",
        "daemon",
        "parsers",
        "privacy",
        "acceptance",
        "house",
        "fakes",
        "corpus",
        "examples",
        "simulation",
    }
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*.py")}
    assert folders <= known | own


def docstring(text: str) -> str:
    """Return what a file says of itself; nothing is left out but its line ends."""
    return " ".join((ast.get_docstring(ast.parse(text)) or "").split())


@pytest.mark.parametrize("package", PACKAGES)
def test_long_file_says_why_it_is_long(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        text = path.read_text()
        if text.count("\n") > 300:
            assert re.search(r"lines|table|length|longer", docstring(text).lower()), path


def test_long_file_of_tests_says_why_it_is_long() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text()
        if text.count("\n") > 300:
            assert re.search(r"[Ll]onger than 300 lines,? because ", docstring(text)), path


def test_names_of_tests_are_sentences() -> None:
    short = [
        f"{path.name}: {node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and node.name.count("_") < 4
    ]
    assert short == [], "say who does what, in four words at least"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_is_longer_than_sixty_lines(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                last = node.end_lineno or node.lineno
                assert last - node.lineno < 60, f"{path}: {node.name}"


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_a_type_that_is_not_checked_says_which_rule_and_why(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        for line in path.read_text().splitlines():
            off = re.search(r"#\stype: ignore(.*)", line)
            assert off is None or re.match(r"\[[a-z, -]+\]\s+(#|--) \w", off[1]), f"{path}: {line}"


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_a_lint_that_is_switched_off_says_why(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        for line in path.read_text().splitlines():
            off = re.search(r"#\snoqa(.*)", line)
            assert off is None or re.match(r": [A-Z0-9, ]+\W+\w", off[1]), f"{path}: {line.strip()}"
