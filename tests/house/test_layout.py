"""The layout of the packages, where import-linter does not check it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("momo_cli", "daemon", "parsers")
MODULES_MAX = 20
LOOSE_MODULES_MAX = 6
TESTED = {"cli": ("momo_cli", "momo_cli/commands"), "daemon": ("daemon",), "parsers": ("parsers",)}
"""The packages of folders of tests that are not named after a package of the daemon."""
NO_PACKAGE = {"acceptance", "corpus", "examples", "fakes", "house", "phones", "simulation"}


def contract(name: str) -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = [one for one in settings["tool"]["importlinter"]["contracts"] if one["id"] == name]
    assert len(found) == 1
    return dict(found[0])


def folders(package: str) -> set[Path]:
    return {path.parent for path in (ROOT / package).rglob("*.py")}


def modules(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.py")} - {"__init__"}


def members_of_daemon() -> set[str]:
    folder = ROOT / "daemon"
    return {f"daemon.{name}" for name in modules(folder) | {path.parent.name for path in folder.glob("*/*.py")}}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_is_a_package_with_an_empty_init(package: str) -> None:
    # That of the sender keeps httpx from loading its command-line program, before any module can import httpx.
    for folder in folders(package) - {ROOT / "daemon/sender"}:
        assert (folder / "__init__.py").read_text() == "", folder


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_has_at_most_twenty_modules(package: str) -> None:
    counts = {str(folder): len(modules(folder)) for folder in folders(package)}
    assert {name: count for name, count in counts.items() if count > MODULES_MAX} == {}


def test_the_daemon_has_at_most_six_loose_modules() -> None:
    assert len(modules(ROOT / "daemon")) <= LOOSE_MODULES_MAX


def test_folders_of_tests_follow_the_packages() -> None:
    for folder in folders("tests") - {ROOT / "tests"}:
        top, *rest = folder.relative_to(ROOT / "tests").parts
        if top in NO_PACKAGE:
            continue
        tested = TESTED.get(top, (f"daemon/{top}",))
        assert any(ROOT.joinpath(each, *rest).is_dir() for each in tested), folder


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("cli-sees-wire", {"daemon.wire", "daemon.error_table"}),
        ("database", {"daemon.store"}),
        ("http-client", {"daemon.sender"}),
        ("serial-port", {"daemon.modem"}),
    ],
)
def test_a_contract_covers_all_of_the_daemon_but_those_allowed(name: str, allowed: set[str]) -> None:
    listed = contract(name)["forbidden_modules" if name == "cli-sees-wire" else "source_modules"]
    assert members_of_daemon() - set(listed) == allowed


@pytest.mark.parametrize(
    ("folder", "impure"),
    [("modem", {"port", "discovery", "hilink", "modem_manager"}), ("emulator", {"port", "__main__"})],
)
def test_only_the_modules_with_ports_are_not_pure(folder: str, impure: set[str]) -> None:
    pure = contract("pure")["source_modules"]
    assert {name for name in modules(ROOT / "daemon" / folder) if f"daemon.{folder}.{name}" not in pure} == impure
