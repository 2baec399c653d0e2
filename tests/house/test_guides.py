"""The documents have no dead link, and every block of commands is run by a test or states a condition."""

import re
from pathlib import Path

import pytest

from tests.fakes.each import each
from tests.house.markdown import DOCUMENTS, GUIDES, ROOT, Block, anchors, blocks, links

COMMAND = re.compile(r"^(?:\$ |(?:sudo )?(?:momo|make|git|curl|pip) )", re.MULTILINE)


def dead(path: Path, text: str) -> list[str]:
    """Return the dead links of one document."""
    found = []
    for link in links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve()
        if name and not (target.exists() and ROOT in target.parents):
            found.append(link)
            continue
        if anchor and anchor not in anchors(target.read_text() if name else text):
            found.append(link)
    return found


@each("path", DOCUMENTS)
def test_every_link_and_anchor_leads_somewhere(path: Path) -> None:
    assert dead(path, path.read_text()) == []


def test_a_dead_link_and_a_dead_anchor_are_found() -> None:
    text = "# One, two\n[a](#one-two) [b](#three) [c](docs/none.md) [d](https://x.example) [e](README.md#none)\n"
    assert dead(ROOT / "x.md", text) == ["#three", "docs/none.md", "README.md#none"]


def test_headings_have_the_names_that_forges_give_them() -> None:
    text = "# A `b` & c: d\n```\n# no heading\n```\n## [http]\n## Same\n## Same\n"
    assert anchors(text) == {"a-b--c-d", "http", "same", "same-1"}


def test_the_index_leads_to_every_document() -> None:
    index = ROOT / "docs/README.md"
    named = {(index.parent / link.partition("#")[0]).resolve() for link in links(index.read_text())}
    folders = {index.parent / name for name in ("commands", "decisions", "developers/schema")}
    pages = {path for path in index.parent.rglob("*.md") if not folders & set(path.parents)}
    assert pages - {index} <= named
    assert index.parent / "decisions" in named


def unmarked(text: str) -> list[Block]:
    """Return a guide's blocks that no test runs and that state no condition."""
    return [
        block
        for block in blocks(text)
        if not (
            (block.kind == "sh" and not block.note)
            or (block.kind == "console" and block.note)
            or (block.kind == "text" and not COMMAND.search(block.text))
        )
    ]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_every_block_of_a_guide_is_run_or_says_what_it_needs(path: Path) -> None:
    text = path.read_text()
    assert unmarked(text) == []
    assert [block for block in blocks(text) if block.kind == "sh"]
    assert text.count("\n```") + text.startswith("```") == 2 * len(blocks(text)), "an open fence"


def test_a_block_that_is_neither_run_nor_marked_is_found() -> None:
    text = "```\nmomo a\n```\n```console\n$ momo b\n```\n```text\nmomo c\n```\n*Needs luck:*\n\n```console\n$ momo d\n```\n"
    assert [block.text.split()[-1] for block in unmarked(text)] == ["a", "b", "c"]
    assert [block.line for block in unmarked(text)] == [1, 4, 7]
