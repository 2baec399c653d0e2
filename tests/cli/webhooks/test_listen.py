"""`momo listen` and `momo deliveries curl`: the flags, and quoting of bodies for the shell."""

import base64
import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.commands.webhooks.deliveries import curl_command
from momo_cli.commands.webhooks.listen import answered
from momo_cli.errors import Failure
from momo_cli.listener import LocalReceiver, PostResult, Webhook, parse_receiver
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

ATTEMPT = {
    "headers": {"X-Svc-Attempt": "2", "X-Svc-Event": "transaction.forwarded"},
    "body": base64.b64encode(b"{}").decode(),
    "attempt": 9,
}
EVENT = Says(stream=f"event: webhook\ndata: {json.dumps(ATTEMPT)}\n\n")
NASTY = 'it\'s "$(exit 3)" `x` \\ $HOME @file\nline; & | ɛ'


class Answers(LocalReceiver):
    """A receiver that needs no network."""

    posts: int = 0

    def post(self, headers: object, body: bytes) -> PostResult:
        object.__setattr__(self, "posts", self.posts + 1)
        return PostResult(204, None, "", 5)


def webhook(attempt: int) -> Webhook:
    return Webhook({"X-Svc-Attempt": str(attempt)}, b"{}")


def test_fail_goes_try_by_try_and_then_tells_the_truth() -> None:
    told = [answered(webhook(tried), codes=(503, 200, 410)).status_code for tried in (1, 2, 3, 4)]
    assert told == [503, 200, 410, 200]


def test_slow_lets_momo_wait_for_the_answer(naps: list[float]) -> None:
    assert answered(webhook(1), slow_s=20.0).status_code == 200
    assert naps == [20.0]


def test_dup_hands_it_over_twice_and_tells_the_first_answer() -> None:
    receiver = Answers.__new__(Answers)
    for name, value in (("host", "x"), ("port", 1), ("target", "/"), ("posts", 0)):
        object.__setattr__(receiver, name, value)
    assert answered(webhook(1), receiver, twice=True).status_code == 204
    assert receiver.posts == 2


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/x", "http://shop.example/hook", "http://127.0.0.1.evil.example/",
        "http://10.0.0.1/", "127.0.0.1:3000", "http://127.0.0.1:port/", "http://user@192.168.1.1/",
    ],
)  # fmt: skip
def test_only_this_machine_is_forwarded_to(url: str) -> None:
    with pytest.raises(Failure, match="address of this machine") as caught:
        parse_receiver(url)
    assert caught.value.code == wire.ErrorCode.USAGE


def test_an_address_of_this_machine_keeps_path_and_query() -> None:
    assert parse_receiver("http://127.0.0.1:3000/hook?a=1") == LocalReceiver("127.0.0.1", 3000, "/hook?a=1")
    assert parse_receiver("http://localhost") == LocalReceiver("localhost", 80, "/")


@pytest.mark.parametrize(
    "argv",
    [
        (), ("--print", "--fail", "x"), ("--print", "--fail", "200,"), ("--print", "--fail", "99"),
        ("--print", "--slow", "-1"), ("--forward-to", "https://shop.example"),
        ("--print", "--endpoint", "e", "--secret-file", "f"),
    ],
)  # fmt: skip
def test_a_wrong_flag_is_2_and_asks_nothing(argv: tuple[str, ...], api: FakeApi, momo: Momo) -> None:
    assert momo("listen", *argv).code == 2
    assert api.asked == []


@pytest.mark.parametrize("fail", ["200", "99", "600", "50x", "slow", ""])
def test_a_broken_receiver_fails_in_known_ways_only(fail: str, api: FakeApi, momo: Momo) -> None:
    assert momo("simulate", "endpoint", "--fail", fail).code == 2
    assert api.asked == []


def test_a_refusal_is_told_and_no_secret_file_is_left(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.LOCAL_LISTEN, refusal(403, "SESSION_REQUIRED"))
    file = tmp_path / "secret"
    assert momo("listen", "--print", "--secret-file", str(file)).code == 4
    assert not file.exists()


def test_a_lost_connection_is_told_and_so_is_its_return(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    here = f"{wire.Path.LOCAL_LISTEN}/{samples.ENDPOINT['id']}"
    api.on("POST", here, EVENT, Says(drop=True), EVENT, refusal(404, "ENDPOINT_NOT_FOUND"))
    api.on("POST", f"{here}/outcomes", ok({}))
    ran = momo("listen", "--print", "--endpoint", samples.ENDPOINT["id"], "-o", "table")
    assert ran.code == 3
    assert [line for line in ran.err.splitlines() if line.startswith("the daemon")] == [
        "the daemon is restarting; waiting",
        "the daemon is back",
        "the daemon is restarting; waiting",
    ]
    assert "try 2" in ran.out


def test_a_daemon_that_dies_before_it_answers_is_waited_for_like_any_other(
    api: FakeApi, momo: Momo, naps: list[float]
) -> None:
    here = f"{wire.Path.LOCAL_LISTEN}/{samples.ENDPOINT['id']}"
    starting = refusal(503, "UNAVAILABLE")
    api.on("POST", here, Says(drop=True), starting, EVENT, refusal(404, "ENDPOINT_NOT_FOUND"))
    api.on("POST", f"{here}/outcomes", ok({}))
    ran = momo("listen", "--print", "--endpoint", samples.ENDPOINT["id"], "-o", "table")
    assert ran.code == 3
    assert "try 2" in ran.out


def test_what_came_is_told_before_the_end_is(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    gone = threading.Event()

    def late(_asked: Asked) -> Says:
        gone.wait(10)
        threading.Event().wait(0.1)  # real time: the end is known well before this answer
        return ok({})

    def refused(_asked: Asked) -> Says:
        gone.set()
        return refusal(404, "ENDPOINT_NOT_FOUND")

    here = f"{wire.Path.LOCAL_LISTEN}/{samples.ENDPOINT['id']}"
    api.on("POST", here, EVENT, refused)
    api.on("POST", f"{here}/outcomes", late)
    ran = momo("listen", "--print", "--endpoint", samples.ENDPOINT["id"], "-o", "table")
    assert ran.code == 3
    assert "try 2" in ran.out


def test_a_broken_receiver_is_connected_before_anything_is_paid(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    here = f"{wire.Path.LOCAL_LISTEN}/{samples.ENDPOINT['id']}"
    api.on("POST", wire.Path.LOCAL_LISTEN, ok(samples.ENDPOINT, secret="whsec_x"))
    api.on("POST", here, EVENT, refusal(404, "ENDPOINT_NOT_FOUND"))
    api.on("POST", f"{here}/outcomes", ok({}))
    api.on("POST", wire.Path.TEST_PAYMENTS, ok(samples.SIMULATED))
    ran = momo("simulate", "endpoint", "--fail", "500", "--count", "1")
    assert ran.code == 0
    asked = [each.path for each in api.asked]
    assert asked.index(here) < asked.index(wire.Path.TEST_PAYMENTS)


def test_every_value_is_one_word_to_the_shell(tmp_path: Path) -> None:
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    fake.chmod(0o700)
    signed = {"headers": {"X-Nasty": NASTY.replace("\n", " ")}, "body": json.dumps({"n": NASTY})}
    ran = subprocess.run(
        ["sh"], input=curl_command(signed, "http://x/?a='b'&c").encode(), capture_output=True, check=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    words = ran.stdout.decode().split("\0")
    assert words[words.index("--data-raw") + 1] == signed["body"]
    assert words[words.index("--header") + 1] == "X-Nasty: " + NASTY.replace("\n", " ")
    assert words[words.index("--url") + 1] == "http://x/?a='b'&c"
    assert len(words) == 5 + 6 + 1 + 1


@pytest.mark.parametrize("url", ["exec:/usr/local/bin/book-payment", "spool:/var/spool/payments"])
def test_a_command_or_folder_is_no_address_for_curl(api: FakeApi, momo: Momo, url: str) -> None:
    delivery = samples.DELIVERY["id"]
    signed = ok({**samples.SIGNED, "url": url})
    api.on("POST", wire.Path.LOCAL_DELIVERY_SIGNED.format(id=delivery), signed)
    ran = momo("deliveries", "curl", delivery)
    assert (ran.code, "name an address with --url" in ran.err) == (2, True)
    elsewhere = momo("deliveries", "curl", delivery, "--url", "http://127.0.0.1:3000/hook")
    assert (elsewhere.code, "--url http://127.0.0.1:3000/hook" in elsewhere.out) == (0, True)
