"""Values between two processes of the daemon: they come whole and in order, however the octets are cut."""

import asyncio
import socket
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.sender.bulk_process import Frames

PLAIN = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | st.booleans(),
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Recorder:
    def __init__(self) -> None:
        self.sent = bytearray()

    def write(self, data: bytes) -> None:
        self.sent += data


@given(values=st.lists(PLAIN, max_size=5), cuts=st.lists(st.integers(1, 40), min_size=1))
def test_values_come_whole_however_they_are_cut(values: list[Any], cuts: list[int]) -> None:
    recorder: Any = Recorder()
    sending = Frames(lambda _value: None, lambda: None)
    sending.connection_made(recorder)
    for value in values:
        sending.send(value)
    came: list[Any] = []
    receiving = Frames(came.append, lambda: None)
    rest, turn = bytes(recorder.sent), 0
    while rest:
        cut = cuts[turn % len(cuts)]
        receiving.data_received(rest[:cut])
        rest, turn = rest[cut:], turn + 1
    assert came == values


async def test_the_end_of_the_other_side_is_told_once() -> None:
    ours, its = socket.socketpair()
    ended = asyncio.Event()
    frames = await Frames.over(ours, lambda _value: None, ended.set)
    its.close()
    async with asyncio.timeout(5):
        await ended.wait()
    frames.close()
