"""A setting that acts at once is read at each use: what keeps its value from the start would act by halves."""

import ast
import re

from daemon.runtime.config import Config, all_rows, merged, value_of
from daemon.runtime.config_file import parse_config
from tests.house.markdown import ROOT

AT_START = {"daemon/app.py", "daemon/open_shop.py"}


def _kept_in(text: str, *, at_start: bool) -> set[str]:
    """Return the settings kept by what runs once for many calls: constructors, and all of what composes the daemon."""
    tree = ast.parse(text)
    made = (
        [tree]
        if at_start
        else [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ]
    )
    return {
        row.key
        for code in map(ast.unparse, made)
        for row in all_rows().values()
        if row.setting.live
        and re.search(rf"\bconfig\.{row.section}\b", code)
        and re.search(rf"\.{row.field}\b", code)
    }


def test_no_constructor_keeps_a_setting_that_acts_at_once() -> None:
    sample = (
        "class Page:\n    def __init__(self, env):\n        self.text = env.config.pages.contact"
    )
    assert _kept_in(sample, at_start=False) == {"pages.contact"}, (
        "the check finds what it looks for"
    )
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
