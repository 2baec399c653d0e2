"""A line for tests of the balance chain: messages that arrive one by one, and their standings."""

from collections.abc import Callable

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance import LineMessages
from daemon.core.messages.balance_chain import ChainEntry, Standing
from tests.fakes.rows import AT

ACCEPTED, HELD, UNCONFIRMED = Standing.ACCEPTED, Standing.HELD, Standing.UNCONFIRMED
REFUTED, NOTED = Standing.REFUTED, Standing.NOTED


def entry(
    number: int,
    effect: int | None,
    after: int | None,
    *,
    home: bool = True,
    smsc: str = "+233240000099",
    late: int = 0,
    pays: bool | None = None,
    doubts: tuple[str, ...] = (),
    key: str | None = None,
) -> ChainEntry:
    """Make a message of minute `number`, stored `late` minutes after it."""
    at = AT + number * MINUTE_US
    return ChainEntry(
        key=key or f"m{number}",
        seq=number,
        at=at,
        stored_at=at + late * MINUTE_US,
        telco_id=f"{93_000_000_000 + number}",
        pays=(effect or 0) > 0 if pays is None else pays,
        effects=() if effect is None else (effect,),
        after=after,
        smsc=smsc if home else "+447000000001",
        home=home,
        doubts=doubts,
    )


class Wallet:
    """A line that keeps the changes of each message, as the store does."""

    def __init__(self, begin: int | None = 10_000) -> None:
        self.entries: dict[str, ChainEntry] = {}
        if begin is not None:
            self.change(lambda line: line.begin(entry(0, 0, begin)))

    def tell(self, *news: ChainEntry) -> Standing:
        """Judge messages in this order; return the standing of the last one."""
        for new in news:
            self.change(lambda line, new=new: line.take(new, claims=new.pays))  # type: ignore[misc]
        return self.entries[news[-1].key].standing

    def change(self, act: Callable[[LineMessages], object]) -> object:
        line = LineMessages(self.entries.values())
        told = act(line)
        for _, now in line.changes():
            self.entries[now.key] = now
        return told

    def at(self, number: int) -> int:
        return AT + number * MINUTE_US

    @property
    def end(self) -> int | None:
        end = LineMessages(self.entries.values()).end
        return None if end is None else end.after

    def standings(self, *keys: str) -> list[Standing]:
        return [self.entries[key].standing for key in keys]

    def gaps(self) -> dict[str, int]:
        return {key: one.gap_minor for key, one in self.entries.items() if one.gap_minor}
