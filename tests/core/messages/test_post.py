"""Posts of apps that forward SMS: signatures, and the messages in them."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.messages.post import (
    PRESETS,
    AppMessage,
    AppPost,
    Arrived,
    PostFault,
    PostKind,
    Preset,
    Scheme,
    fault_of,
    mac_of,
    read_post,
    read_time,
)
from daemon.runtime.config import SourceSettings
from daemon.steps.store_parts import text_parts
from parsers.times import to_us
from tests.fakes import forwarder_app
from tests.fakes.each import each
from tests.fakes.forwarder_app import Sms, body_of, signed

KEY = b"d41d8cd98f00b204" * 2
STAMP = "1795420800"
NOW_US = 1_795_420_800_000_000
BODY = b'{"event":"system:ping","payload":{}}'
ACCRA = ZoneInfo("Africa/Accra")
PAYLOAD = {
    "messageId": "abc123",
    "message": "Payment received",
    "phoneNumber": "MobileMoney",
    "simNumber": 2,
    "receivedAt": "2024-06-22T15:46:11.000+07:00",
}


CAPCOM6 = PRESETS["capcom6"]


def sign(key: bytes, body: bytes, stamp: str) -> str:
    return forwarder_app.sign(key, body + stamp.encode()).hex()


def test_signature_is_that_of_the_documented_scheme() -> None:
    # Computed with: printf '%s' '{"a":1}1700000000' | openssl dgst -sha256 -hmac secret
    found = "5bfb71b792ec829c706a4d9bf7e6cb063d5abc4336963b9ecdb01288e5befb5b"
    arrived = Arrived(
        {"x-timestamp": "1700000000", "x-signature": found}, "", mac_of(b"secret", b'{"a":1}'), b'{"a":1}'
    )
    assert fault_of(CAPCOM6, b"secret", arrived, None) is None


def checked(body: bytes, stamp: str | None, signature: str | None, now_us: int | None) -> PostFault | None:
    given = {"x-timestamp": stamp, "x-signature": signature}
    headers = {name: value for name, value in given.items() if value is not None}
    return fault_of(CAPCOM6, KEY, Arrived(headers, "", mac_of(KEY, body), body), now_us)


def arrived_as(preset: str, body: bytes, key: str = KEY.decode(), at_us: int = NOW_US) -> Arrived:
    sent, headers = signed(preset, key, body, at_us / 1_000_000)
    return Arrived({name.lower(): value for name, value in headers.items()}, "", mac_of(KEY, sent), sent)


SMS = Sms("MobileMoney", "Payment received ₵5 + fee", datetime(2026, 11, 22, tzinfo=UTC), slot=2)


@pytest.mark.parametrize("preset", PRESETS)
def test_post_of_every_app_is_taken_with_its_key_and_only_with_it(preset: str) -> None:
    row, body = PRESETS[preset], body_of(preset, SMS)
    assert fault_of(row, KEY, arrived_as(preset, body), NOW_US) is None
    assert fault_of(row, KEY, arrived_as(preset, body, "other" * 8), NOW_US) is PostFault.FORGED
    nothing = msgspec.structs.replace(arrived_as(preset, body), headers={"content-type": "a"}, begin=body)
    assert fault_of(row, KEY, nothing, NOW_US) in (PostFault.UNSIGNED, PostFault.FORGED)


@pytest.mark.parametrize("preset", ["capcom6", "textbee"])
def test_signature_of_a_body_does_not_fit_another(preset: str) -> None:
    found = msgspec.structs.replace(arrived_as(preset, body_of(preset, SMS)), mac=mac_of(KEY, b"{}"), begin=b"{}")
    assert fault_of(PRESETS[preset], KEY, found, NOW_US) is PostFault.FORGED


@pytest.mark.parametrize("preset", ["capcom6", "httpsms", "smsforwarder"])
def test_post_recorded_earlier_is_stale_of_every_app_that_has_a_time(preset: str) -> None:
    found = arrived_as(preset, body_of(preset, SMS), at_us=NOW_US - 601_000_000)
    assert fault_of(PRESETS[preset], KEY, found, NOW_US) is PostFault.STALE


def test_token_that_no_key_signed_is_forged() -> None:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    for token in (
        f"{part({'alg': 'none'})}.{part({'iat': 1_795_420_800})}.",
        "a",
        "..",
        "a.%.c",
        f"a.{part([])}.c",
        "é.é.é",
    ):
        arrived = Arrived({"authorization": f"Bearer {token}"}, "", mac_of(KEY, BODY), BODY)
        assert fault_of(PRESETS["httpsms"], KEY, arrived, NOW_US) in (PostFault.UNSIGNED, PostFault.FORGED)


@each(
    ("signed", "headers", "secret", "fault"),
    [
        ("token", {"x-api-key": KEY.decode()}, "", None),
        ("token", {"x-api-key": "other"}, "", PostFault.FORGED),
        ("path", {}, KEY.decode(), None),
        ("path", {"x-api-key": KEY.decode()}, "", PostFault.UNSIGNED),
        ("path", {}, "other", PostFault.FORGED),
        ("hmac", {"x-hub-signature-256": "sha256=" + mac_of(KEY, BODY).hexdigest()}, "", None),
        ("hmac", {"x-mac": base64.b64encode(mac_of(KEY, BODY).digest()).decode()}, "", None),
        ("hmac", {"x-mac": KEY.decode()}, "", PostFault.FORGED),
    ],
)
def test_custom_app_gives_the_key_or_a_signature_in_any_header_or_the_key_in_the_address(
    signed: str, headers: dict[str, str], secret: str, fault: PostFault | None
) -> None:
    app = SourceSettings(name="phone1", kind="post", preset="custom", signed=signed).app
    assert fault_of(app, KEY, Arrived(headers, secret, mac_of(KEY, BODY), BODY), NOW_US) is fault


FOUND = [
    json.loads(line) for line in (Path(__file__).parents[2] / "corpus" / "app_posts.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("row", FOUND, ids=[f"{one['preset']}: {one['says']}" for one in FOUND])
def test_documented_post_is_read(row: dict[str, Any]) -> None:
    app = SourceSettings(name="phone1", kind="post", preset=row["preset"], members=tuple(row["members"])).app
    post = read_post(app, row["body"].encode(), UTC)
    assert (post.kind, post.missing) == (row["kind"], row["missing"])
    if row["sender"] is None:
        assert post.messages == ()
        return
    [one] = post.messages
    sent_at = None if row["sent_at"] is None else to_us(datetime.fromisoformat(row["sent_at"]))
    assert (one.sender, one.text, one.slot, one.sent_at) == (
        row["sender"], row["body"] if row["text"] is None else row["text"], row["slot"], sent_at,
    )  # fmt: skip


def test_pdus_are_taken_with_their_service_centre_and_without_them_the_text_counts() -> None:
    app = Preset(Scheme.TOKEN, pdu="pdus", sender="from", text="text")
    pdu = "07913322540100F5" + "04" * 20
    for found in (pdu, [pdu], [pdu, pdu.lower()]):
        [one] = read_post(app, json.dumps({"pdus": found}).encode(), UTC).messages
        assert one.pdus == (tuple(found) if isinstance(found, list) else (pdu,))
    wrongs: list[Any] = ["", "07", "zz" * 20, [], [pdu, 5], {}, None]
    for wrong in wrongs:
        post = read_post(app, json.dumps({"pdus": wrong, "from": "MTN", "text": "hello"}).encode(), UTC)
        assert (post.unreadable, post.missing, post.messages[0].pdus, post.messages[0].text) == (0, "pdus", (), "hello")


@pytest.mark.parametrize("by_s", [0, 600, -600])
def test_post_signed_now_is_taken(by_s: int) -> None:
    assert checked(BODY, STAMP, sign(KEY, BODY, STAMP), NOW_US + by_s * 1_000_000) is None
    assert checked(BODY, STAMP, sign(KEY, BODY, STAMP).upper(), NOW_US) is None


@pytest.mark.parametrize("by_s", [601, -601, 86_400])
def test_old_post_is_stale_unless_our_clock_is_doubted(by_s: int) -> None:
    signature = sign(KEY, BODY, STAMP)
    assert checked(BODY, STAMP, signature, NOW_US + by_s * 1_000_000) is PostFault.STALE
    assert checked(BODY, STAMP, signature, None) is None


@each(
    ("body", "stamp", "signature"),
    [
        (BODY + b" ", STAMP, sign(KEY, BODY, STAMP)),
        (BODY, "1795420801", sign(KEY, BODY, STAMP)),
        (BODY, STAMP, sign(b"other", BODY, STAMP)),
        (BODY, STAMP, sign(KEY, BODY, STAMP)[:-1]),
        (BODY, STAMP, "ü" * 64),
        (BODY, f" {STAMP}", sign(KEY, BODY, f" {STAMP}")),
        (BODY, "٣", sign(KEY, BODY, "٣")),
        (BODY, "1" * 13, sign(KEY, BODY, "1" * 13)),
        (BODY, "-5", sign(KEY, BODY, "-5")),
    ],
)
def test_any_change_is_a_forgery(body: bytes, stamp: str, signature: str) -> None:
    assert checked(body, stamp, signature, NOW_US) is PostFault.FORGED


def test_time_and_body_cannot_be_shifted_into_each_other() -> None:
    signature = sign(KEY, BODY, STAMP)
    assert checked(BODY + STAMP[:1].encode(), STAMP[1:], signature, None) is None
    # The scheme of the app allows it, but the body is then no JSON, and the time is far away.
    assert checked(BODY + STAMP[:1].encode(), STAMP[1:], signature, NOW_US) is PostFault.STALE


@pytest.mark.parametrize(("stamp", "signature"), [(None, "ab"), ("1", None), ("", "ab"), ("1", "")])
def test_post_without_the_headers_is_unsigned(stamp: str | None, signature: str | None) -> None:
    assert checked(BODY, stamp, signature, NOW_US) is PostFault.UNSIGNED


def read(event: Any, payload: Any) -> AppPost:
    return read_post(CAPCOM6, json.dumps({"event": event, "payload": payload}).encode(), ACCRA)


def test_message_is_read_with_its_sim_and_its_time() -> None:
    at = to_us(datetime(2024, 6, 22, 8, 46, 11, tzinfo=UTC))
    wanted = AppMessage("MobileMoney", "Payment received", 1, at)
    assert read("sms:received", PAYLOAD) == AppPost(PostKind.MESSAGES, (wanted,))
    newer = {**PAYLOAD, "sender": "T-CASH", "recipient": None}
    assert read("sms:received", newer).messages[0].sender == "T-CASH"


@pytest.mark.parametrize("number", [None, 0, -1, 9, "", "SIM", 1.5, True])
def test_sim_that_the_app_does_not_know_is_none(number: Any) -> None:
    assert read("sms:received", {**PAYLOAD, "simNumber": number}).messages[0].slot is None


@each(
    ("text", "wanted"),
    [
        ("2024-06-22T15:46:11.000+07:00", datetime(2024, 6, 22, 8, 46, 11, tzinfo=UTC)),
        ("2024-06-22T08:46:11Z", datetime(2024, 6, 22, 8, 46, 11, tzinfo=UTC)),
        ("2024-06-22T15:46:11", datetime(2024, 6, 22, 6, 46, 11, tzinfo=UTC)),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (1_719_045_971, datetime(2024, 6, 22, 8, 46, 11, tzinfo=UTC)),
        ("1719045971000", datetime(2024, 6, 22, 8, 46, 11, tzinfo=UTC)),
        (True, None),
        (None, None),
        ("1" * 41, None),
    ],
)
def test_times_of_every_version_of_the_app(text: Any, wanted: datetime | None) -> None:
    assert read_time(text, ZoneInfo("Asia/Tokyo")) == (None if wanted is None else to_us(wanted))


def test_batch_is_read_oldest_first() -> None:
    later = {**PAYLOAD, "message": "b", "receivedAt": "2024-06-22T15:46:12.000+07:00"}
    batch = read("sms:batch:received", {"messages": [later, PAYLOAD]})
    assert [each.text for each in batch.messages] == ["Payment received", "b"]


def test_what_is_no_message_is_told_apart() -> None:
    assert read("system:ping", {"health": {}}).kind is PostKind.PING
    assert read("sms:sent", {}).kind is PostKind.OTHER


@each(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"event": null, "payload": {}}',
        b'{"event": "sms:batch:received", "payload": {"messages": 5}}',
        b'{"event": "sms:received", "payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"event": "sms:received", "payload": {"simNumber": ' + b"9" * 5_000 + b"}}",
    ],
)
def test_post_of_another_form_is_kept_as_it_came_and_counted(body: bytes) -> None:
    post = read_post(CAPCOM6, body, ACCRA)
    [kept] = post.messages
    assert (post.kind, post.unreadable) == (PostKind.MESSAGES, 1)
    assert (kept.sender, kept.text) == ("?post", body.decode("utf-8", "replace"))


def test_begin_of_a_post_is_kept_unless_it_is_about_something_else() -> None:
    sms = b'{"payload":{"messages":[{"message":"\\"event\\":\\"mms:got\\" hi"'
    for begin in (sms, sms + b'"}]},"event":"sms:batch:received"}', b'{"event": "sms:new'):
        post = read_post(CAPCOM6, begin, ACCRA, whole=False)
        assert (post.kind, post.unreadable) == (PostKind.MESSAGES, 1)
    other = read_post(CAPCOM6, b'{"event" : "mms:downloaded","payload":{"d":"AAAA', ACCRA, whole=False)
    assert other == AppPost(PostKind.OTHER)


@each("payload", [None, [], 1, {**PAYLOAD, "message": None}, {**PAYLOAD, "phoneNumber": 5}, {}])
def test_message_of_an_unknown_form_is_kept_as_it_came_and_counted(payload: Any) -> None:
    post = read("sms:batch:received", {"messages": [PAYLOAD, payload, PAYLOAD]})
    assert post.unreadable == 1
    [raw] = [one for one in post.messages if one.sender == "?post"]
    assert json.loads(raw.text) == payload
    assert sum(one.text == PAYLOAD["message"] for one in post.messages) == 2


def test_text_in_the_member_of_another_version_is_read() -> None:
    payload = {key: value for key, value in PAYLOAD.items() if key != "message"}
    post = read("sms:received", {**payload, "textMessage": {"text": "hello"}})
    assert (post.unreadable, post.messages[0].text) == (0, "hello")


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*PAYLOAD, "sender"], ANY_JSON)) | ANY_JSON)
def test_any_payload_is_read_or_kept(payload: Any) -> None:
    found = read("sms:received", payload).messages
    assert found
    for message in found:
        text_parts(message.sender, message.text, message.sent_at, storage="app", slot=0)
