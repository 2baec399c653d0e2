"""The emulated phone as a program: `python -m tests.phones --link /tmp/phone`.

It reads requests as one JSON object per line from standard input or a Unix socket (`--control`) and
answers each with one object: `{"ok": true, ...}`, or `{"ok": false, "error": "..."}` when the request
had no effect. The first line it writes contains `ready`, `tty`, `link` and `pid`.

    {"command": "deliver", "pdus": ["07..."], "storage": "SM"}     stored: [true, false, ...]
    {"command": "deliver", "pdus": ["07..."], "iccid": "89..."}    for one of two SIMs
    {"command": "preload", "pdus": ["07..."], "storage": "SM"}     indexes: [1, 2, ...]
    {"command": "fault", "faults": {"silent": true}}
    {"command": "play", "fault": "hang"}                           Phone.play; unplug, plug
    {"command": "take_sim"}                                        sim: {"iccid": "89...", ...}
    {"command": "insert_sim", "sim": {"iccid": "89...", ...}}      Sim.from_data
    {"command": "unplug"}, {"command": "plug", "renumber": true}   tty
    {"command": "resize", "storage": "SM", "capacity": 10}
    {"command": "latency", "latency_s": 0.03}
    {"command": "state", "deleted_from": 0, "commands": 100}       state: PhonePort.state
    {"command": "quit"}

It ends at `quit`, a signal, the end of its input, the end of its parent process or after
`--max-seconds`, and removes the link. An answer is written as a whole within `ANSWER_TIMEOUT_S`, so
the client must read it.
"""

import argparse
import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from tests.phones.faults import EVENTS, PRESETS
from tests.phones.phone import Phone
from tests.phones.pty import BACK_S, TURN_S_MAX, PhonePort
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Identity, Sim

REQUEST_BYTES_MAX: Final = 64 << 20
"""Enough for a preload of the largest storage."""
ANSWER_TIMEOUT_S: Final = 5.0
MAX_SECONDS_DEFAULT: Final = 3600.0
CALLERS_MAX: Final = 8
EXIT_USAGE: Final = 2

Value = TypeVar("Value")
Request = dict[str, object]


class Control:
    """Carries out requests given as JSON texts; returns answers as JSON texts."""

    def __init__(self, port: PhonePort) -> None:
        self.quitting = False
        self._port = port
        self._commands: dict[str, Callable[[Request], Request | None]] = {
            "deliver": lambda request: {
                "stored": port.deliver(
                    _pdus(request),
                    _field(request, "storage", str, "") or None,
                    _field(request, "iccid", str, "") or None,
                )
            },
            "preload": lambda request: {"indexes": port.preload(_pdus(request), _field(request, "storage", str, "SM"))},
            "fault": lambda request: port.fault(**_field(request, "faults", dict)),
            "play": lambda request: port.play(_field(request, "fault", str)),
            "take_sim": lambda _: {"sim": port.take_sim().as_data()},
            "insert_sim": lambda request: port.insert_sim(Sim.from_data(_field(request, "sim", dict))),
            "unplug": lambda _: port.unplug(),
            "plug": lambda request: {"tty": port.plug(renumber=_field(request, "renumber", bool, default=False))},
            "resize": self._resize,
            "latency": self._latency,
            "state": lambda request: {
                "state": port.state(
                    max(0, _field(request, "deleted_from", int, 0)), _field(request, "commands", int, 100)
                )
            },
            "quit": self._quit,
        }

    def answer(self, line: bytes) -> bytes:
        """Carry out the request in one line; return the answer line."""
        try:
            said = {"ok": True, **self._do(json.loads(line))}
        except (ValueError, TypeError, OSError, RecursionError) as error:
            said = {"ok": False, "error": str(error)}
        return json.dumps(said).encode() + b"\n"

    def _do(self, request: object) -> Request:
        if not isinstance(request, dict):
            raise TypeError("a request is a JSON object")
        command = self._commands.get(str(request.get("command")))
        if command is None:
            raise ValueError("'command' is one of " + ", ".join(self._commands))
        return command(request) or {}

    def _resize(self, request: Request) -> None:
        storage, capacity = _field(request, "storage", str, "SM"), _field(request, "capacity", int)
        self._port.call(lambda phone: phone.resize(storage, capacity))

    def _latency(self, request: Request) -> None:
        latency_s = request.get("latency_s")
        if not isinstance(latency_s, int | float) or not 0 <= latency_s <= 60:
            raise ValueError("'latency_s' is 0 to 60 seconds")
        self._port.latency_s = float(latency_s)

    def _quit(self, _: Request) -> None:
        self.quitting = True


class Caller:
    """One client: its input and its output."""

    def __init__(self, control: Control, read: Callable[[int], bytes], write: Callable[[bytes], None]) -> None:
        """Serve one client; an OSError of `read` or `write` ends it."""
        self._control = control
        self._read = read
        self._write = write
        self._buffer = bytearray()

    def serve(self) -> bool:
        """Read input and answer each complete line; False when the client is gone."""
        try:
            data = self._read(1 << 20)
            if not data:
                return False
            searched = len(self._buffer)
            self._buffer += data
            while (end := self._buffer.find(b"\n", searched)) >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                searched = 0
                if line.strip():
                    self._write(self._control.answer(line))
        except OSError:
            return False
        return len(self._buffer) <= REQUEST_BYTES_MAX


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    options = _parser().parse_args(arguments)
    family = FAMILIES[options.family]
    told = {name: getattr(options, name) for name in Identity.__struct_fields__}
    identity = family.identity(**{name: text for name, text in told.items() if text is not None})
    try:
        spare = Sim.from_data(json.loads(options.second_sim)) if options.second_sim else None
        phone = Phone(identity, dict(options.storage) or None, family, spare)
        port = PhonePort(phone, link=options.link, latency_s=options.latency_s)
        port.back_s = options.back_s
        tty = port.plug()
        for fault in options.fault:
            port.play(fault)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"emulated phone: {error}\n")
        return EXIT_USAGE
    control = Control(port)

    def stop(*_: object) -> None:
        control.quitting = True
        port.wake()

    with contextlib.ExitStack() as stack:
        stack.callback(port.stop)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, stop)
        try:
            if options.control:
                _listen(control, port, Path(options.control), stack)
            else:
                _listen_to_input(control, port)
        except OSError as error:
            where = options.control or "standard input"
            sys.stderr.write(f"emulated phone: {where}: {error.strerror}\n")
            return EXIT_USAGE
        ready = {"ready": True, "tty": tty, "link": str(port.link), "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        parent = os.getppid()
        end_ns = time.monotonic_ns() + int(options.max_seconds * 1e9)
        while not control.quitting and os.getppid() == parent:
            left_s = (end_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                break
            port.run_once(min(left_s, TURN_S_MAX))
    return 0


def _listen_to_input(control: Control, port: PhonePort) -> None:
    def write(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    caller = Caller(control, lambda size: os.read(0, size), write)

    def serve() -> None:
        control.quitting = not caller.serve() or control.quitting

    port.selector.register(0, selectors.EVENT_READ, serve)


def _listen(control: Control, port: PhonePort, path: Path, stack: contextlib.ExitStack) -> None:
    listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    if path.is_socket():
        path.unlink()
    listener.bind(str(path))
    stack.callback(path.unlink, missing_ok=True)
    path.chmod(0o600)
    listener.listen(CALLERS_MAX)
    listener.setblocking(False)
    callers: set[socket.socket] = set()

    def hang_up() -> None:
        for connection in callers:
            connection.close()

    stack.callback(hang_up)

    def accept() -> None:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return
        if len(callers) >= CALLERS_MAX:
            connection.close()
            return
        connection.settimeout(ANSWER_TIMEOUT_S)
        callers.add(connection)
        caller = Caller(control, connection.recv, connection.sendall)

        def serve() -> None:
            if not caller.serve():
                port.selector.unregister(connection)
                callers.discard(connection)
                connection.close()

        port.selector.register(connection, selectors.EVENT_READ, serve)

    port.selector.register(listener, selectors.EVENT_READ, accept)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.phones", description="A phone with a SIM, emulated on a pty."
    )
    parser.add_argument("--link", required=True, help="symbolic link to the tty")
    parser.add_argument("--control", metavar="PATH", help="Unix socket instead of standard input")
    parser.add_argument("--latency-s", type=_seconds, default=0.0, help="how long a command takes")
    parser.add_argument("--max-seconds", type=_seconds, default=MAX_SECONDS_DEFAULT)
    parser.add_argument(
        "--storage",
        type=_capacity,
        action="append",
        default=[],
        metavar="NAME=SLOTS",
        help="capacity of a storage; the first one receives (default: the family's storages)",
    )
    parser.add_argument("--family", choices=sorted(FAMILIES), default="generic")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME",
        help="fault from the start: " + ", ".join((*EVENTS, *PRESETS)) + ", FIELD=VALUE",
    )
    parser.add_argument("--second-sim", metavar="JSON", help='a SIM in the second slot, such as {"iccid": "89..."}')
    parser.add_argument("--back-s", type=_seconds, default=BACK_S, help="how long a restart takes")
    for name in Identity.__struct_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", help="default: the family's value")
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 1e6:
        raise ValueError(text)
    return seconds


def _capacity(text: str) -> tuple[str, int]:
    name, _, slots = text.partition("=")
    if not (name.isascii() and name.isalnum()):
        raise ValueError(text)
    return name.upper(), int(slots)


def _field(request: Request, name: str, kind: type[Value], default: Value | None = None) -> Value:
    value = request.get(name)
    if value is None:
        value = default
    if type(value) is not kind:
        raise TypeError(f"{name!r} is {'missing' if value is None else 'not ' + kind.__name__}")
    return value


def _pdus(request: Request) -> list[str]:
    pdus: list[object] = _field(request, "pdus", list)
    texts = [pdu for pdu in pdus if isinstance(pdu, str)]
    if len(texts) != len(pdus):
        raise TypeError("'pdus' is a list of hex texts")
    return texts


if __name__ == "__main__":
    raise SystemExit(main())
