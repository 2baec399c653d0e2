"""A line for tests of the balance check: messages that arrive and the ruling on each."""

from collections.abc import Sequence

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance import BalanceCheck, Ruling, judge
from daemon.core.messages.balance_chain import Absence, Entry, Standing, Why
from tests.fakes.rows import AT

ACCEPTED, HELD, FORGED = Standing.ACCEPTED, Standing.HELD, Standing.FORGED
SUSPECT, UNPROVEN, NOTED = Standing.SUSPECT, Standing.UNPROVEN, Standing.NOTED


def entry(
    number: int,
    effect: int | None,
    after: int | None,
    *,
    pays: bool | None = None,
    doubted: bool = False,
    at: int | None = None,
    key: str | None = None,
    with_id: bool = True,
) -> Entry:
    """Make a message; `number` is its position in time and in the order of IDs."""
    when = AT + number * MINUTE_US if at is None else at
    return Entry(
        key=key or f"m{number}",
        seq=number,
        at=when,
        stored_at=when,
        telco_id=f"{93_000_000_000 + number}" if with_id else None,
        pays=(effect or 0) > 0 if pays is None else pays,
        effects=() if effect is None else (effect,),
        after=after,
        doubted=doubted,
    )


class Line:
    """A line that keeps the rulings as the store does."""

    def __init__(
        self, *, check: BalanceCheck = BalanceCheck.REVIEW, away: Sequence[Absence] = ()
    ) -> None:
        self.entries: dict[str, Entry] = {}
        self.check = check
        self.away = away

    def tell(self, *news: Entry) -> Ruling:
        for new in news:
            ruling = judge(self.entries.values(), new, away=self.away, check=self.check)
            if ruling.why is not Why.ID_TAKEN:
                self.keep(ruling)
        return ruling

    def keep(self, ruling: Ruling) -> None:
        for change in ruling.changes:
            assert self.entries[change.before.key] == change.before
            self.entries[change.after.key] = change.after
        self.entries[ruling.entry.key] = ruling.entry

    def standings(self) -> dict[str, Standing]:
        return {key: self.entries[key].standing for key in sorted(self.entries)}

    def gaps(self) -> dict[str, int]:
        return {key: kept.gap_minor for key, kept in self.entries.items() if kept.gap_minor}


FIRST = entry(10, 2500, 10000)


def proven(**settings: object) -> Line:
    """Return a line with two receipts whose balances join."""
    line = Line(**settings)  # type: ignore[arg-type]  # only the two settings of a line
    line.tell(FIRST, entry(11, 500, 10500))
    return line
