"""Deliver to a command (`exec:/path/command`) or a folder (`spool:/folder`) of this machine.

A payment is not delivered to a target that another user of the machine could have created. So the target and every
folder above it must belong to root or to the user that runs momo, and no other user may write to them. As in OpenSSH's
`StrictModes`, but a folder with the sticky bit (`/tmp`) is allowed: only the owner of an entry can replace it.

A command gets the body on standard input and the headers as environment variables named as in CGI (RFC 3875 section
4.1.18: `webhook-id` is `HTTP_WEBHOOK_ID`). No shell, no arguments, none of the daemon's environment. It has its own
process group, which is killed when the command ends or its time is over.

A folder gets one file `<webhook_id>.json` for each event, written atomically: under a hidden name, synced, renamed, and the
folder synced. An existing file was delivered before, so the same payment is in the folder once, even if it is sent
repeatedly.
"""

import asyncio
import contextlib
import os
import signal
import stat
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError
from daemon.core.webhooks.signing import STANDARD_ID_HEADER
from daemon.sender.https import PartialResponse
from daemon.sender.live_receivers import LISTEN_SCHEME, LiveReceivers

PATH_CHARACTERS_MAX: Final = 1024
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
EX_DATAERR: Final = 65
"""sysexits.h, "the input data was incorrect in some way": the only exit code that prevents a retry."""
# HTTP statuses represent exit codes and written files, so that all kinds of targets share the delivery states and the log.
_STATUS: Final = {0: 200, EX_DATAERR: 422}
WRITTEN: Final = 201
ALREADY_WRITTEN: Final = 200
FAILED: Final = 500
_OUTPUT_S: Final = 0.2
"""How long to wait for output after the command's end: a child process may keep the pipe open."""
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
MODE: Final = 0o640
"""The file contains names and numbers of customers; the folder's group may read it."""


class LocalKind(StrEnum):
    """Kind of a local target; the value is its scheme."""

    EXEC = "exec"
    """A command: gets the body on standard input, exit code 0 means delivered."""
    SPOOL = "spool"
    """A folder: one file for each event."""


class LocalTarget(Struct, frozen=True):
    """A parsed local address."""

    kind: LocalKind
    path: str


class LocalTargetError(Exception):
    """The target cannot be used; the text is the reason and the correct form."""


def parse_local_target(url: str) -> LocalTarget | None:
    """Parse a local address, None when it has another scheme.

    Raises:
        LocalTargetError: The address is local and malformed.
    """
    scheme, colon, path = url.partition(":")
    if not colon or scheme not in tuple(LocalKind):
        return None
    if not path.startswith("/") or len(path) > PATH_CHARACTERS_MAX or not path.isprintable():
        raise LocalTargetError(f"write it as {scheme}:/path, from the root, without arguments")
    # `/home/../etc` must be checked as `/etc`, and each target must have one spelling.
    if path != os.path.normpath(path) or path.startswith("//"):
        raise LocalTargetError(f"write the path as {scheme}:{os.path.normpath('/' + path.lstrip('/'))}")
    return LocalTarget(LocalKind(scheme), path)


def check_local_target(target: LocalTarget) -> str:
    """Return the reason why a target cannot be trusted or used now, "" when it can. Reads the disk."""
    try:
        why = _untrusted(target.path)
        if why:
            return why
        mode = Path(target.path).stat().st_mode
    except OSError as error:
        return f"{target.path}: {error.strerror}"
    if target.kind is LocalKind.EXEC:
        if not stat.S_ISREG(mode):
            return f"{target.path} is not a file"
        return "" if os.access(target.path, os.X_OK) else f"not executable: chmod u+x {target.path}"
    if not stat.S_ISDIR(mode):
        return f"{target.path} is not a folder"
    return "" if os.access(target.path, os.W_OK | os.X_OK) else f"momo may not write to {target.path}"


def _untrusted(path: str) -> str:
    """Check each component of the path as written, and of the path after resolving links."""
    trusted = (0, os.geteuid())
    for step in (*_steps(path), *_steps(os.path.realpath(path))):
        found = step.lstat()
        if found.st_uid not in trusted:
            return f"{step} belongs to another user (uid {found.st_uid})"
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if not stat.S_ISLNK(found.st_mode) and found.st_mode & _OTHERS_WRITE and not sticky:
            return f"others may write to {step}: chmod go-w {step}"
    return ""


def _steps(path: str) -> Iterator[Path]:
    whole = Path(path)
    yield from reversed(whole.parents)
    yield whole


async def run_command(
    target: LocalTarget, headers: Mapping[str, str], body: bytes, *, home: str, timeout_s: float
) -> AttemptOutcome:
    """Run the command once and return the outcome from its exit code.

    It runs in the folder `home`, for `timeout_s` of wall-clock time at most.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    answer = PartialResponse()
    code: DeliveryError | None = DeliveryError.HTTP_ERROR
    try:
        why = await asyncio.to_thread(check_local_target, target)
        if why:
            code, message = DeliveryError.BLOCKED_ADDRESS, why
        else:
            environment = {
                "PATH": _PATH,
                "LANG": "C.UTF-8",
                "CONTENT_LENGTH": str(len(body)),
                **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
            }
            # Our own pipe: with asyncio's, `wait` would not return before every child has closed it.
            ours, theirs = os.pipe()
            try:
                process = await asyncio.create_subprocess_exec(
                    target.path,
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
            pipes = [asyncio.create_task(_write_body(process, body)), asyncio.create_task(_read_output(ours, answer))]
            try:
                async with asyncio.timeout(timeout_s):
                    exit_code = await process.wait()
                await asyncio.wait(pipes, timeout=_OUTPUT_S)
            finally:
                # Also on cancellation: no process of the command outlives its attempt.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                for task in pipes:
                    task.cancel()
                await asyncio.gather(*pipes, return_exceptions=True)
                if process.stdin is not None:
                    process.stdin.close()
                await process.wait()
            ended = f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
            message = f"the command ended {ended}"
            answer.status_code = _STATUS.get(exit_code, FAILED)
            if answer.status_code == _STATUS[0]:
                code, message = None, ""
    except TimeoutError:
        code, message = DeliveryError.TIMEOUT, f"the command did not end within {timeout_s:g} s"
    except OSError as error:
        answer.status_code = FAILED
        message = f"the command cannot be run: {error.strerror}"
    return AttemptOutcome(
        status_code=answer.status_code,
        response_body=answer.text(),
        error_code=code,
        error_message=message or None,
        duration_us=round((loop.time() - started) * 1_000_000),
        connected=True,  # a failure here is not caused by our own connection
    )


async def _write_body(process: asyncio.subprocess.Process, body: bytes) -> None:
    """Write the body; the command need not read it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
        process.stdin.close()


async def _read_output(pipe: int, answer: PartialResponse) -> None:
    """Read the command's output; output beyond 64 KiB is dropped, so that the command never blocks."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    try:
        while chunk := await reader.read(16 * 1024):
            answer.take(chunk)
    finally:
        transport.close()


async def write_file(target: LocalTarget, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
    """Write one event into the folder."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    name = headers[STANDARD_ID_HEADER]
    code: DeliveryError | None = None
    status: int | None = None
    message: str | None = None
    answer = ""
    why = await asyncio.to_thread(check_local_target, target)
    if why:
        code, message = DeliveryError.BLOCKED_ADDRESS, why
    else:
        try:
            new = await asyncio.to_thread(put, target.path, name, headers["X-Svc-Delivery"], body)
            status, answer = (WRITTEN, f"{name}.json") if new else (ALREADY_WRITTEN, f"{name}.json was there already")
        except OSError as error:
            code, status = DeliveryError.HTTP_ERROR, FAILED
            message = f"the file cannot be written: {error.strerror}"
    return AttemptOutcome(
        status_code=status,
        response_body=answer,
        error_code=code,
        error_message=message,
        duration_us=round((loop.time() - started) * 1_000_000),
        connected=True,  # a failure here is not caused by our own connection
    )


def put(folder: str, name: str, writer: str, body: bytes) -> bool:
    """Write one file durably; False when it already exists. Blocks.

    `name` is the event's id, made of letters and digits. `writer` is the delivery's id: two writers never share a
    hidden name, one may reuse its own after a crash.

    Raises:
        OSError: The file was not written; no file of this name is in the folder.
    """
    parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        final, hidden = f"{name}.json", f".{name}.{writer}.part"
        with contextlib.suppress(FileNotFoundError):
            os.stat(final, dir_fd=parent, follow_symlinks=False)
            return False
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(hidden, flags, MODE, dir_fd=parent), "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            os.rename(hidden, final, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(hidden, dir_fd=parent)
            raise
        os.fsync(parent)
    finally:
        os.close(parent)
    return True


class Target(Protocol):
    """A sender of single attempts. Failures of the receiver are in the outcome and are not raised."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        """Deliver one event."""

    async def aclose(self) -> None:
        """Release the resources kept between two attempts."""


class Targets:
    """Sends https with `https`, `exec:` and `spool:` on this machine, `listen:` to `momo listen`."""

    def __init__(self, https: Target, live: LiveReceivers, *, home: str, timeout_s: float) -> None:
        self._https = https
        self._live = live
        self._home = home
        self._timeout_s = timeout_s

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AttemptOutcome:
        """Make one attempt with the sender for the address."""
        if url.startswith(LISTEN_SCHEME):
            return await self._live.post(url, headers, body, self._timeout_s)
        try:
            target = parse_local_target(url)
        except LocalTargetError as error:
            return AttemptOutcome(None, "", DeliveryError.BLOCKED_ADDRESS, str(error), 0, connected=True)
        if target is None:
            return await self._https.post(url, headers, body)
        if target.kind is LocalKind.SPOOL:
            return await write_file(target, headers, body)
        return await run_command(target, headers, body, home=self._home, timeout_s=self._timeout_s)

    async def aclose(self) -> None:
        """Close the sender's connections."""
        await self._https.aclose()
