"""Ctrl-C on a daemon in the foreground: it stops cleanly and says so; a second one ends it at once."""

import os
import signal

import pytest

from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import STOP_S, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import HANG

STOPPING = "\nStopping... (Ctrl-C again to force)\n"


@pytest.mark.slow
def test_a_second_ctrl_c_ends_it_at_once_and_nothing_is_lost(scene: Scene) -> None:
    scene.open_for_business()
    scene.receiver.script(HANG)
    [receipt] = mtn_receipts(1, started=utc_now())
    scene.phone.deliver(receipt.pdus)
    scene.receiver.wait_for(1)
    daemon = scene.shop.process
    assert daemon is not None
    daemon.send_signal(signal.SIGINT)
    wait_until(lambda: STOPPING in scene.shop.said_now() or None, 10, "the word that it stops")
    assert scene.shop.running(), "it waits for the webhook that is on its way"
    os.kill(daemon.pid, signal.SIGINT)
    assert daemon.wait(STOP_S) == -signal.SIGINT
    scene.shop.kill()  # already reaped: forget the process
    assert scene.shop.rows("SELECT status FROM deliveries") == [("pending",)]
    scene.shop.start()
    scene.shop.stop()


@pytest.mark.slow
def test_one_ctrl_c_ends_it_as_politely_as_sigterm(scene: Scene) -> None:
    scene.shop.start()
    daemon = scene.shop.process
    assert daemon is not None
    daemon.send_signal(signal.SIGINT)
    assert daemon.wait(STOP_S) == 0
    assert STOPPING in scene.shop.said_now()
