"""A setting that acts at once is read at each use: what keeps its value from the start would act by halves."""

import ast
import re
from pathlib import Path

from daemon.runtime.config import Config, all_rows, merged, value_of
from daemon.runtime.config_file import parse_config
from tests.house.markdown import ROOT

KEPT_FOR_ONE_CALL = {
    # Made anew for each visitor, and the pictures and words when the settings that they are made of change.
    "daemon/pages/render.py": "pages.",
}
AT_START = {"daemon/app.py", "daemon/open_shop.py"}


def _made_once(path: Path, name: str) -> list[str]:
    """Return the code of a module that runs once for many calls: its constructors, and all of what composes the daemon."""
    if name in AT_START:
        return [path.read_text()]
    found = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
    ]
    return [ast.unparse(node) for node in found if node.name == "__init__"]


def _kept() -> set[tuple[str, str]]:
    live = [row for row in all_rows().values() if row.setting.live]
    found = set()
    for path in sorted((ROOT / "daemon").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for code in _made_once(path, name):
            for row in live:
                section = re.search(rf"\bconfig\.{row.section}\b", code)
                if section and re.search(rf"\.{row.field}\b", code):
                    found.add((name, row.key))
    return found


def test_no_constructor_keeps_a_setting_that_acts_at_once() -> None:
    kept = _kept()
    assert {name for name, key in kept if key.startswith(KEPT_FOR_ONE_CALL.get(name, "-"))} == set(
        KEPT_FOR_ONE_CALL
    ), "the check finds what it looks for"
    assert [
        each for each in sorted(kept) if not each[1].startswith(KEPT_FOR_ONE_CALL.get(each[0], "-"))
    ] == []


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
