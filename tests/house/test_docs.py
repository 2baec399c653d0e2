"""The documents agree with the code."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
from msgspec.structs import fields

from daemon.core.webhooks.delivery import TRANSITIONS
from daemon.error_table import ERRORS
from daemon.runtime.config import SOURCES, Config, SourceSettings, sections
from daemon.wire import ErrorCode
from tests.cli import samples
from tests.fakes.each import each
from tests.house import architecture_map, doc_tables
from tests.house.doc_schemas import SHARED, schemas
from tests.house.markdown import DOCUMENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@each("path", DOCUMENTS)
def test_tables_made_from_the_code_are_up_to_date(path: Path) -> None:
    text = path.read_text()
    assert doc_tables.filled(text) == text, "run: make docs"


def test_every_table_stands_in_a_document() -> None:
    text = "".join(path.read_text() for path in DOCUMENTS)
    assert [name for name in doc_tables.TABLES if f"<!-- table: {name} -->" not in text] == []


def test_every_command_has_a_page_made_from_the_code() -> None:
    there = {path.name: path.read_text() for path in doc_tables.COMMAND_PAGES.iterdir()}
    assert there == doc_tables.command_pages(), "run: make docs"


def test_every_error_code_is_explained() -> None:
    text = (DOCS / "developers" / "errors.md").read_text()
    assert [code for code in ErrorCode if f"| `{code}` |" not in text] == []
    assert set(ERRORS) <= set(ErrorCode)


def settings() -> dict[str, Any]:
    """Return `section.key` -> default, as TOML writes it."""
    found: dict[str, Any] = {}
    config = Config()
    for section in [*sections(), SOURCES]:
        values: Any = SourceSettings() if section == SOURCES else getattr(config, section)
        for entry in fields(values):
            value = getattr(values, entry.name)
            found[f"{section}.{entry.name.removesuffix('_')}"] = list(value) if isinstance(value, tuple) else value
    return found


def documented() -> dict[str, Any]:
    """Return the same from `docs/operators/configuration.md`."""
    found: dict[str, Any] = {}
    section = ""
    for line in (DOCS / "operators" / "configuration.md").read_text().splitlines():
        if header := re.fullmatch(r"## \[(\w+)\]", line):
            section = header.group(1)
        elif row := re.fullmatch(r"\| `(\w+)` \| `(.+?)` \| .+ \|", line):
            found[f"{section}.{row.group(1)}"] = tomllib.loads(f"value = {row.group(2)}")["value"]
    return found


def test_every_setting_is_documented_with_its_default() -> None:
    assert documented() == settings()


def test_decisions_are_few_and_short_and_their_titles_state_them() -> None:
    decisions = sorted((DOCS / "decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in decisions] == list(range(1, len(decisions) + 1))
    assert len(decisions) <= 29
    for path in decisions:
        text = path.read_text()
        title = text.partition("\n")[0].removeprefix(f"# {int(path.name[:4])}. ")
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'", "")).strip("-")
        assert path.stem == f"{path.name[:4]}-{slug}"
        assert re.match(r"(Use|Store|Stay|Do not|Require|Search|Send|Lease|Keep)\b", title), title
        for part in ("**Context.**", "**Decision.**", "**Consequences.**"):
            assert part in text, path.name
        assert len(text.split()) <= 250, path.name


def test_documents_stay_short_enough_to_be_read() -> None:
    written = [
        path
        for path in DOCS.rglob("*.md")
        if path.name != "rows.md" and path.parent.name not in {"commands", "decisions"}
    ]
    texts = (re.sub(doc_tables.PLACE, "", path.read_text()) for path in written)
    prose = " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL) for text in texts)
    assert len(re.findall(r"\S*\w\S*", prose)) <= 20_000


def test_diagram_of_a_delivery_shows_its_transitions() -> None:
    drawn = re.findall(
        r"^    (\w+) --> (\w+): (\w+)$", (DOCS / "contributing" / "architecture.md").read_text(), re.MULTILINE
    )
    assert sorted(drawn) == sorted(
        (str(before), str(after), str(event))
        for before, events in TRANSITIONS.items()
        for event, after in events.items()
    )


def test_map_shows_the_packages_as_they_are() -> None:
    assert architecture_map.PICTURE.read_text() == architecture_map.svg(), "run: make picture"


def test_places_to_look_exist() -> None:
    text = (DOCS / "contributing" / "architecture.md").read_text().partition("## Where to look")[2]
    places = re.findall(r"`((?:\w+/)+[\w.<>]*)`", text)
    assert len(places) > 5
    for place in places:
        assert list(ROOT.glob(re.sub(r"<\w+>", "*", place).rstrip("/"))), place


def test_receiver_of_the_guide_accepts_our_signatures_and_nothing_else() -> None:
    # The test vector of the signature schemes.
    code = re.findall(r"```python\n(.*?)```", (DOCS / "developers" / "webhooks.md").read_text(), re.DOTALL)
    code = [block for block in code if "def verified" in block]
    assert len(code) == 1
    names: dict[str, Any] = {}
    exec(code[0], names)
    verified = names["verified"]
    secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    body = b'{"webhook_id":"ocl_0123456789abcdefghijklmn","type":"transaction.forwarded","test":true}'
    header = "t=1767225600,v1=7d0f1d4f475a5cab2c7c72622529aa917919b40a4417bf50be68ff352df468bd"
    now = 1767225610.0
    assert verified(body, header, secret, now)
    assert not verified(body + b" ", header, secret, now)
    assert not verified(body, header, secret[:-2] + "g=", now)
    assert not verified(body, header, secret, now + 301)
    garbled = ("t=x,v1=y", "t=\u00b2,v1=y", "t=1767225600,v1=\u00e9", header.replace("t=", "t=-"))
    for garbage in ("", "t=,v1=", "v1=00", "t=1767225600", "t=" + "1" * 5000, *garbled):
        assert not verified(body, garbage, secret, now)


FOLDER = Path(__file__).parents[2] / "docs" / "developers" / "schema"
MADE = schemas()


def test_they_are_up_to_date() -> None:
    there = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    assert there == MADE, "run: make docs"


def whole(name: str) -> dict[str, Any]:
    """Return a schema with its shared definitions included."""
    inside = MADE[name].replace(f"{SHARED}#", "#")
    made: dict[str, Any] = json.loads(inside)
    return {**made, "$defs": json.loads(MADE[SHARED])["$defs"]}


@each("name", sorted(set(MADE) - {SHARED}))
def test_each_is_a_schema_and_refers_to_what_is_there(name: str) -> None:
    validator = jsonschema_rs.Draft202012Validator(whole(name))
    assert not validator.is_valid({"success": False})


def test_what_is_printed_fits_and_what_is_not_does_not() -> None:
    validator = jsonschema_rs.Draft202012Validator(whole("keys-rotate.json"))
    validator.validate(samples.ROTATED)
    assert not validator.is_valid({**samples.ROTATED, "previous": None})
