"""A temporary shop with the real programs: the daemon, the CLI, and an emulated phone on a pty."""

import contextlib
import datetime
import json
import os
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from daemon import wire
from daemon.core.errors import MomoError
from daemon.core.messages import sandbox
from daemon.emulator.phone import Identity
from daemon.modem.codec.pdu_encode import encode_deliver
from parsers.money import read_api_amount
from parsers.times import to_us

START_S: Final = 20.0
STOP_S: Final = 20.0
COMMAND_S: Final = 90.0


class DemoError(MomoError):
    """A step of the demo failed; the text names the step and the program's output."""


class DemoShop:
    """Starts the programs of one shop in a folder and stops them again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.phone_path = home / "phone"
        self._environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MOMO_")},
            "MOMO_HOME": str(home),
        }
        self._phone: subprocess.Popen[str] | None = None
        self._daemon: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def write_config(self, ca_file: str) -> None:
        """Write a config that allows webhooks to this machine and trusts the receiver's certificate."""
        lines = [
            "# This is a demo shop, so its webhooks may go to this machine.",
            "[webhooks]",
            'allow_private_hosts = ["localhost"]',
            f"ca_file = {json.dumps(ca_file)}",
            "",
        ]
        (self.home / "config.toml").write_text("\n".join(lines), encoding="utf-8")

    def set_up(self, name: str) -> dict[str, Any]:
        """Create the shop and its keys; return the output of `momo setup --json`."""
        password_file = self.home / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(secrets.token_urlsafe(12) + "\n", encoding="utf-8")
        return self.momo("setup", "--no-input", "--shop", name, "--password-file", str(password_file))

    def start_phone(self) -> None:
        """Start the emulated phone: a real pty that answers AT commands, with an MTN Ghana SIM."""
        self._phone = subprocess.Popen(
            _program("daemon.emulator", f"--link={self.phone_path}"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environ,
        )
        self._answer("the phone")

    def deliver_sms(self, pdus: Sequence[str]) -> None:
        """Deliver an SMS to the phone, part by part."""
        assert self._phone is not None
        assert self._phone.stdin is not None
        self._phone.stdin.write(json.dumps({"pdus": list(pdus)}) + "\n")
        self._phone.stdin.flush()
        answer = self._answer("the phone")
        if not answer.get("ok"):
            raise DemoError(f"the phone did not take the SMS: {answer}")

    def receive_payment(self, code: str, amount: str, payer: str, telco_id: str) -> tuple[str, int]:
        """Deliver MTN's receipt of a payment now; return its text, and of how many parts the SMS is."""
        now = datetime.datetime.now(datetime.UTC)  # noqa: TID251 -- the network's clock, in a demo
        text = sandbox.text(
            sandbox.SandboxPayment(
                provider="momo_mtn",
                amount_minor=read_api_amount(amount) or 0,
                currency="GHS",
                telco_id=telco_id,
                reference_text=code,
                payer_name=payer.upper(),
                payer_phone=None,
                at_us=to_us(now),
            )
        )
        # Through the service centre that the SIM names: a message through another one would be held.
        smsc, number = Identity().smsc, int(telco_id) % 100
        pdus = encode_deliver(sandbox.sender("momo_mtn"), text, now, smsc=smsc, reference=number)
        self.deliver_sms(pdus)
        return text, len(pdus)

    def add_number(self, number: str) -> tuple[str, dict[str, Any]]:
        """Register an MTN number on the SIM of the phone; return the phone's name and the number."""
        phone = self.momo("phones", "list", "--wait=30s")["data"][0]
        sim = f"{phone['device_id']}:{phone['sims'][0]['slot_index']}"
        added = self.momo("lines", "add", number, "--provider", "momo_mtn", "--name", "Ama Mensah", "--sim", sim)
        return phone["name"], added["data"]

    def start_daemon(self, http: str = "127.0.0.1:0", *, modem: bool = True) -> str:
        """Start the real daemon, wait until it is ready, and return the address of its API."""
        phone = str(self.phone_path) if modem else str(self.home / "no-phone")
        log = (self.home / "daemon.log").open("a", encoding="utf-8")
        with log:
            self._daemon = subprocess.Popen(
                _program("daemon", "run", "--http", http, "--modem", phone),
                stderr=subprocess.PIPE,
                stdout=log,
                text=True,
                env=self._environ,
            )
        assert self._daemon.stderr is not None
        said = []
        for line in self._daemon.stderr:
            said.append(line)
            if line.startswith("ready "):
                # Its later output must not fill the pipe.
                _drain(self._daemon)
                return line.split("http=")[1].strip()
        raise DemoError("the daemon did not start:\n" + "".join(said))

    def momo(self, *arguments: str, accept: tuple[int, ...] = (0,)) -> dict[str, Any]:
        """Run a `momo` command with `--json` and return its output."""
        done = subprocess.run(
            _program("momo_cli", *arguments, "--json"), capture_output=True, text=True, env=self._environ,
            timeout=COMMAND_S, check=False,
        )  # fmt: skip
        if done.returncode not in accept:
            raise DemoError(f"momo {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def stop(self) -> None:
        """Stop the started programs, the daemon first, with SIGTERM before SIGKILL."""
        self.stop_daemon()
        _stop(self._phone)

    def stop_daemon(self) -> None:
        """Stop the daemon only."""
        _stop(self._daemon)
        self._daemon = None

    def kill_daemon(self) -> None:
        """Kill the daemon, as a power cut does."""
        assert self._daemon is not None
        self._daemon.kill()
        self.stop_daemon()

    def wait(self) -> None:
        """Wait until the daemon ends (Ctrl-C of `--keep`)."""
        assert self._daemon is not None
        with contextlib.suppress(KeyboardInterrupt):
            self._daemon.wait()

    def _answer(self, program: str) -> Mapping[str, Any]:
        assert self._phone is not None
        assert self._phone.stdout is not None
        line = self._phone.stdout.readline()
        if not line:
            # Errors about its flags were printed to the terminal.
            raise DemoError(f"{program} did not start; try: momo demo --help")
        answer: Mapping[str, Any] = json.loads(line)
        return answer


def _stop(process: "subprocess.Popen[str] | None") -> None:
    if process is None:
        return
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _program(module: str, *arguments: str) -> list[str]:
    return wire.python_argv(str(Path(wire.__file__).absolute()), module, *arguments)


def _drain(process: "subprocess.Popen[str]") -> None:
    import threading  # noqa: PLC0415 -- only here

    pipe = process.stderr
    assert pipe is not None

    def read() -> None:
        with contextlib.suppress(ValueError, OSError):
            for _line in pipe:
                pass

    threading.Thread(target=read, daemon=True).start()
