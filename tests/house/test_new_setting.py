"""A new setting is one row, and its words in another language: everything else follows from the row.

The row is added to a copy of the program, and a shop of the copy is asked.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.runtime.config import Config, all_rows, merged, value_of
from daemon.runtime.config_file import parse_config
from tests.house.markdown import ROOT

ROW = """    paper_mm: Annotated[int, Setting("width of the paper in millimetres", _between(40, 210))] = 58
"""
BEFORE = """    menu_mtn: Annotated["""
FRENCH = """  "setting_pages_paper_mm": "largeur du papier en millimètres",
"""

INSIDE = """
import json, os, sys
from daemon import wire
from daemon.core.access.callers import ALLOWED
from daemon.dash.web.words import load
from daemon.flows.upkeep.settings import may_change
from daemon.runtime import config_file
from daemon.runtime.config import Config, merged
from daemon.runtime.config_file import parse_config
from tests.house.doc_tables import TABLES

key, home = "pages.paper_mm", sys.argv[1]
row = config_file.find_row(key)
new = parse_config("[pages]\\npaper_mm = 80\\n")
print(json.dumps({
    "read": new.pages.paper_mm,
    "documented": [line for line in TABLES["settings pages"]().splitlines() if "paper_mm" in line],
    "english": load("en")[row.word],
    "french": load("fr")[row.word],
    "changed by": sorted(ALLOWED[may_change(row)]),
    "by the hub": row.setting.hub,
    "waits": merged(Config(), new)[1],
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the program with one more row, in two changed files."""
    copy = tmp_path_factory.mktemp("copy")
    unneeded = shutil.ignore_patterns("__pycache__", "*.svg", "*.png")
    for name in ("daemon", "momo_cli", "parsers", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=unneeded)
    for path, before, more in (
        ("daemon/runtime/config.py", BEFORE, ROW),
        ("daemon/words/fr/dash/settings.json", '  "setting_pages_menu_mtn"', FRENCH),
    ):
        text = (copy / path).read_text()
        assert text.count(before) == 1
        (copy / path).write_text(text.replace(before, more + before))
    return copy


def run(copy: Path, home: Path, *words: str) -> tuple[int, str]:
    environ = {**os.environ, "PYTHONPATH": str(copy), "MOMO_HOME": str(home)}
    done = subprocess.run([sys.executable, *words], cwd=copy, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_new_row_is_read_documented_shown_and_the_owners(copy: Path, tmp_path: Path) -> None:
    code, out = run(copy, tmp_path, "-c", INSIDE, str(tmp_path))
    assert code == 0, out
    assert json.loads(out) == {
        "read": 80,
        "documented": ["| `paper_mm` | `58` | next start | owner | width of the paper in millimetres |"],
        "english": "width of the paper in millimetres",
        "french": "largeur du papier en millimètres",
        "changed by": ["owner"],
        "by the hub": False,
        "waits": ["pages.paper_mm"],
    }


@pytest.mark.slow
def test_a_new_row_is_shown_checked_and_changed_by_the_command(copy: Path, tmp_path: Path) -> None:
    momo = ("-m", "momo_cli", "config")
    assert run(copy, tmp_path, *momo, "set", "pages.paper_mm", "80")[0] == 0
    code, out = run(copy, tmp_path, *momo, "set", "pages.paper_mm", "8")
    assert (code, "paper_mm takes 40 to 210" in out) == (78, True), out
    shown = json.loads(run(copy, tmp_path, *momo, "show", "--json")[1])["data"]
    (row,) = [row for row in shown if row["key"] == "pages.paper_mm"]
    assert (row["value"], row["default"], row["changed_by"]) == (80, 58, "owner")
    assert row["meaning"] == "width of the paper in millimetres"


def test_the_product_has_no_other_list_of_settings() -> None:
    """The name of a setting with a value of its own stands where it is used, and in no list beside the rows."""
    found = [
        str(path.relative_to(ROOT))
        for folder in ("daemon", "momo_cli")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".json", ".html"} and "redirect_hosts" in path.read_text()
    ]
    assert found == ["daemon/pages/render.py", "daemon/runtime/config.py", "daemon/words/fr/dash/settings.json"]


AT_START = {"daemon/app.py", "daemon/open_shop.py"}


def _kept_in(text: str, *, at_start: bool) -> set[str]:
    """Return the settings kept by what runs once for many calls: constructors, and all of what composes the daemon."""
    if not re.search(r"\bconfig\.", text):
        return set()
    tree = ast.parse(text)
    made = (
        [tree]
        if at_start
        else [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    )
    return {
        row.key
        for code in map(ast.unparse, made)
        for row in all_rows().values()
        if row.setting.live and re.search(rf"\bconfig\.{row.section}\b", code) and re.search(rf"\.{row.field}\b", code)
    }


def test_no_constructor_keeps_a_setting_that_acts_at_once() -> None:
    sample = "class Page:\n    def __init__(self, env):\n        self.text = env.config.pages.contact"
    assert _kept_in(sample, at_start=False) == {"pages.contact"}, "the check finds what it looks for"
    for path in sorted((ROOT / "daemon").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        assert _kept_in(path.read_text(), at_start=name in AT_START) == set(), name


def test_only_what_acts_at_once_is_taken_over() -> None:
    text = '[http]\nbind = "127.0.0.1:1"\n[trust]\nbalance_check = "warn"\n[pages]\nper_min = 1\ncontact = "x"\n'
    new = parse_config(text)
    running, waiting = merged(Config(), new)
    assert waiting == ("http.bind", "pages.per_min")
    for key, row in all_rows().items():
        wanted = new if row.setting.live else Config()
        assert value_of(running, row) == value_of(wanted, row), key
    assert merged(running, new) == (running, waiting)


def test_the_guard_of_webhook_addresses_never_acts_by_halves() -> None:
    """Addresses are checked when they are saved and when they are called, by two parts of the daemon."""
    for key in ("allow_private_hosts", "allow_private_cidrs", "ca_file", "timeout_s"):
        assert not all_rows()[f"webhooks.{key}"].setting.live
