"""Deliver to a command of this machine: `exec:/path/command`.

The body comes on its standard input, the headers as environment variables named as in CGI (RFC 3875 section 4.1.18:
`webhook-id` is `HTTP_WEBHOOK_ID`). No shell, no arguments, none of the daemon's environment. It leads a process
group of its own, all of which ends when the command does, or its time.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Final

from daemon.core.delivery import DeliveryError, Outcome
from daemon.webhooks.answer import Answer
from daemon.webhooks.local_places import Place, check_place

EX_DATAERR: Final = 65
"""sysexits.h, "the input data was incorrect in some way": the one exit that says never again."""
_STATUS: Final = {0: 200, EX_DATAERR: 422}
_FAILED: Final = 500
"""The statuses that stand for exits, so that one table of states and one log serve every target."""
_LAST_WORDS_S: Final = 0.2
"""How long what the command wrote is waited for after its end: a child of it may hold the pipe open."""
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


async def run(
    place: Place, headers: Mapping[str, str], body: bytes, *, home: str, timeout_s: float
) -> Outcome:
    """Run the command once and judge its exit.

    Args:
        place: The command.
        headers: As they would be sent.
        body: As it would be sent.
        home: Its working directory.
        timeout_s: By the wall clock, from start to exit.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    answer = Answer()
    code: DeliveryError | None = DeliveryError.HTTP_ERROR
    try:
        why = await asyncio.to_thread(check_place, place)
        if why:
            code, message = DeliveryError.BLOCKED_ADDRESS, why
        else:
            answer.status_code, message = await _run(
                place.path, _environment(headers, body), body, answer, home, timeout_s
            )
            if answer.status_code == _STATUS[0]:
                code, message = None, ""
    except TimeoutError:
        code, message = DeliveryError.TIMEOUT, f"the command did not end within {timeout_s:g} s"
    except OSError as error:
        answer.status_code = _FAILED
        message = f"the command cannot be run: {error.strerror}"
    return Outcome(
        status_code=answer.status_code,
        response_body=answer.text(),
        error_code=code,
        error_message=message or None,
        duration_us=round((loop.time() - started) * 1_000_000),
        connected=True,  # whatever failed, our own link did not
    )


async def _run(
    path: str,
    environment: Mapping[str, str],
    body: bytes,
    answer: Answer,
    home: str,
    timeout_s: float,
) -> tuple[int, str]:
    # A pipe of our own: asyncio's would put off the news of the exit until every child has closed it.
    ours, theirs = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            stdin=asyncio.subprocess.PIPE,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            cwd=home,
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    talking = [
        asyncio.create_task(_feed(process, body)),
        asyncio.create_task(_hear(ours, answer)),
    ]
    try:
        async with asyncio.timeout(timeout_s):
            exit_code = await process.wait()
        await asyncio.wait(talking, timeout=_LAST_WORDS_S)
    finally:
        # Also when we are cancelled: nothing of it outlives its attempt.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()
    ended = f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
    return _STATUS.get(exit_code, _FAILED), f"the command ended {ended}"


async def _feed(process: asyncio.subprocess.Process, body: bytes) -> None:
    """Write the body. A command need not read it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
        process.stdin.close()


async def _hear(pipe: int, answer: Answer) -> None:
    """Read what the command writes; beyond 64 KiB it is thrown away, so that it never waits for us."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    try:
        while chunk := await reader.read(16 * 1024):
            answer.take(chunk)
    finally:
        transport.close()


def _environment(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    return {
        "PATH": _PATH,
        "LANG": "C.UTF-8",
        "CONTENT_LENGTH": str(len(body)),
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }
