"""An emulated phone in its own process: start it, send it events, inspect it, stop it."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

ANSWER_TIMEOUT_S = 60.0
ROOT = Path(__file__).resolve().parents[2]


class PhoneRefused(Exception):
    """The phone answered a request with an error."""


class PhoneProcess:
    """The program `tests.phones`, controlled over its standard input.

    Use it as a context manager. It survives kills of the daemon and ends with the process that started it. Calls block
    for microseconds.
    """

    def __init__(  # one argument per flag of the program
        self,
        link: Path,
        *,
        storages: Mapping[str, int] | None = None,
        latency_s: float = 0.0,
        identity: Mapping[str, str] | None = None,
        max_seconds: float = 1_800.0,
        family: str = "generic",
        faults: Sequence[str] = (),
        second_sim: Mapping[str, object] | None = None,
    ) -> None:
        """Take the phone's properties.

        `identity` has the names of `emulator.phone.Identity`, `faults` those of `Phone.play`, and `second_sim` is for
        `Sim.from_data`.
        """
        self.link = link
        self.tty = ""
        self._arguments = [
            f"--link={link}",
            f"--latency-s={latency_s}",
            f"--max-seconds={max_seconds}",
            f"--family={family}",
            *(f"--fault={fault}" for fault in faults),
            *([f"--second-sim={json.dumps(second_sim)}"] if second_sim else []),
            *(f"--storage={name}={slots}" for name, slots in (storages or {}).items()),
            *(f"--{n.replace('_', '-')}={value}" for n, value in (identity or {}).items()),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = bytearray()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Return the process number."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Start the program; return when its tty exists."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.phones", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        try:
            self.tty = self._read()["tty"]
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the program and wait for its end. A second call does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        """Send one request; return the answer.

        Raises:
            PhoneRefused: The phone refused; the text is its reason.
        """
        assert self._process is not None, "start it first"
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command, **fields}).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._read()
        if not answer["ok"]:
            raise PhoneRefused(answer["error"])
        return answer

    def deliver(self, pdus: Sequence[str], storage: str | None = None, iccid: str | None = None) -> list[bool]:
        """Deliver SMS from the network; return False for each that waits for a free slot."""
        answer = self.ask("deliver", pdus=list(pdus), storage=storage, iccid=iccid)
        stored: list[bool] = answer["stored"]
        return stored

    def preload(self, pdus: Sequence[str], storage: str = "SM") -> list[int]:
        """Store SMS without a notice."""
        indexes: list[int] = self.ask("preload", pdus=list(pdus), storage=storage)["indexes"]
        return indexes

    def fault(self, **faults: object) -> None:
        """Set faults by the names of `emulator.faults.Faults`; bytes as hex text."""
        self.ask("fault", faults=faults)

    def play(self, fault: str) -> None:
        """Apply a fault preset; `none` clears every fault that can be cleared."""
        self.ask("play", fault=fault)

    def take_sim(self) -> dict[str, Any]:
        """Remove the SIM, with its messages and the messages that wait for it."""
        sim: dict[str, Any] = self.ask("take_sim")["sim"]
        return sim

    def insert_sim(self, sim: Mapping[str, object]) -> None:
        """Insert a SIM, such as one removed from another phone."""
        self.ask("insert_sim", sim=dict(sim))

    def unplug(self) -> None:
        """Unplug the phone."""
        self.ask("unplug")

    def plug(self, *, renumber: bool = False) -> str:
        """Plug the phone in again; return the tty's own name."""
        self.tty = self.ask("plug", renumber=renumber)["tty"]
        return self.tty

    def state(self, deleted_from: int = 0, commands: int = 100) -> dict[str, Any]:
        """Return the phone's contents and its event log (`PhonePort.state`)."""
        answer = self.ask("state", deleted_from=deleted_from, commands=commands)
        state: dict[str, Any] = answer["state"]
        return state

    def is_empty(self) -> bool:
        """Return whether no SMS is stored or waiting. Suitable for polling: the answer is short."""
        state = self.state(deleted_from=sys.maxsize, commands=0)
        return not (state["stored"] or state["held"])

    def deleted_pdus(self) -> list[str]:
        """Return every deleted PDU, in order."""
        return [deletion["pdu"] for deletion in self.state()["deleted"]]

    def _read(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        until = time.monotonic_ns() + int(ANSWER_TIMEOUT_S * 1e9)
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0, until - time.monotonic_ns()) / 1e9):
                    raise TimeoutError(f"the emulated phone said nothing in {ANSWER_TIMEOUT_S} s")
                data = os.read(fd, 1 << 20)
                if not data:
                    raise EOFError("the emulated phone ended; see what it wrote to stderr")
                self._unread += data
        line, _, rest = self._unread.partition(b"\n")
        self._unread = bytearray(rest)
        answer: dict[str, Any] = json.loads(line)
        return answer
