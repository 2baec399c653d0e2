"""The requests of a branch to its hub, and the handling of the answers."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from daemon.core.branches.facts import BYTES_MAX, SyncRequest
from daemon.env import Env
from daemon.store import journal
from daemon.store.branches import feed, link
from daemon.store.branches.link import KEY_PURPOSE, HubLink
from daemon.store.engine import Tx
from daemon.wire import VERSION, Mode


class Outgoing(Struct, frozen=True):
    """The next request, where it goes, and the key; `size` is the bytes of its facts as JSON."""

    link: HubLink
    key: str
    request: SyncRequest
    size: int

    @property
    def is_empty(self) -> bool:
        """Whether it only asks for commands."""
        r = self.request
        return not (r.facts or r.outcomes or r.stale) and r.upto == r.after


async def prepare(
    env: Env,
    outcomes: Mapping[str, Mapping[str, Any]],
    *,
    stale: bool,
    size_max: int = BYTES_MAX,
) -> Outgoing | None:
    """Return the next request, recorded as sent; None if this shop is not a branch.

    Args:
        env: The shop.
        outcomes: By the id of a command, its outcome.
        stale: The hub answered the last request with BRANCH_STALE.
        size_max: Bytes of its facts as JSON.

    Raises:
        Unavailable: Nothing can be written.
        SecretsLocked: The key cannot be read.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[HubLink, SyncRequest, int] | None:
        found = link.get(tx)
        if found is None:
            return None
        texts = env.config.hub.send_texts
        some = feed.batch(tx, found.acked_seq, texts=texts, size_max=size_max)
        turn = found.turn + 1
        link.begin_turn(tx, turn, some.sent)
        request = SyncRequest(
            found.epoch, turn, found.acked_seq, some.upto, some.facts, outcomes, stale, VERSION, now
        )
        return found, request, some.size

    made = await env.store.write(job)
    if made is None:
        return None
    key = env.vault.unseal(made[0].key_sealed, KEY_PURPOSE).decode()
    return Outgoing(made[0], key, made[1], made[2])


async def take_answer(env: Env, sent: Outgoing, answer: Mapping[str, Any]) -> bool:
    """Record the hub's acknowledgement; return whether more can be sent at once."""
    now = env.clock.now_us()
    want = answer.get("want")

    def job(tx: Tx) -> bool:
        found = link.get(tx)
        if found is None or (found.epoch, found.turn) != (sent.request.epoch, sent.request.turn):
            return True  # this shop left or was restored meanwhile
        acked = max(found.acked_seq, min(int(answer["acked"]), sent.request.upto))
        if isinstance(want, Mapping):
            _send_again(tx, found, int(want["from_seq"]))
            return True
        link.end_turn(tx, acked, now)
        feed.prune(tx, acked)
        return acked < feed.bounds(tx)[1]

    return await env.store.write(job)


def _send_again(tx: Tx, found: HubLink, after: int) -> None:
    """Send the facts that the hub lost again: from the feed, or every row if the feed no longer has it."""
    first, last = feed.bounds(tx)
    if after + 1 >= first:
        link.rewind(tx, after)
    else:
        feed.add_everything(tx)
        link.new_epoch(tx, found.epoch + 1, last, feed.bounds(tx)[1])


async def note_problem(env: Env, why: str) -> None:
    """Record why the hub did not take a request, and once tell the owner."""
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        found = link.get(tx)
        if found is not None and found.problem != why:
            link.set_problem(tx, why)
            journal.add(
                tx, type="hub.problem", mode=Mode.LIVE, at=now, data={"why": why, "hub": found.url}
            )

    await env.store.write(job)
