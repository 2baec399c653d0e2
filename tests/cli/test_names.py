"""Output for people: names and numbers, an id only where there is nothing else, one line for a row, commands that can be typed."""

import ast
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.cases import CASES, ENDPOINT
from tests.cli.conftest import Momo
from tests.cli.test_errors import NOT_TYPED, PLACEHOLDER, parses
from tests.cli.test_matrix import prepare
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, Says, ok
from tests.house.markdown import ROOT

pytestmark = pytest.mark.usefixtures("sample_folder")
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
OWN_ID = re.compile(r"^\s*(?:id|ID|delivery) +[0-9a-f-]{36}$", re.MULTILINE)
"""The line with the id of the thing itself, which is there to be copied."""
WITHOUT_NAME = re.compile(
    r"momo (?:review|messages|deliveries|dead-letters) (?:show|approve|reject|attempts|redeliver|replay|dismiss) [0-9a-f-]{36}"
)
"""Commands for things that have no name and no number of their own."""
SHOWN = [
    name
    for name in CASES
    if name.split()[-1] in ("list", "show")
    or name in ("lines", "status", "today", "endpoints add", "endpoints test", "endpoints rules add", "endpoints rules remove", "replay")
]  # fmt: skip
LONG = "Nana Akua Owusu-Ansah Frimpong-Boateng"


def shown(name: str, api: FakeApi, momo: Momo, good: Says | None = None) -> str:
    """Return the output of a command on a terminal of 80 columns."""
    case = CASES[name]
    prepare(api, case, good or case.good)
    if case.call != ("GET", wire.Path.ENDPOINTS):
        api.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    api.on("GET", ENDPOINT, case.good if case.call == ("GET", ENDPOINT) else ok(samples.ENDPOINT))
    ran = momo(*case.argv, "-o", "table", COLUMNS="80")
    assert ran.code in {0, 6}, ran.err
    return ran.out + ran.err


@each("name", SHOWN)
def test_no_raw_id_is_shown_where_a_name_or_number_serves(name: str, api: FakeApi, momo: Momo) -> None:
    text = WITHOUT_NAME.sub("", OWN_ID.sub("", shown(name, api, momo)))
    assert UUID.findall(text) == [], text


@each("name", CASES)
def test_every_next_line_can_be_typed_as_it_stands(name: str, api: FakeApi, momo: Momo) -> None:
    for line in next_lines(shown(name, api, momo)):
        command = line.removeprefix("sudo ")
        assert parses(command), line
        assert command in NOT_TYPED or not PLACEHOLDER.search(command), line


def test_every_next_line_of_the_daemons_program_can_be_typed_as_it_stands() -> None:
    found = list(steps_in_the_program())
    assert len(found) > 30
    for place, command in found:
        assert parses(command), place
        assert not PLACEHOLDER.search(command), place


def next_lines(text: str) -> Iterator[str]:
    """Yield the commands below `next:`, as `momo` writes them for people."""
    inside = False
    for line in text.splitlines():
        inside = line.startswith("next:") or (inside and line.startswith("       "))
        if inside:
            yield line.removeprefix("next:").strip()


def steps_in_the_program() -> Iterator[tuple[str, str]]:
    """Yield the constant next step of each error of `daemon`, with its place."""
    for path in sorted((ROOT / "daemon").rglob("*.py")):
        text = path.read_text()
        if "next_step" not in text and "StartError" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            starts = isinstance(node.func, ast.Name) and node.func.id == "StartError"
            steps = [key.value for key in node.keywords if key.arg == "next_step"]
            for step in [*steps, *(node.args[2:3] if starts else ())]:
                if isinstance(step, ast.Constant) and step.value:
                    yield f"{path.name}:{node.lineno}", str(step.value)


def texts_made_long(value: Any, key: str = "") -> Any:
    """Return the answer with long names of people and shops, as they occur."""
    match value:
        case dict():
            return {name: texts_made_long(one, name) for name, one in value.items()}
        case list():
            return [texts_made_long(one, key) for one in value]
        case str() if key in {"payer_name", "name", "account_name", "description"}:
            return LONG
        case _:
            return value


ONE_LINE = ("tx list", "messages list", "review list")
"""The lists that a cashier looks at all day."""


@pytest.mark.parametrize("name", ONE_LINE)
def test_a_row_is_one_line_on_80_columns_also_with_a_long_name(name: str, api: FakeApi, momo: Momo) -> None:
    body = texts_made_long(CASES[name].good.body)
    rows = [{**body["data"][0], "id": str(uuid.UUID(int=n))} for n in range(7)]
    text = shown(name, api, momo, Says({**body, "data": rows}))
    table = list(after_the_rule(text))
    assert len(table) == 7, text
    assert all(len(line) <= 80 for line in table)


def after_the_rule(text: str) -> Iterator[str]:
    """Yield the lines of a table's rows."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("──"):
            break
    for line in lines:
        if not line or line.startswith(("next:", "Showing")):
            return
        yield line
