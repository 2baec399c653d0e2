"""What the documents say is what the program does."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from daemon.config import Config
from daemon.core.errors import ERRORS
from daemon.wire import ErrorCode
from tests.house import doc_tables
from tests.house.markdown import DOCUMENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tables_made_from_the_code_are_up_to_date(path: Path) -> None:
    text = path.read_text()
    assert doc_tables.filled(text) == text, "run: make docs"


def test_every_table_stands_in_a_document() -> None:
    text = "".join(path.read_text() for path in DOCUMENTS)
    assert [name for name in doc_tables.TABLES if f"<!-- table: {name} -->" not in text] == []


def test_every_error_code_is_explained() -> None:
    text = (DOCS / "errors.md").read_text()
    assert [code for code in ErrorCode if f"| `{code}` |" not in text] == []
    assert set(ERRORS) <= set(ErrorCode)


def settings() -> dict[str, Any]:
    """`section.key` -> default, as TOML writes it."""
    found: dict[str, Any] = {}
    config = Config()
    for section in fields(Config):
        values = getattr(config, section.name)
        for entry in fields(values):
            value = getattr(values, entry.name)
            found[f"{section.name}.{entry.name.removesuffix('_')}"] = (
                list(value) if isinstance(value, tuple) else value
            )
    return found


def documented() -> dict[str, Any]:
    """The same, as `docs/configuration.md` says."""
    found: dict[str, Any] = {}
    section = ""
    for line in (DOCS / "configuration.md").read_text().splitlines():
        if header := re.fullmatch(r"## \[(\w+)\]", line):
            section = header.group(1)
        elif row := re.fullmatch(r"\| `(\w+)` \| `(.+?)` \| .+ \|", line):
            found[f"{section}.{row.group(1)}"] = tomllib.loads(f"value = {row.group(2)}")["value"]
    return found


def test_every_setting_is_documented_with_its_default() -> None:
    assert documented() == settings()


def test_every_decision_has_context_decision_and_consequences() -> None:
    decisions = sorted((DOCS / "decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    for path in decisions:
        text = path.read_text()
        assert text.startswith(f"# {int(path.name[:4])}. ")
        for part in ("**Context.**", "**Decision.**", "**Consequences.**"):
            assert part in text, path.name


def test_receiver_of_the_guide_accepts_our_signatures_and_nothing_else() -> None:
    # The vector of the specification (decisions.md section 6).
    code = re.findall(r"```python\n(.*?)```", (DOCS / "webhooks.md").read_text(), re.DOTALL)
    code = [block for block in code if "def verified" in block]
    assert len(code) == 1
    names: dict[str, Any] = {}
    exec(code[0], names)
    verified = names["verified"]
    secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    body = (
        b'{"webhook_id":"ocl_0123456789abcdefghijklmn","type":"transaction.forwarded","test":true}'
    )
    header = "t=1767225600,v1=7d0f1d4f475a5cab2c7c72622529aa917919b40a4417bf50be68ff352df468bd"
    now = 1767225610.0
    assert verified(body, header, secret, now)
    assert not verified(body + b" ", header, secret, now)
    assert not verified(body, header, secret[:-2] + "g=", now)
    assert not verified(body, header, secret, now + 301)
    garbled = ("t=x,v1=y", "t=\u00b2,v1=y", "t=1767225600,v1=\u00e9", header.replace("t=", "t=-"))
    for garbage in ("", "t=,v1=", "v1=00", "t=1767225600", "t=" + "1" * 5000, *garbled):
        assert not verified(body, garbage, secret, now)
