"""After Ctrl-C, a command reports a long clean-up, and a second Ctrl-C ends it at once."""

import os
import signal
import subprocess
import threading
from dataclasses import replace

import pytest

from daemon import wire
from momo_cli.commands.webhooks.listen import ending
from momo_cli.flags import lift
from momo_cli.show.terminal import open_terminal
from tests.cli import samples
from tests.cli.conftest import Shop
from tests.cli.show.test_terminal import MOMO, ROOT
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, serving


class Notes:
    """Collects the written text, and can wait for it."""

    def __init__(self) -> None:
        self.text = ""
        self.came = threading.Event()

    def write(self, text: str) -> int:
        self.text += text
        self.came.set()
        return len(text)

    def flush(self) -> None:
        pass


def test_what_ends_at_once_says_nothing_and_what_does_not_says_how_to_force_it(shop: Shop) -> None:
    notes = Notes()
    terminal = replace(open_terminal(lift([], {})[0], shop.environ), stderr=notes)  # type: ignore[arg-type]  # two methods are enough
    with ending(terminal):
        pass
    assert notes.text == ""
    with ending(terminal, note_after_s=0):
        assert notes.came.wait(10)
    assert notes.text == "\nStopping… (Ctrl-C again to force)\n"


def test_a_listener_whose_daemon_hangs_can_be_forced(shop: Shop) -> None:
    api, asked, free = FakeApi(), threading.Event(), threading.Event()

    def hang(_: Asked) -> Says:
        asked.set()
        free.wait(30)
        return ok(None, deleted=True)

    made = {**samples.ENDPOINT, "is_sandbox": True}
    api.on("POST", wire.Path.LOCAL_LISTEN, ok(made, secret="whsec_x"))
    api.on("POST", f"/local/v1/listen/{made['id']}", Says(stream=": hello\n\n"))
    api.on("DELETE", f"/v1/open-collections/endpoints/{made['id']}", hang)
    with serving(api, shop.socket), subprocess.Popen(
        [*MOMO, "listen", "--print"], env=shop.environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as momo:  # fmt: skip
        assert momo.stderr is not None
        for line in momo.stderr:
            if line.startswith("Listening"):
                break
        momo.send_signal(signal.SIGINT)
        assert asked.wait(30)
        for line in momo.stderr:
            if line.startswith("Stopping"):
                break
        momo.send_signal(signal.SIGINT)
        rest = momo.communicate(timeout=30)[1]
        free.set()
    assert momo.returncode == 130
    assert rest.strip().endswith("Stopped.")
    assert "Traceback" not in rest


@pytest.mark.parametrize("end", [signal.SIGHUP, signal.SIGTERM])
def test_a_listener_whose_terminal_is_closed_removes_its_endpoint(end: signal.Signals, shop: Shop) -> None:
    api, made = FakeApi(), {**samples.ENDPOINT, "is_sandbox": True}
    api.on("POST", wire.Path.LOCAL_LISTEN, ok(made, secret="whsec_x"))
    api.on("POST", f"/local/v1/listen/{made['id']}", Says(stream=": hello\n\n"))
    api.on("DELETE", f"/v1/open-collections/endpoints/{made['id']}", ok(None, deleted=True))
    near, far = os.openpty()
    with serving(api, shop.socket), subprocess.Popen(
        [*MOMO, "listen", "--print"], env=shop.environ, cwd=ROOT, stdin=far, stdout=far, stderr=far,
    ) as momo:  # fmt: skip
        os.close(far)
        while b"Listening" not in os.read(near, 4096):
            pass
        os.close(near)  # from now on writing fails, as on a terminal that is gone
        momo.send_signal(end)
        momo.wait(30)
    assert api.asked[-1].method == "DELETE"
