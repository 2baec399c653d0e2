"""Doing one thing to each of many: what came of each, as it comes, and the sum of it at the end.

Programs get a row for each item at once and, in NDJSON, a last line of type summary. People see how
far it is, and then one sentence. One refused item stops nothing; a daemon that is gone stops it all,
and then the same command, typed again, goes on: the daemon knows what is done.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from momo_cli import errors, exits
from momo_cli.answer import Answer, Field, View
from momo_cli.errors import Failure
from momo_cli.flags import Output
from momo_cli.progress import progress
from momo_cli.terminal import Terminal

OUTCOME: Final = View(fields=tuple(Field(name) for name in ("id", "ok", "code", "message")))
"""What came of each of a batch; `code` says why it was refused."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done.

    Attributes:
        outcomes: Does the next one each time; each has `ok`, and `code` when it is refused.
        total: How many there are.
        doing: "Sending": for the progress line.
        done: "replayed": what the good ones are called in the summary.
        counted: Further members of an outcome whose truths the summary counts.
        found: Which of `counted` make it exit 6.
    """

    outcomes: Iterable[dict[str, Any]]
    total: int
    doing: str
    done: str
    counted: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


@dataclass(slots=True)
class _Tally:
    """What has come of it so far."""

    good: int = 0
    bad: int = 0
    why: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    lost: Failure | None = None

    def add(self, row: dict[str, Any], counted: Sequence[str]) -> None:
        for name in counted:
            self.counts[name] = self.counts.get(name, 0) + bool(row.get(name))
        if row["ok"]:
            self.good += 1
            return
        self.bad += 1
        code = str(row.get("code"))
        self.why[code] = self.why.get(code, 0) + 1

    def exit_code(self, found: Sequence[str]) -> int:
        if self.lost is not None:
            return errors.exit_code_of(self.lost)
        if self.bad:
            return exits.PARTIAL
        return exits.FINDINGS if any(self.counts.get(name) for name in found) else exits.OK


def told(terminal: Terminal, work: Work, next_: Sequence[str] = ()) -> Answer:
    """Do it all, and answer with what came of each and the sum of it.

    Raises:
        Failure: The first of them could not even be asked for.
    """
    tally = _Tally()
    rows = _rows(terminal, work, tally)
    if terminal.human:
        outcomes = list(rows)
        mark = ("✗", "red") if tally.bad or tally.lost else ("✓", "green")
        return Answer(
            rows=outcomes,
            lines=[f"{terminal.style(*mark)} {_sentence(work, tally)}"],
            next=next_,
            exit_code=tally.exit_code(work.found),
            stream=True,
        )
    notes: list[str] = []

    def ended() -> int:
        notes.append(_sentence(work, tally))
        return tally.exit_code(work.found)

    return Answer(rows=rows, notes=notes, ended=ended, stream=True)


def _rows(terminal: Terminal, work: Work, tally: _Tally) -> Iterator[dict[str, Any]]:
    structured = terminal.output in (Output.JSON, Output.NDJSON)
    with progress(terminal, work.doing, work.total) as step:
        try:
            for row in work.outcomes:
                tally.add(row, work.counted)
                step(tally.good + tally.bad)
                yield row
        except Failure as failure:
            if not tally.good + tally.bad:
                raise  # nothing was done: it is the failure of the whole command
            tally.lost = failure
    if tally.lost is not None:
        terminal.complain(f"error: {tally.lost.message}  [{tally.lost.code}]")
        terminal.complain("  next:  the same command again; what is done is not done twice")
        if structured:
            yield {"type": "error", **errors.document(tally.lost)}
    if structured:
        yield _summary(work, tally)


def _summary(work: Work, tally: _Tally) -> dict[str, Any]:
    counts = {name: tally.counts.get(name, 0) for name in work.counted}
    seen = tally.good + tally.bad
    left = {"left": work.total - seen} if seen < work.total else {}
    done = {work.done: tally.good, **counts, "failed": tally.bad}
    return {"type": "summary", "requested": work.total, **done, **left}


def _sentence(work: Work, tally: _Tally) -> str:
    parts = [f"{tally.good} {work.done}"]
    parts += [f"{number} {name}" for name, number in tally.counts.items() if number]
    if tally.bad:
        reasons = ", ".join(f"{number} {code}" for code, number in tally.why.items())
        parts.append(f"{tally.bad} refused ({reasons})")
    if left := work.total - tally.good - tally.bad:
        parts.append(f"{left} not tried")
    return ", ".join(parts) + "."


def one_by_one(
    ids: Sequence[str], act: Callable[[str], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Do one thing to each and go on after a refusal.

    Args:
        ids: Each once.
        act: Does it to one; returns what is worth telling.

    Raises:
        Failure: The daemon cannot be reached.
    """
    for each in ids:
        try:
            yield {"id": each, "ok": True, "code": None, "message": None, **act(each)}
        except Failure as failure:
            if not failure.http_status:  # never asked, or no answer: the others would fare alike
                raise
            yield {"id": each, "ok": False, "code": failure.code, "message": failure.message}


def given(ids: Sequence[str], terminal: Terminal) -> list[str]:
    """Return the ids of a command line, each once; `-` reads more of them from stdin, one a line."""
    found: list[str] = []
    for each in ids:
        found += terminal.stdin.read().split() if each.strip() == "-" else [each.strip()]
    return list(dict.fromkeys(each for each in found if each))
