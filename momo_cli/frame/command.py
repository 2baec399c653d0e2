"""A command: the decorator that marks its function, the parser of its flags, and the run of its call."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, islice
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from momo_cli import exit_codes, system
from momo_cli.errors import Failure
from momo_cli.flags import Output
from momo_cli.inputs.parameters import FAIL_IF_ANY, OFFSET, Given, option
from momo_cli.show import render
from momo_cli.show.answer import NOTHING, Answer, Call, Row, View
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import DEFAULT_TIMEOUT_S, Client

if TYPE_CHECKING:
    from momo_cli.socket.trace import Trace

Function = TypeVar("Function", bound=Callable[..., Answer])
_MARK: Final = "momo_command"
_EXAMPLES: Final = "\n\nExamples:\n"
_GIVEN: Final = ("client", "terminal")
"""The parameters that are no flags. A command declares those that it needs."""


class Marked(NamedTuple):
    """A command's function with the arguments of the decorator."""

    name: str
    view: View | Callable[..., View]
    read: bool
    function: Callable[..., Answer]

    @property
    def about(self) -> str:
        """Return the docstring without the examples: the help below the summary."""
        return self._help()[0].strip()

    @property
    def examples(self) -> str:
        """Return the examples of the docstring, each line indented by two spaces."""
        return "\n".join(f"  {line.removeprefix('    ')}" for line in self._help()[1].splitlines())

    def _help(self) -> tuple[str, str]:
        text, _, examples = f"\n\n{inspect.getdoc(self.function) or ''}".partition(_EXAMPLES)
        return text, examples


def command(
    name: str, *, view: View | Callable[..., View] = NOTHING, read: bool = False
) -> Callable[[Function], Function]:
    """Mark a function as the command of that name. The function itself stays as it is.

    Its docstring is its help page below the summary, which stands in the command table: the facts for users, and a section
    with examples.

    `name` is that of the command table, such as `endpoints pause`; `view` may be a function of the flags; with `read`,
    people read the answer: it keeps its form in a pipe, without colour. Others are rows there, for programs.
    """

    def mark(function: Function) -> Function:
        vars(function)[_MARK] = Marked(name, view, read, function)
        return function

    return mark


def find(module: ModuleType, name: str) -> Marked:
    """Return the command of that name in a module."""
    functions = [each for each in vars(module).values() if isinstance(each, FunctionType)]
    marked: list[Marked] = [vars(each)[_MARK] for each in functions if _MARK in vars(each)]
    return next(each for each in marked if each.name == name)


def parser_of(marked: Marked) -> Callable[..., Call]:
    """Return the function that Typer reads the flags from; it returns the call to carry out."""
    signature = inspect.signature(marked.function)
    own = signature.parameters
    needed = [each for each in _GIVEN if each in own]
    added = _of_lists(own) if marked.name.endswith(" list") else {}

    def parse(**flags: Any) -> Call:
        chosen = {each: flags.pop(each) for each in added}

        def run(client: Client, terminal: Terminal) -> Answer:
            given = {"client": client, "terminal": terminal}
            asked = dict(flags)
            if "offset" in chosen and "limit" in own:
                asked["limit"] += chosen["offset"]
            answer = marked.function(**{each: given[each] for each in needed}, **asked)
            whole = {"limit": None, "offset": 0, "fail_if_any": False}
            part = {**whole, **chosen}
            return answer if part == whole else _part(answer, marked.name, **part)

        view = marked.view(**flags) if callable(marked.view) else marked.view
        # With --watch a pipe gets rows for programs.
        return Call(run, view, marked.read and flags.get("watch") is None)

    flags = []
    for name, each in (*own.items(), *added.items()):
        if name not in _GIVEN:
            given: Given = each.default
            default = each.empty if given.default is ... else given.default
            annotation = given.declared(name, each.annotation)
            kept = each.replace(kind=each.KEYWORD_ONLY, annotation=annotation, default=default)
            flags.append(kept)
    parse.__signature__ = signature.replace(parameters=flags)  # type: ignore[attr-defined]  # inspect reads it
    parse.__annotations__ = {}  # Typer takes the annotations of the signature
    return parse


def _part(
    answer: Answer,
    name: str,
    *,
    limit: int | None = option("At most N.", min=1),
    offset: int = OFFSET,
    fail_if_any: bool = FAIL_IF_ANY,
) -> Answer:
    """Return the part of a list that its flags ask for; these are the flags of every list without such flags of its own."""
    if offset or limit is not None:
        rows, document = list(answer.rows), answer.document
        body = json.loads(document) if document else {}
        if isinstance(body.get("data"), list):
            document = json.dumps({**body, "data": _cut(body["data"], limit, offset)}, ensure_ascii=False)
        empty = f"There are only {len(rows)}." if rows else answer.empty
        kept = _cut(rows, limit, offset)
        answer = replace(answer, rows=kept, lines=(), document=document, empty=empty)
    if not fail_if_any:
        return answer
    rest = iter(answer.rows)
    first = list(islice(rest, 1))
    rows_: Iterable[Row] = chain(first, rest) if answer.stream else [*first, *rest]
    faults = [f"momo {name} is not empty"] if first else []
    return replace(answer, rows=rows_, faults=faults, exit_code=exit_codes.FINDINGS if first else answer.exit_code)


def _cut(rows: list[Any], limit: int | None, offset: int) -> list[Any]:
    return rows[offset:][:limit]


def _of_lists(own: Mapping[str, inspect.Parameter]) -> dict[str, inspect.Parameter]:
    """Return the parameters of every list that a command does not have; one with pages has no offset."""
    found = dict(inspect.signature(_part).parameters)
    paged = {"limit", "offset"} if "page" in own else set()
    return {name: each for name, each in found.items() if each.kind is each.KEYWORD_ONLY and name not in {*own, *paged}}


def _trace(terminal: Terminal) -> "Trace":
    from momo_cli.socket.trace import Trace  # noqa: PLC0415  # only `-v` and `--debug` need it

    return Trace(terminal.complain, whole=terminal.flags.debug)


def run_call(terminal: Terminal, call: Call) -> int:
    """Run a command and write its answer; return the exit code, or raise the failure of the command."""
    flags = terminal.flags
    if call.read and flags.output is None and not flags.fields:
        terminal = replace(terminal, output=Output.TABLE, color=terminal.color and terminal.on_screen)
    render.check_fields(terminal, call.view)
    client = Client(
        terminal.located,
        timeout_s=DEFAULT_TIMEOUT_S if flags.timeout_s is None else flags.timeout_s or None,
        warn=terminal.note,
        trace=_trace(terminal) if flags.debug or flags.verbose else None,
        pause=system.sleep,
        sandbox=flags.sandbox,
    )
    terminal = replace(terminal, shop_zone=client.zone_name)
    try:
        answer = call.run(client, terminal)
    except Failure as failure:
        failure.sandbox = failure.sandbox or flags.sandbox
        raise
    view = answer.view or call.view
    if answer.view:
        render.check_fields(terminal, view)
    chosen = flags.output or flags.get or flags.fields
    if answer.faults is not None and flags.quiet and not chosen:
        # Print nothing, or the faults: cron mails them (docs/operators/cron.md).
        if answer.exit_code != exit_codes.OK:
            terminal.complain(f"error: {'; '.join(answer.faults)}")
            terminal.complain(f"next:  {next(iter(answer.next), 'momo doctor')}")
        return answer.exit_code
    render.write_answer(terminal, view, answer)
    terminal.stdout.flush()
    if answer.faults and answer.exit_code != exit_codes.OK:
        # With a timer, only stderr is seen, in any form of the answer.
        noted = "\n".join(answer.notes) if not flags.quiet else ""
        if missing := [fault for fault in answer.faults if fault not in noted]:
            terminal.complain(f"error: {'; '.join(missing)}")
    exit_code = answer.exit_code if answer.ended is None else answer.ended()
    if answer.empty and not answer.rows:
        terminal.note(answer.empty)
    for note in (*answer.notes, *(answer.next_lines(sandbox=flags.sandbox) if terminal.human else ())):
        terminal.note(note)
    return exit_code
