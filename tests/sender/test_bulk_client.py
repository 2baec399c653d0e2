"""Posts through the sending process: they are as the daemon's own, and nothing is lost with the process."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.core.webhooks.delivery import DeliveryError, Outcome
from daemon.sender import bulk_client
from daemon.sender.bulk_client import RemoteSender, SendingProcess
from daemon.sender.bulk_process import Settings
from tests.fakes.receiver import HANG, Answer, Receiver
from tests.fakes.sender import FakeSender, answered
from tests.fakes.signed_webhook import BODY, headers, post
from tests.fakes.waiting import until

Failures = list[str]
PATIENCE_S = 30.0
"""For an attempt: the process may start on a busy machine, and no test here waits for this to pass."""


@pytest.fixture
def failures() -> Failures:
    return []


@pytest.fixture
def posts() -> list[str]:
    """What the daemon posted by itself."""
    return []


@pytest.fixture
async def process(receiver: Receiver, failures: Failures) -> AsyncIterator[SendingProcess]:
    settings = Settings(("localhost",), (), receiver.ca_file, PATIENCE_S, PATIENCE_S)
    made = SendingProcess(settings, on_failure=failures.append)
    yield made
    await made.aclose()


@pytest.fixture
async def sender(process: SendingProcess, posts: list[str]) -> AsyncIterator[RemoteSender]:
    made = process.sender(itself(posts))
    yield made
    await made.aclose()


def itself(posts: list[str]) -> FakeSender:
    """What the daemon posts with by itself; it keeps the addresses."""

    def answer(url: str) -> Outcome:
        posts.append(url)
        return answered(202)

    return FakeSender(answer, [])


async def gone(pid: int) -> bool:
    """Say whether a process ends soon."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    return True
                await asyncio.sleep(0.01)
    return False


async def test_a_post_arrives_byte_for_byte_and_signed_from_another_process(
    receiver: Receiver, process: SendingProcess, sender: RemoteSender, posts: list[str]
) -> None:
    outcome = await post(sender, receiver.url("/hook?a=1"))
    assert replace(outcome, duration_us=0) == Outcome(200, "ok", None, None, 0, None, True)
    (request,) = receiver.requests
    assert (request.path, request.body, request.verified) == ("/hook?a=1", BODY, True)
    assert process.pid not in (None, os.getpid())
    assert posts == []


async def test_a_sender_keeps_its_connection_warm_and_lets_it_go_when_it_is_closed(
    receiver: Receiver, process: SendingProcess, sender: RemoteSender, posts: list[str]
) -> None:
    for _ in range(3):
        await post(sender, receiver.url())
    other = process.sender(itself(posts))
    await post(other, receiver.url())
    assert [request.connection for request in receiver.requests] == [1, 1, 1, 2]
    assert len(receiver._open) == 2
    await other.aclose()
    await until(lambda: len(receiver._open) == 1)


async def test_what_the_far_end_does_is_told_as_it_is(
    receiver: Receiver, sender: RemoteSender, failures: Failures
) -> None:
    receiver.script(Answer(503, headers=(("Retry-After", "120"),), body="why ☹".encode()))
    busy = await post(sender, receiver.url())
    assert (busy.status_code, busy.response_body, busy.retry_after_s) == (503, "why ☹", 120)
    assert busy.error_code is DeliveryError.HTTP_ERROR
    blocked = await post(sender, "https://169.254.169.254/latest")
    assert (blocked.error_code, blocked.connected) == (DeliveryError.BLOCKED_ADDRESS, False)
    with socket.socket() as unheard:  # bound, so that nobody else takes it; not listening
        unheard.bind(("127.0.0.1", 0))
        refused = await post(sender, f"https://localhost:{unheard.getsockname()[1]}/")
    assert refused.error_code is DeliveryError.CONNECTION_REFUSED
    assert failures == []


async def test_workers_that_begin_together_share_one_process(
    receiver: Receiver, process: SendingProcess, posts: list[str]
) -> None:
    senders = [process.sender(itself(posts)) for _ in range(4)]
    started: set[int | None] = set()

    async def work(sender: RemoteSender) -> None:
        for _ in range(5):
            await post(sender, receiver.url())
            started.add(process.pid)

    await asyncio.gather(*map(work, senders))
    assert len(receiver.requests) == 20
    assert len(started) == 1
    assert posts == []


async def test_what_dies_with_the_process_is_posted_by_the_daemon_itself(
    receiver: Receiver,
    process: SendingProcess,
    sender: RemoteSender,
    posts: list[str],
    failures: Failures,
) -> None:
    receiver.script(Answer(), HANG)
    await post(sender, receiver.url())
    assert process.pid is not None
    under_way = asyncio.create_task(post(sender, receiver.url("/hangs")))
    await until(lambda: len(receiver.requests) == 2)
    os.kill(process.pid, signal.SIGKILL)
    assert (await under_way).status_code == 202
    assert posts == [receiver.url("/hangs")]
    assert failures == ["it ended"]
    await post(sender, receiver.url("/next"))
    assert posts[1:] == [receiver.url("/next")], "no other process is started at once"
    assert process.pid is None


async def test_after_a_while_another_process_is_started(
    receiver: Receiver,
    process: SendingProcess,
    sender: RemoteSender,
    posts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk_client, "PROCESS_RETRY_S", 0.0)
    await post(sender, receiver.url())
    assert process.pid is not None
    first = process.pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: process.pid is None)
    assert (await post(sender, receiver.url())).status_code == 200
    assert process.pid not in (None, first)
    assert posts == []


async def test_a_process_that_does_not_answer_is_ended(
    receiver: Receiver,
    process: SendingProcess,
    sender: RemoteSender,
    posts: list[str],
    failures: Failures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await post(sender, receiver.url())
    assert process.pid is not None
    stuck = process.pid
    monkeypatch.setattr(bulk_client, "STARTUP_S", 0.2 - PATIENCE_S)
    monkeypatch.setattr(bulk_client, "END_S", 0.1)
    os.kill(stuck, signal.SIGSTOP)
    assert (await post(sender, receiver.url())).status_code == 202
    assert failures == ["it does not answer"]
    assert await gone(stuck)


async def test_without_a_process_the_daemon_posts_by_itself(
    receiver: Receiver,
    sender: RemoteSender,
    posts: list[str],
    failures: Failures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert (await post(sender, receiver.url())).status_code == 202
    assert posts == [receiver.url()]
    assert failures == ["it could not be started: No such file or directory"]


async def test_a_fault_of_ours_in_the_process_is_told_and_the_daemon_posts_by_itself(
    receiver: Receiver,
    process: SendingProcess,
    sender: RemoteSender,
    posts: list[str],
    failures: Failures,
) -> None:
    outcome = await sender.post(receiver.url(), {**headers(), "X-Name": "☹"}, BODY)
    assert (outcome.status_code, len(posts)) == (202, 1)
    assert failures == ["fault UnicodeEncodeError"]
    assert (await post(sender, receiver.url())).status_code == 200, "the process goes on"


async def test_the_process_ends_when_there_is_nothing_to_post_and_starts_again(
    receiver: Receiver,
    process: SendingProcess,
    sender: RemoteSender,
    failures: Failures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bulk_client, "IDLE_S", 0.05)
    await post(sender, receiver.url())
    assert process.pid is not None
    first = process.pid
    await until(lambda: process.pid is None)
    assert await gone(first)
    assert (await post(sender, receiver.url())).status_code == 200
    assert failures == []


async def test_ctrl_c_is_the_daemons_to_hear(
    receiver: Receiver, process: SendingProcess, sender: RemoteSender, posts: list[str]
) -> None:
    await post(sender, receiver.url())
    assert process.pid is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(process.pid, number)
    assert (await post(sender, receiver.url())).status_code == 200
    assert posts == []


async def test_a_closed_process_is_gone(
    receiver: Receiver, process: SendingProcess, sender: RemoteSender, failures: Failures
) -> None:
    await post(sender, receiver.url())
    assert process.pid is not None
    first = process.pid
    await process.aclose()
    assert await gone(first)
    assert failures == []


async def test_the_process_ends_with_a_daemon_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from daemon.sender.bulk_client import SendingProcess\n"
        "from daemon.sender.bulk_process import Settings\n"
        "async def main():\n"
        "    process = SendingProcess(Settings((), (), '', 1.0, 1.0))\n"
        "    await process.post(1, 'https://127.0.0.1:1/', {}, b'')\n"
        "    print(process.pid, flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    daemon = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220 - starting it is quick
    assert daemon.stdout is not None
    pid = int(await asyncio.to_thread(daemon.stdout.readline))
    os.kill(pid, 0)
    daemon.kill()
    daemon.wait(10)
    daemon.stdout.close()
    assert await gone(pid)
