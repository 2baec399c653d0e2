"""Traces of the calls on the socket with -v and --debug; they contain no secrets and no SMS texts."""

import json
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

KEY = "svc_live_sk_0123456789abcdefghijABCDEFGHIJ"


def bodies(err: str, sign: str) -> list[Any]:
    """Return the traced bodies with that sign at the beginning of the line."""
    lines = [line.removeprefix(f"{sign} ") for line in err.splitlines() if line.startswith(sign)]
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_debug_shows_both_bodies_and_the_headers(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.INITIALIZE, Says({"success": True, "data": samples.CREATED, "meta": {}}, 201))
    ran = momo(
        "init", "12.50", "--phone", "0244124567", "--name", "Kofi", "--idempotency-key", "k1",
        "--meta", '{"who":"Kofi"}', "--json", "--debug",
    )  # fmt: skip
    assert ran.json["data"]["reference"] == samples.REF
    assert ran.err.startswith("> POST /v1/transactions/initialize\n")
    assert "\n> Idempotency-Key: k1\n" in ran.err
    assert "\n< content-type: application/json\n" in ran.err.lower()
    assert bodies(ran.err, ">") == [
        {"amount": "12.50", "phone_number": "024****567", "customer_name": "K***", "meta": "***"}
    ]
    assert bodies(ran.err, "<")[0]["data"]["svc_code"] == samples.CODE


def test_verbose_shows_the_calls_alone(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.TRANSACTIONS, ok([], pagination=samples.PAGE))
    ran = momo("tx", "list", "--phone", "0244124567", "--search", "kofi", "-v", "-q")
    asked, answered = ran.err.splitlines()
    assert asked == ("> GET /v1/transactions?page=1&mode=live&phone_number=024****567&search=***&per_page=50")
    assert answered.startswith("< 200 ")


@pytest.mark.parametrize(
    ("argv", "path", "answer", "canaries"),
    [
        (("endpoints", "add", "https://shop.example/hook"), wire.Path.ENDPOINTS,
         ok(samples.ENDPOINT, secret="whsec_canary"), ["whsec_canary"]),
        (("keys", "create", "--name", "till", "--scope", "transactions:read"), wire.Path.KEYS,
         Says({"success": True, "data": samples.KEY, "key": KEY}, 201), [KEY]),
        (("users", "password", "--password-file", "owner.password"), wire.Path.LOCAL_PASSWORD,
         ok({}), ["correct horse"]),
        (("lines", "pin", "zte-front:0", "--pin-file", "pin.txt"), wire.Path.LOCAL_SIM_PIN,
         ok({}), ['"1234"']),
        (("api", "POST", "/v1/keys", "-H", f"Authorization: Bearer {KEY}"), wire.Path.KEYS,
         refusal(403, "INSUFFICIENT_SCOPE"), [KEY]),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("sample_folder")
def test_debug_shows_no_secret(
    argv: tuple[str, ...], path: str, answer: Says, canaries: list[str], api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("POST", path, answer)
    ran = momo(*argv, "--debug", "-o", "ndjson")
    assert f"> POST {path}" in ran.err
    traced = "".join(line for line in ran.err.splitlines(keepends=True) if line[0] in "<>")
    assert not [canary for canary in canaries if canary in traced]


def test_debug_shows_no_text_of_a_message(api: FakeApi, momo: Momo) -> None:
    text = "Payment received for GHS 12.50 from KOFI BOATENG"
    row = {**samples.MESSAGE_ROW, "body": text, "sender": "+233244124567"}
    api.on("GET", wire.Path.LOCAL_MESSAGES, ok([row]))
    ran = momo("messages", "list", "--show-body", "--json", "--debug")
    assert text in ran.out
    assert "KOFI" not in ran.err
    assert bodies(ran.err, "<")[0]["data"][0]["sender"] == "+23324****567"


def test_a_long_body_is_cut_and_a_page_is_told_by_its_length(api: FakeApi, momo: Momo) -> None:
    many = [{**samples.PAID, "svc_code": f"{i:06}"} for i in range(50)]
    api.on("GET", wire.Path.TRANSACTIONS, ok(many, pagination=samples.PAGE))
    told = momo("tx", "list", "--debug").err
    assert max(map(len, told.splitlines())) < 4200
    assert " characters)" in told
    api.on("GET", "/metrics", Says(raw=b"momo_up 1\n", headers={"Content-Type": "text/plain"}))
    shown = momo("api", "GET", "/metrics", "--debug").err
    assert "< 200 10 characters" in shown
    assert "momo_up" not in shown


@pytest.mark.usefixtures("naps")
def test_events_of_a_stream_are_traced(api: FakeApi, momo: Momo) -> None:
    stream = 'id: 7\nevent: transaction.completed\ndata: {"reference": "r", "payer_name": "Kofi"}\n\n'
    api.on("GET", wire.Path.EVENTS, Says(stream=stream), refusal(500, "INTERNAL_ERROR"))
    told = momo("tx", "watch", "--debug", "--json").err
    assert '< transaction.completed {"reference": "r", "payer_name": "K***"}' in told
