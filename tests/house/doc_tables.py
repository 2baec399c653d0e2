"""The tables in the documents that are made from the code. `python -m tests.house.doc_tables` writes them.

Each is between `<!-- table: NAME -->` and `<!-- end -->`; a test checks that they are up to date.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from daemon.api.openapi.document import document
from daemon.api.openapi.pages import kind
from daemon.api.openapi.pages import rows as members
from daemon.api.routes import OPERATIONS
from daemon.error_table import ERRORS
from daemon.runtime.config import SOURCES, SourceSettings, rows_of, sections
from daemon.wire import ErrorCode, SourceKind
from momo_cli.commands.books.export import COLUMNS
from momo_cli.errors import ERRORS as ROWS
from momo_cli.exit_codes import EXIT_CODES
from momo_cli.frame.command_table import COMMANDS
from momo_cli.frame.reference import CommandPage, error_message, page
from tests.fakes.api_rows import FIELD_TEST, Row, delivery_rows, error_rows, field_rows, other_rows
from tests.house.doc_schemas import schemas

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
COMMAND_PAGES: Final = DOCS / "commands"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def errors() -> str:
    """Return every error code of the API: status, meaning, advice, and the exit code of `momo`."""
    rows = [
        (f"`{code}`", str(spec.http_status), spec.message, spec.hint, str(ROWS[code].exit_code))
        for code, spec in sorted(ERRORS.items(), key=lambda item: item[1].http_status)
    ]
    return _table(("code", "HTTP", "what happened", "what to do", "exit"), rows)


def program_errors() -> str:
    """Return the codes that only the programs themselves raise."""
    rows = [(f"`{code}`", ROWS[code].sentence, str(ROWS[code].exit_code)) for code in ErrorCode if code not in ERRORS]
    return _table(("code", "what happened", "exit"), rows)


def troubleshooting() -> str:
    """Return every code as the command line shows it: the message, the commands to type next, the exit code."""
    return _table(
        ("code", "what happened", "type", "exit"),
        [
            (
                f"`{code}`",
                error_message(code),
                "; ".join(f"`{command}`" for command in ROWS[code].next) or "nothing: wait",
                str(ROWS[code].exit_code),
            )
            for code in ErrorCode
        ],
    )


def commands() -> str:
    """Return every command."""
    rows = [
        (f"[`momo {name}`](../commands/{_file(name)})", info.panel, info.summary) for name, info in COMMANDS.items()
    ]
    return _table(("command", "for", "what it does"), rows)


def command_pages() -> dict[str, str]:
    """Return the page of every command, by its file's name."""
    return {_file(name): _command_page(page(name)) for name in COMMANDS}


def _file(command: str) -> str:
    return f"{command.replace(' ', '-')}.md"


def _command_page(of: CommandPage) -> str:
    lines = [f"# `momo {of.name}`", "", f"{of.summary}. `{of.usage}`", ""]
    for part in of.about:
        lines += [_escaped(part), ""]
    lines += [f"- `{words}` {_escaped(said)}".rstrip() for words, said in (*of.arguments, *of.options)]
    lines += ["", "```", *of.examples, "```", ""]
    general = "See [all commands](../developers/cli.md); `momo help formatting` has the flags of every command."
    return "\n".join([*lines, general, ""])


def _escaped(text: str) -> str:
    """Escape words such as <id>, which Markdown would read as markup."""
    return text.replace("<", "&lt;").replace("*", "\\*")


def exit_codes() -> str:
    """Return every exit code."""
    return _table(("code", "name", "meaning"), [(str(row.code), row.name, row.meaning) for row in EXIT_CODES])


def operations() -> str:
    """Return every operation of the API: its summary and the scope that a key needs."""
    rows = []
    for path, methods in _api()["paths"].items():
        for method, each in methods.items():
            keys = [scope for need in each["security"] for scope in need.get("key", ())]
            needs = ", ".join(f"`{scope}`" for scope in keys) or "a session"
            call = f"`{method.upper()} {path}`"
            rows.append((call, each["summary"], needs if each["security"] else "nothing"))
    return _table(("operation", "what it does", "a key needs one of"), rows)


def request_fields() -> str:
    """Return every field of every body and query."""
    made, rows = _api(), []
    shapes = made["components"]["schemas"]
    for methods in made["paths"].values():
        for each in methods.values():
            taken = [
                (one["name"], kind(one["schema"], shapes), one["description"], one["required"])
                for one in each["parameters"]
                if one["in"] == "query"
            ]
            if "requestBody" in each:
                schema = each["requestBody"]["content"]["application/json"]["schema"]
                taken += [(row.name, row.kind, row.note, row.required) for row in members(schema, shapes)]
            for name, words, note, required in taken:
                must = " (required)" if required else ""
                rows.append((each["summary"], f"`{name}`{must}", words, note))
    return _table(("operation", "field", "type", "meaning"), rows)


def answer_fields() -> str:
    """Return every field of every object in an answer."""
    shapes = _api()["components"]["schemas"]
    rows = [
        (name, f"`{row.name}`", row.kind, row.note)
        for name, schema in shapes.items()
        if not name.startswith("Error")
        for row in members(schema, shapes)
    ]
    return _table(("object", "field", "type", "meaning"), rows)


def rows_of_fields() -> str:
    """Return every row of the API's tables of fields; each is a test of the same name."""
    return _table(
        ("table", "field", "test"),
        [
            (
                row.table,
                f"`{row.name}`",
                f"`{FIELD_TEST}::test_a_field_is_there_of_its_type_and_within_its_limits[{row.id}]`",
            )
            for row in field_rows()
        ],
    )


def rows_of_the_rest() -> str:
    """Return every row of the other tables, with its test."""
    return _rows((*other_rows(), *error_rows()))


def rows_of_delivery() -> str:
    """Return every row of the state table of deliveries and every guarantee of them, with its test."""
    return _rows(delivery_rows())


def _rows(rows: Sequence[Row]) -> str:
    return _table(("table", "row", "test"), [(row.group, row.text, f"`{row.file}::{row.function}`") for row in rows])


def _api() -> dict[str, Any]:
    return document(OPERATIONS, "")


def settings(section: str, kind: type[Any]) -> str:
    """Return every setting of a section: its default, as the file has it, and its meaning."""
    rows = []
    for name, row in rows_of(section, kind).items():
        kinds = row.setting.kinds
        whose = "" if kinds == set(SourceKind) else ", ".join(f"`{one}`" for one in sorted(kinds)) + ": "
        acts = "at once" if row.setting.live else "next start"
        who = f"{row.setting.by}, hub" if row.setting.hub else str(row.setting.by)
        by = () if section == SOURCES else (acts, who)
        rows.append((f"`{name}`", f"`{_toml(row.default)}`", *by, f"{whose}{row.setting.meaning}"))
    heads = ("key", "default", "meaning") if section == SOURCES else ("key", "default", "acts", "who", "meaning")
    return _table(heads, rows)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


SECTIONS: Final[dict[str, type[Any]]] = {**sections(), SOURCES: SourceSettings}


def exports() -> str:
    """Return every table that `momo data export` writes, with its columns."""
    return _table(("table", "columns"), [(name, ", ".join(row)) for name, row in COLUMNS.items()])


TABLES: Final[dict[str, Callable[[], str]]] = {
    **{f"settings {name}": partial(settings, name, kind) for name, kind in SECTIONS.items()},
    "errors": errors,
    "program errors": program_errors,
    "troubleshooting": troubleshooting,
    "commands": commands,
    "exit codes": exit_codes,
    "exports": exports,
    "operations": operations,
    "request fields": request_fields,
    "answer fields": answer_fields,
    "rows of fields": rows_of_fields,
    "rows of the rest": rows_of_the_rest,
    "rows of delivery": rows_of_delivery,
}
PLACE: Final = re.compile(r"<!-- table: ([a-z_ ]+) -->\n(.*?)<!-- end -->", re.DOTALL)


def filled(text: str) -> str:
    """Return a document with its tables brought up to date."""
    return PLACE.sub(lambda match: f"<!-- table: {match.group(1)} -->\n{TABLES[match.group(1)]()}\n<!-- end -->", text)


def write() -> None:
    """Write the tables of all documents, the pages of the commands, and the JSON Schemas."""
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text()
        if filled(text) != text:
            path.write_text(filled(text))
    _write_folder(DOCS / "developers" / "schema", "*.json", schemas())
    _write_folder(COMMAND_PAGES, "*.md", command_pages())


def _write_folder(folder: Path, pattern: str, made: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in made.items():
        (folder / name).write_text(text)
    for path in folder.glob(pattern):
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    write()
