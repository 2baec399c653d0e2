"""Every command line in a block of a document is read whole by the program: its words, its flags, its values.

README and getting started are run as they stand besides (`tests/acceptance/test_guides.py`), and the examples of the
help against a daemon that says yes (`test_examples.py`). A diagram (`->`) is no command line.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.exceptions import TyperException

from momo_cli.errors import Failure
from momo_cli.flags import lift
from momo_cli.frame.tree import root
from momo_cli.show.answer import Call
from tests.cli.sample_files import FILES, write_files
from tests.cli.test_examples import Step, steps
from tests.house.markdown import DOCUMENTS, ROOT, blocks

SHELLS = ("", "sh", "console", "crontab")
COMMAND = re.compile(r"(?:.*[$(|*&] ?|\s*)momo [a-z]")
NAMED = {"filter.json": "{}", "order.json": "{}"}
"""Files that the documents name besides the sample files."""


def lines(text: str) -> Iterator[str]:
    """Yield the command lines of the blocks of a document: without prompts and without cron's five fields."""
    for block in blocks(text):
        if block.kind not in SHELLS:
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            if COMMAND.match(line) and " -> " not in line:
                bare = re.sub(r"^\s*\$ ", "", line)
                yield re.sub(r"^([\d*/,-]+ ){5}", "", bare) if block.kind == "crontab" else bare


def taken(step: Step) -> bool:
    """Return whether the program parses all of these words."""
    flags, words = lift(step.words, {})
    if flags.problem or words[:1] == ["help"]:
        return not flags.problem
    try:
        return isinstance(root().main(args=words, standalone_mode=False), Call)
    except (Failure, TyperException):
        return False


TOLD = [path for path in DOCUMENTS if list(lines(path.read_text()))]


@pytest.mark.parametrize("path", TOLD, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_line_of_a_document_is_read_to_its_end(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, FILES)
    for name, text in NAMED.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for line in lines(path.read_text()):
        ours = list(steps(line))
        assert ours, f"no momo in it: {line}"
        assert [step for step in ours if not taken(step)] == [], line


def test_a_wrong_word_or_flag_or_value_in_a_document_is_found() -> None:
    text = "```\n$ momo tx show A B\nmomo init 5 --fax 1 && momo tx list --since\nmomo tx list | momo fly\n```\n"
    found = [step.words[0] for line in lines(text) for step in steps(line) if not taken(step)]
    assert found == ["tx", "init", "tx", "fly"]
    assert len(TOLD) > 10
