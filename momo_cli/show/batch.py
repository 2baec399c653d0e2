"""Batches: do one thing to each of many items, write each result as it comes, and a summary at the end.

Programs get a row for each item at once and, in NDJSON, a last line of type summary. People see a progress line (on a
terminal only, never in a log or a mail of cron) and then one sentence. A refused item does not stop the batch. An
unreachable daemon does; the same command, typed again, then continues, because the daemon knows which items are done.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from momo_cli import errors, exit_codes, system
from momo_cli.errors import Failure
from momo_cli.flags import Output
from momo_cli.show.answer import Answer, view_of
from momo_cli.show.terminal import ERASE, Terminal

_BAR: Final = 24
_EVERY_S: Final = 0.1
"""People cannot read faster updates, and over a slow SSH connection they would delay the work."""
OUTCOME_VIEW: Final = view_of("id ok code message")
"""The result of each item of a batch; `code` is the error code of a refused one."""


@contextmanager
def progress(terminal: Terminal, label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress line to a person while the block runs; it is erased afterwards.

    `label` is the verb, such as "Sending". Yields a function that takes the number of finished items, of `total`.
    """
    dumb = terminal.located.environ.get("TERM", "dumb") == "dumb"
    mixes = terminal.on_screen and not terminal.human  # with the rows
    seen = terminal.stderr.isatty() and not (terminal.flags.quiet or dumb or mixes)
    if not seen or total < 2:
        yield lambda _: None
        return
    last_s = system.monotonic() - _EVERY_S

    def step(done: int) -> None:
        nonlocal last_s
        now_s = system.monotonic()
        if now_s - last_s >= _EVERY_S or done == total:
            last_s = now_s
            line = progress_line(terminal, label, done, total)
            terminal.stderr.write(ERASE + terminal.plain(line))
            terminal.stderr.flush()
            terminal.unfinished.open = True

    try:
        step(0)
        yield step
    finally:
        terminal.stderr.write(ERASE)
        terminal.stderr.flush()
        terminal.unfinished.open = False


def progress_line(terminal: Terminal, label: str, done: int, total: int) -> str:
    """Return the line: `Sending  34 of 120  ━━━━━━━─────────────────`."""
    full = _BAR * done // total
    strong, weak = ("━", "─") if terminal.symbols else ("#", "-")
    return f"{label}  {done} of {total}  {strong * full}{weak * (_BAR - full)}"


@dataclass(slots=True)
class Batch:
    """A batch, and its results so far.

    Attributes:
        outcomes: Processes the next item at each step; each outcome has `ok`, and `code` if it was refused.
        doing: The verb of the progress line, such as "Sending".
        done: The word for successful items in the summary, such as "replayed".
        counted: Further members of an outcome; the summary counts the true ones.
        found: The members of `counted` that make the exit code 6.
        refused: The number of refused items by code.
        counts: The number of items by member of `counted`.
        lost: Why the daemon could no longer be reached.
    """

    outcomes: Iterable[dict[str, Any]]
    total: int
    doing: str
    done: str
    counted: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    good: int = field(default=0, init=False)
    refused: Counter[str] = field(default_factory=Counter, init=False)
    counts: Counter[str] = field(default_factory=Counter, init=False)
    lost: Failure | None = field(default=None, init=False)

    @property
    def seen(self) -> int:
        """Return the number of items that were tried."""
        return self.good + self.refused.total()

    def exit_code(self) -> int:
        """Return the exit code once all items were tried."""
        if self.lost is not None:
            return errors.exit_code_of(self.lost)
        if self.refused:
            return exit_codes.PARTIAL
        found = any(self.counts[name] for name in self.found)
        return exit_codes.FINDINGS if found else exit_codes.OK

    def sentence(self) -> str:
        """Return the summary for people."""
        parts = [f"{self.good} {self.done}"]
        parts += [f"{number} {name}" for name, number in self.counts.items() if number]
        if self.refused:
            reasons = ", ".join(f"{number} {code}" for code, number in self.refused.items())
            parts.append(f"{self.refused.total()} refused ({reasons})")
        if left := self.total - self.seen:
            parts.append(f"{left} not tried")
        return ", ".join(parts) + "."


def run_batch(terminal: Terminal, work: Batch, next_: Sequence[str] = ()) -> Answer:
    """Return an answer with each result and the summary; fail if the daemon cannot be reached for the first item."""
    rows = _rows(terminal, work)
    if terminal.human:
        outcomes = list(rows)
        mark = ("✗", "red") if work.refused or work.lost else ("✓", "green")
        lines, code = [f"{terminal.style(*mark)} {work.sentence()}"], work.exit_code()
        return Answer(rows=outcomes, lines=lines, next=next_, exit_code=code, stream=True)
    notes: list[str] = []

    def ended() -> int:
        notes.append(work.sentence())
        return work.exit_code()

    return Answer(rows=rows, notes=notes, ended=ended, stream=True)


def _rows(terminal: Terminal, work: Batch) -> Iterator[dict[str, Any]]:
    structured = terminal.output in (Output.JSON, Output.NDJSON)
    with progress(terminal, work.doing, work.total) as step:
        try:
            for row in work.outcomes:
                for name in work.counted:
                    work.counts[name] += bool(row.get(name))
                if row["ok"]:
                    work.good += 1
                else:
                    work.refused[str(row.get("code"))] += 1
                step(work.seen)
                yield row
        except Failure as failure:
            if not work.seen:
                raise  # no item was done: the whole command failed
            work.lost = failure
    if work.lost is not None:
        terminal.complain(f"error: {errors.headline(work.lost)}  [{work.lost.code}]")
        terminal.complain("  next:  the same command again; finished items are not repeated")
        if structured:
            yield {"type": "error", **errors.document(work.lost)}
    if structured:
        counts = {name: work.counts[name] for name in work.counted}
        done = {work.done: work.good, **counts, "failed": work.refused.total()}
        left = {"left": work.total - work.seen} if work.seen < work.total else {}
        yield {"type": "summary", "requested": work.total, **done, **left}


def one_by_one(ids: Sequence[str], act: Callable[[str], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Apply `act`, which returns members of the outcome, to each id; go on after a refusal, fail without an answer."""
    for each in ids:
        try:
            yield {"id": each, "ok": True, "code": None, "message": None, **act(each)}
        except Failure as failure:
            if not failure.http_status:  # no call or no answer: the others would fail too
                raise
            yield {"id": each, "ok": False, "code": failure.code, "message": failure.message}


def typed_ids(ids: Sequence[str], terminal: Terminal) -> list[str]:
    """Return the ids of a command line, each once; `-` reads more of them from stdin, one per line."""
    found: list[str] = []
    for each in ids:
        found += terminal.stdin.read().split() if each.strip() == "-" else [each.strip()]
    return list(dict.fromkeys(each for each in found if each))
