"""Posts of the Android app: signed ones are stored, forged ones are refused, counted and limited."""

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from daemon.core.inputs import ReadPart, Source
from daemon.core.lines.modem_health import find_problems
from daemon.core.messages.post import PRESETS, read_post
from daemon.core.messages.trust import SmscSource
from daemon.env import Env
from daemon.flows.lines import sources
from daemon.flows.lines.sources import store_source_password
from daemon.flows.messages.settle_lines import assemble_parts
from daemon.loops.sources import handover
from daemon.loops.sources.post import PostSource
from daemon.runtime.config import Config, SourceSettings
from daemon.runtime.log import Log
from daemon.runtime.message_journal import MessageJournal
from daemon.runtime.secrets import SecretsLocked, Vault
from daemon.steps.intake import Ingested
from daemon.steps.store_parts import text_parts
from daemon.store.lines import sources as states
from daemon.store.messages.balances import learn_smsc
from tests.fakes.api import FakeApi, running
from tests.fakes.forwarder_app import (
    CUSTOM,
    PASSWORD,
    PDU,
    USER,
    ForwarderApp,
    Sms,
    body_of,
    event,
    headers,
    received,
    signed,
)
from tests.fakes.receipts import MTN_SMSC, STARTED, Receipt, mtn_receipts
from tests.fakes.shop import OWNER
from tests.fakes.waiting import until

PATH = "/v1/sources/phone1"
SETTINGS = SourceSettings(name="phone1", kind="post", networks=("mtn", "none", "telecel"), may_pay=True)


class Phone:
    """An app that posts to the API, with its source running."""

    def __init__(self, api: FakeApi, source: PostSource, key: str) -> None:
        self.api = api
        self.source = source
        self.key = key
        self.client: httpx.AsyncClient

    async def post(self, body: bytes, key: str | None = None, at_us: int = 0) -> httpx.Response:
        at_s = (at_us or self.api.shop.clock.now_us()) / 1_000_000
        sent = headers(key or self.key, body, at_s)
        return await self.client.post(PATH, content=body, headers=sent)

    async def message(self, made: Receipt, **changes: Any) -> httpx.Response:
        """Let the network's time pass, and post a receipt."""
        at = int(made.sent_at.timestamp() * 1_000_000)
        self.api.shop.clock.advance(max(0, at - self.api.shop.clock.now_us()) / 1_000_000)
        sms = Sms(made.sender, made.text, made.sent_at)
        return await self.post(received(sms, **changes))

    async def row(self) -> states.SourceRow | None:
        await self.source._look()
        return await self.api.shop.env.store.read(lambda tx: states.get(tx, "phone1"))


@asynccontextmanager
async def phone_of(folder: Path, settings: SourceSettings = SETTINGS) -> AsyncIterator[Phone]:
    async with running(folder, replace(Config(), sources=(settings,))) as api:
        env = api.shop.env
        key = await sources.new_key(env, OWNER, "phone1")
        source = PostSource(env, Log(io.StringIO()), settings)
        api.posted["phone1"] = source
        task = asyncio.create_task(source.run())
        await until(lambda: bool(source._sources))
        phone = Phone(api, source, key)
        phone.client = await api.client()
        try:
            yield phone
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def phone(tmp_path: Path) -> AsyncIterator[Phone]:
    async with phone_of(tmp_path) as made:
        yield made


@pytest.fixture
def receipts() -> Iterator[Receipt]:
    return mtn_receipts(1_000)


async def stored(api: FakeApi) -> list[tuple[Any, ...]]:
    return await api.shop.values("SELECT source, level, synthesised FROM messages ORDER BY seq")


async def test_signed_message_is_stored_before_it_is_answered(phone: Phone, receipts: Iterator[Receipt]) -> None:
    answer = await phone.message(next(receipts))
    assert (answer.status_code, answer.json()["data"]["result"]) == (200, "stored")
    assert await stored(phone.api) == [("phone1", "reported", 1)]


APPS = [*PRESETS, "pdu"]


def settings_of(preset: str) -> SourceSettings:
    """Return the settings of an app; `pdu` is a custom one that posts PDUs."""
    members = {"custom": CUSTOM, "pdu": PDU}.get(preset, ())
    return replace(SETTINGS, preset="custom" if preset == "pdu" else preset, members=members, networks=("mtn",))


@pytest.mark.parametrize("preset", APPS)
async def test_post_of_every_app_pays_once_and_forged_ones_are_refused(tmp_path: Path, preset: str) -> None:
    settings = settings_of(preset)
    async with phone_of(tmp_path, settings) as phone:
        await begin_chain(phone, 50_000)
        sim = phone.source._sources[0].sim_key
        await phone.api.shop.env.store.write(lambda tx: learn_smsc(tx, sim, MTN_SMSC, SmscSource.SIM, None, 0))
        made = next(mtn_receipts(1))
        body = body_of(settings.preset, Sms(made.sender, made.text, made.sent_at), settings.members)
        phone.api.shop.clock.advance(made.sent_at.timestamp() - phone.api.shop.clock.now_us() / 1_000_000)
        for key in ("guess" * 8, phone.key, phone.key):
            sent, given = signed(settings.preset, key, body, phone.api.shop.clock.now_us() / 1_000_000)
            answer = await phone.client.post(PATH, content=sent, headers=given)
            assert answer.status_code == (200 if key == phone.key else 401)
        assert (answer.json()["data"], len(await phone.api.shop.payments())) == ({"result": "stored", "missing": ""}, 1)
        level, made_up = ("full", 0) if preset == "pdu" else ("reported", 1)
        assert (await stored(phone.api))[1:] == [("phone1", level, made_up)]  # the first one began the chain
        assert phone.source.last is not None
        assert phone.source.last["result"] == "stored"
        row = await phone.row()
        assert (row is not None and row.refused) == 1


async def test_member_that_an_app_left_out_is_told_in_the_answer_and_in_the_state(tmp_path: Path) -> None:
    settings = settings_of("textbee")
    async with phone_of(tmp_path, settings) as phone:
        body = json.dumps({"webhookEvent": "MESSAGE_RECEIVED", "sender": "MobileMoney", "text": "moved"}).encode()
        sent, given = signed("textbee", phone.key, body, 0)
        answer = await phone.client.post(PATH, content=sent, headers=given)
        assert answer.json()["data"] == {"result": "stored", "missing": "message or data.message"}
        state = phone.source.conditions()[0]
        assert state.state == "app_refused"
        assert "lacked message or data.message, which preset textbee needs" in str(state.detail)
        assert await phone.api.shop.values("SELECT body FROM messages") == [body.decode()]


async def test_app_whose_server_does_not_hear_the_phone_is_told_and_heard_again(tmp_path: Path) -> None:
    async with phone_of(tmp_path, settings_of("httpsms")) as phone:
        for kind, wanted in (("offline", "app_silent"), ("online", "ready")):
            body = json.dumps({"type": f"phone.heartbeat.{kind}", "data": {}}).encode()
            sent, given = signed("httpsms", phone.key, body, phone.api.shop.clock.now_us() / 1_000_000)
            assert (await phone.client.post(PATH, content=sent, headers=given)).json()["data"]["result"] == "heard"
            assert phone.source.conditions()[0].state == wanted
        phone.api.shop.clock.advance(86_400)  # it has no pings
        phone.source._show()
        assert phone.source.conditions()[0].state == "ready"


async def test_key_in_the_address_is_enough_for_a_custom_app_that_has_it_there(tmp_path: Path) -> None:
    async with phone_of(tmp_path, replace(settings_of("custom"), signed="path")) as phone:
        body = body_of("custom", Sms("+233200000001", "hello", STARTED))
        for path, status in ((PATH, 401), (f"{PATH}.guess", 401), (f"{PATH}.{phone.key}", 200)):
            assert (await phone.client.post(path, content=body)).status_code == status
        [row] = (await phone.api.local.get("/local/v1/sources")).json()["data"]
        assert row["url"].endswith(f"{PATH}.KEY")


async def test_app_that_posts_pdus_and_then_a_text_is_trusted_with_the_pdu_only(tmp_path: Path) -> None:
    settings = replace(settings_of("pdu"), members=(*PDU, *CUSTOM))
    async with phone_of(tmp_path, settings) as phone:
        for members in (PDU, CUSTOM):
            body = body_of("custom", Sms("+233200000001", f"hello {members}", STARTED), members)
            sent, given = signed("custom", phone.key, body, 0)
            assert (await phone.client.post(PATH, content=sent, headers=given)).status_code == 200
        assert [level for _, level, _ in await stored(phone.api)] == ["full", "reported"]
        assert "lacked pdus" in str(phone.source.conditions()[0].detail)


async def test_repeated_message_is_one_message(phone: Phone, receipts: Iterator[Receipt]) -> None:
    made = next(receipts)
    for _ in range(3):
        assert (await phone.message(made, messageId="other")).status_code == 200
    assert len(await stored(phone.api)) == 1


async def test_message_of_the_inbox_with_another_time_does_not_pay_twice(tmp_path: Path) -> None:
    async with phone_of(tmp_path) as phone:
        await begin_chain(phone, 50_000)
        made = next(mtn_receipts(1))
        await phone.message(made)
        later = Sms(made.sender, made.text, made.sent_at + timedelta(seconds=3))
        assert (await phone.post(received(later))).status_code == 200
        found = await phone.api.shop.values("SELECT state FROM messages WHERE body <> '' ORDER BY seq")
        assert found == ["payment", "duplicate"]
        assert len(await phone.api.shop.payments()) == 1


async def begin_chain(phone: Phone, balance_minor: int) -> None:
    shop = phone.api.shop
    shop.source = phone.source._sources[0]
    await shop.begin_chain(balance_minor)


async def test_receipts_pay_only_after_the_owner_opted_in(tmp_path: Path) -> None:
    plan = list(mtn_receipts(2))
    async with phone_of(tmp_path, replace(SETTINGS, may_pay=False)) as phone:
        await begin_chain(phone, 50_000)
        await phone.message(plan[0])
        [kept] = await phone.api.shop.payments()
        assert kept.historical
        assert await phone.api.shop.values("SELECT COUNT(*) FROM reviews") == [0]
        health = phone.source.conditions()[0]
        assert (health.source, health.kind, health.level) == ("phone1", "post", "reported")


@pytest.mark.parametrize(
    ("body", "changes", "why"),
    [
        (b"{}", {"X-Signature": "00"}, "does not fit"),
        (b"{}", {"X-Signature": ""}, "not signed"),
        (b"{}", {"X-Timestamp": "1"}, "does not fit"),
    ],
)
async def test_forged_post_is_401_and_counted(phone: Phone, body: bytes, changes: dict[str, str], why: str) -> None:
    now_s = phone.api.shop.clock.now_us() / 1_000_000
    sent = {**headers(phone.key, body, now_s), **changes}
    answer = await phone.client.post(PATH, content=body, headers=sent)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "UNAUTHORIZED"
    assert why in answer.json()["error"]["message"]
    row = await phone.row()
    assert row is not None
    assert (row.refused, row.refused_at) == (1, phone.api.shop.clock.now_us())
    assert await stored(phone.api) == []


async def test_forger_is_limited_but_the_phone_is_not(phone: Phone, receipts: Iterator[Receipt]) -> None:
    made = next(receipts)
    codes = [(await phone.post(received(Sms(made.sender, made.text, STARTED)), "guess")).status_code for _ in range(25)]
    assert codes == [401] * 20 + [429] * 5
    assert (await phone.message(made)).status_code == 200
    row = await phone.row()
    assert row is not None
    assert row.refused == 25
    [problem] = [
        each for each in find_problems(phone.source.conditions()[0], phone.api.shop.clock.now_us())
        if each.id == "modem.app_refused"
    ]  # fmt: skip
    assert "signing key" in str(problem.fix)


async def test_unknown_name_is_answered_like_a_wrong_key(phone: Phone) -> None:
    body = event("system:ping", {})
    sent = headers(phone.key, body, phone.api.shop.clock.now_us() / 1_000_000)
    wrong = await phone.client.post(PATH, content=body, headers={**sent, "X-Signature": "00"})
    unknown = await phone.client.post("/v1/sources/other", content=body, headers=sent)
    assert unknown.status_code == wrong.status_code == 401
    assert unknown.json()["error"] | {"request_id": 0} == wrong.json()["error"] | {"request_id": 0}


async def test_posts_are_told_while_the_key_that_checks_them_cannot_be_opened(
    phone: Phone, receipts: Iterator[Receipt], monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object) -> bytes:
        raise SecretsLocked("the master key does not open this secret")

    made = next(receipts)
    with monkeypatch.context() as without_key:
        without_key.setattr(Vault, "unseal", locked)
        assert (await phone.message(made)).status_code == 503
        state = phone.source.conditions()[0]
        assert (state.state, "master key" in str(state.detail)) == ("app_locked", True)
        assert "rotate-key phone1" in str(state.next_step)
        row = await phone.row()
        assert (row is not None and row.refused) == 1
    assert (await phone.message(made)).status_code == 200
    assert phone.source.conditions()[0].state == "ready"


async def test_post_recorded_earlier_is_refused(phone: Phone, receipts: Iterator[Receipt]) -> None:
    now = phone.api.shop.clock.now_us()
    answer = await phone.post(event("system:ping", {}), at_us=now - 601_000_000)
    assert answer.status_code == 401
    assert "timestamp" in answer.json()["error"]["message"]


async def test_new_key_replaces_the_old_one_at_once(phone: Phone) -> None:
    new = await sources.new_key(phone.api.shop.env, OWNER, "phone1")
    ping = event("system:ping", {})
    assert (await phone.post(ping)).status_code == 401
    assert (await phone.post(ping, new)).json()["data"]["result"] == "heard"


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{", event("sms:batch:received", {}), b'{"event":"sms:received",' + b" " * 300_000],
    ids=["list", "cut", "no list", "large"],
)
async def test_signed_post_that_cannot_be_read_is_kept_counted_and_told_once(phone: Phone, body: bytes) -> None:
    for _ in range(2):
        answer = await phone.post(body)
        assert (answer.status_code, answer.json()["data"]["result"]) == (200, "stored")
    phone.api.shop.clock.advance(7)  # many parts are put together a little later
    await assemble_parts(phone.api.shop.env, pytest.fail)
    kept = await phone.api.shop.values("SELECT body FROM messages WHERE body IS NOT NULL")
    assert kept == [body.decode()[:10_000]]
    row = await phone.row()
    assert (row is not None and row.refused) == 2
    assert phone.source.conditions()[0].state == "app_refused"
    told = await phone.api.shop.values("SELECT 1 FROM events WHERE type = 'source.unreadable'")
    assert len(told) == 2


async def test_large_post_about_something_else_ends_its_retries_and_is_not_kept(phone: Phone) -> None:
    answer = await phone.post(event("mms:downloaded", {"data": "A" * 3_000_000}))
    assert (answer.status_code, answer.json()["data"]["result"]) == (200, "ignored")
    row = await phone.row()
    assert (row is not None and row.refused) == 0
    assert await stored(phone.api) == []


async def test_sms_of_a_batch_that_is_too_large_are_asked_for_one_by_one(tmp_path: Path) -> None:
    with ForwarderApp("http://127.0.0.1:1", "k", seed=1) as app:
        settings = replace(SETTINGS, phone_url=app.inbox_url, user=USER)
        async with phone_of(tmp_path, settings) as phone:
            await store_source_password(phone.api.shop.env, OWNER, "phone1", PASSWORD)
            await phone.post(event("system:ping", {}))
            await phone.source._look()
            batch = {"messages": [{"message": "A" * 2_000, "sender": "x"}] * 200}
            assert (await phone.post(event("sms:batch:received", batch))).status_code == 200
            await until(lambda: len(app.orders) == 1)


async def test_large_post_is_checked_whole(phone: Phone) -> None:
    body = b'{"event":"sms:received",' + b" " * 300_000
    sent = headers(phone.key, body, phone.api.shop.clock.now_us() / 1_000_000)
    answer = await phone.client.post(PATH, content=body + b" ", headers=sent)
    assert answer.status_code == 401
    assert await stored(phone.api) == []


async def test_no_post_of_an_app_is_larger_than_8_megabytes(phone: Phone) -> None:
    with contextlib.suppress(httpx.HTTPError):  # it is not read to its end
        assert (await phone.post(b"x" * (8 * 1024 * 1024 + 1))).status_code == 413
    row = await phone.row()
    assert (row is not None and row.refused) == 1


async def test_batch_of_a_hundred_long_messages_is_stored(phone: Phone) -> None:
    started, made = STARTED.timestamp(), list(mtn_receipts(100))
    at = [{"receivedAt": f"{one.sent_at.isoformat()}"} for one in made]
    listed = [
        {"message": f"{one.text} {'long ' * 200}", "sender": "+233200000001", "simNumber": 1, **when}
        for one, when in zip(made, at, strict=True)
    ]
    body = event("sms:batch:received", {"messages": listed})
    assert 100_000 < len(body) < 262_144
    phone.api.shop.clock.advance(max(0.0, made[-1].sent_at.timestamp() - started))
    answer = await phone.post(body)
    assert (answer.status_code, answer.json()["data"]["result"]) == (200, "stored")
    assert await phone.api.shop.values("SELECT COUNT(*) FROM messages") == [100]


@pytest.mark.parametrize("year", [1, 1970, 2090, 2569, 9999])
async def test_message_with_an_odd_time_is_stored_without_it(phone: Phone, year: int) -> None:
    made = next(mtn_receipts(1))
    answer = await phone.message(made, receivedAt=f"{year:04d}-01-01T00:00:00.000+00:00")
    assert answer.json()["data"]["result"] == "stored"
    assert await phone.api.shop.values("SELECT sent_at FROM messages") == [None]


async def test_one_odd_message_of_a_batch_leaves_the_others_stored_and_is_told(
    phone: Phone, receipts: Iterator[Receipt]
) -> None:
    def payload(made: Receipt) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(received(Sms(made.sender, made.text, made.sent_at)))
        return dict(found["payload"])

    odd = {"message": None, "text": "Akwaaba", "simNumber": 1}
    batch = [payload(next(receipts)), odd, payload(next(receipts))]
    for _ in range(2):
        answer = await phone.post(event("sms:batch:received", {"messages": batch}))
        assert answer.json()["data"]["result"] == "stored"
    assert len(await stored(phone.api)) == 3
    [kept] = await phone.api.shop.values("SELECT body FROM messages WHERE sender = '?post'")
    assert json.loads(kept) == odd
    row = await phone.row()
    assert row is not None
    assert row.refused == 2
    assert phone.source.conditions()[0].state == "app_refused"
    assert len(await phone.api.shop.values("SELECT 1 FROM events WHERE type = 'source.unreadable'")) == 2


async def batch_of(receipts: Iterator[Receipt], phone: Phone, count: int) -> bytes:
    made = [next(receipts) for _ in range(count)]
    at = made[-1].sent_at.timestamp() - phone.api.shop.clock.now_us() / 1_000_000
    phone.api.shop.clock.advance(max(0.0, at))
    listed = [json.loads(received(Sms(one.sender, one.text, one.sent_at))) for one in made]
    return event("sms:batch:received", {"messages": [one["payload"] for one in listed]})


async def test_message_of_a_batch_that_cannot_be_stored_by_a_bug_is_set_aside_and_the_others_are_stored(
    phone: Phone, receipts: Iterator[Receipt], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = handover.store_parts

    async def fail(env: Env, log: Log, source: Source, parts: Sequence[ReadPart]) -> Ingested:
        if bad & {part.pdu for part in parts}:
            raise ValueError("an error in momo")
        return await real(env, log, source, parts)

    body = await batch_of(receipts, phone, 3)
    odd = read_post(SETTINGS.app, body, UTC).messages[1]
    made = text_parts(odd.sender, odd.text, odd.sent_at, storage="app", slot=0)
    bad = {part.pdu for part in made}
    monkeypatch.setattr(handover, "store_parts", fail)
    assert (await phone.post(body)).status_code == 503
    assert len(await stored(phone.api)) == 2
    assert (await phone.post(body)).status_code == 200
    assert len(await stored(phone.api)) == 2
    texts = [str(one.text) for one in phone.api.shop.env.faults.all()]
    assert any("has set it aside" in one for one in texts)
    assert "source phone1" in "".join(texts)


async def test_every_message_of_a_batch_is_booked_while_the_message_journal_cannot_be_written(
    phone: Phone, receipts: Iterator[Receipt], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    env = phone.api.shop.env
    monkeypatch.setattr(env, "message_journal", MessageJournal(tmp_path, b"k" * 32))
    monkeypatch.setattr(handover, "STORE_RETRY_S", 0.01)
    body = await batch_of(receipts, phone, 3)
    with monkeypatch.context() as on_full_disk:
        on_full_disk.setattr(MessageJournal, "append", full)
        assert (await phone.post(body)).status_code == 503
        assert len(await stored(phone.api)) == 3
        state = phone.source.conditions()[0]
        assert (state.state, "payments are booked" in str(state.detail)) == ("not_deleting", True)
    assert (await phone.post(body)).status_code == 200
    assert len(await stored(phone.api)) == 3
    assert phone.source.conditions()[0].state == "ready"


async def test_odd_characters_in_the_json_of_a_post_do_not_refuse_it(phone: Phone, receipts: Iterator[Receipt]) -> None:
    made = next(receipts)
    for odd in (b"half \\ud83d", b"octet \xff", b"\x0f"):
        body = received(Sms("+233200000001", "HERE", made.sent_at)).replace(b"HERE", odd)
        assert (await phone.post(body)).status_code == 200
    assert await phone.api.shop.values("SELECT body FROM messages ORDER BY seq") == [
        "half \ufffd",
        "octet \ufffd",
        "\x0f",
    ]
    row = await phone.row()
    assert (row is not None and row.refused) == 0


async def test_sim_that_the_settings_do_not_name_is_told_once_and_its_sms_are_counted(
    phone: Phone, receipts: Iterator[Receipt]
) -> None:
    for slot in (4, 4, 2):
        answer = await phone.message(next(receipts), simNumber=slot)
        assert answer.json()["data"]["result"] == "ignored"
    await phone.source._look()
    told = await phone.api.shop.values("SELECT data FROM events WHERE type = 'source.other_sim'")
    assert [json.loads(one)["slot"] for one in told] == [4]
    row = await phone.row()  # slot 2 is `none` in the settings, which is no news
    assert row is not None
    assert (row.refused, row.refused_at) == (2, None)


async def test_events_about_something_else_end_their_retries(phone: Phone) -> None:
    answer = await phone.post(event("sms:sent", {}))
    assert (answer.status_code, answer.json()["data"]["result"]) == (200, "ignored")


async def test_each_sim_is_a_line_and_a_private_sim_is_not_read(phone: Phone, receipts: Iterator[Receipt]) -> None:
    plan = [next(receipts) for _ in range(4)]
    results = [
        (await phone.message(made, simNumber=number)).json()["data"]["result"]
        for made, number in zip(plan, (1, 2, 3, None), strict=True)
    ]
    assert results == ["stored", "ignored", "stored", "stored"]
    found = await phone.api.shop.values(
        "SELECT s.network, COUNT(*) FROM messages m JOIN sims s ON s.sim_key = m.sim_key "
        "GROUP BY s.network ORDER BY s.network"
    )
    assert found == [("mtn", 2), ("telecel", 1)]
    assert [each.port for each in phone.source.conditions()] == ["android:phone1", "android:phone1/3"]


async def test_message_that_cannot_be_stored_is_503_and_the_gap_is_remembered(
    tmp_path: Path, receipts: Iterator[Receipt]
) -> None:
    with ForwarderApp("http://127.0.0.1:1", "k", seed=1) as app:
        settings = replace(SETTINGS, phone_url=app.inbox_url, user=USER)
        async with phone_of(tmp_path, settings) as phone:
            await store_source_password(phone.api.shop.env, OWNER, "phone1", PASSWORD)
            known = dict(phone.source._sources)
            phone.source._sources.clear()  # as while the daemon starts
            made = next(receipts)
            assert (await phone.message(made)).status_code == 503
            assert await stored(phone.api) == []
            phone.source._sources.update(known)
            assert (await phone.message(made)).status_code == 200
            await until(lambda: len(app.orders) == 1)


async def test_closed_database_is_503(phone: Phone, receipts: Iterator[Receipt]) -> None:
    made = next(receipts)
    phone.api.shop.env.store.close()
    assert (await phone.message(made)).status_code == 503


async def test_silent_app_is_told_after_three_missed_pings(phone: Phone) -> None:
    await until(lambda: phone.source.conditions()[0].state == "app_silent")
    await phone.post(event("system:ping", {}))
    assert phone.source.conditions()[0].state == "ready"
    phone.api.shop.clock.advance(901)
    device = phone.source.conditions()[0].device_id
    assert device is not None
    assert await phone.source.inspect(device) is False
    [problem] = find_problems(phone.source.conditions()[0], phone.api.shop.clock.now_us())
    assert (problem.id, problem.level) == ("modem.app_silent", "fail")
    assert "15 min" in str(problem.text)


async def test_gap_of_a_day_is_asked_for(tmp_path: Path, receipts: Iterator[Receipt]) -> None:
    with ForwarderApp("http://127.0.0.1:1", "k", seed=1) as app:
        settings = replace(SETTINGS, phone_url=app.inbox_url, user=USER)
        async with phone_of(tmp_path, settings) as phone:
            await store_source_password(phone.api.shop.env, OWNER, "phone1", PASSWORD)
            await phone.post(event("system:ping", {}))
            await phone.source._look()
            assert app.orders == []
            missed = next(receipts)
            app.get(Sms(missed.sender, missed.text, STARTED + timedelta(hours=5)), post=False)
            phone.api.shop.clock.advance(86_400)
            await phone.post(event("system:ping", {}))
            await phone.source._look()
            assert len(app.orders) == 2
            (since, _), (_, end) = app.orders
            assert since < STARTED.isoformat() < end
            assert not app.is_idle
            for body in list(app._queue):
                assert (await phone.post(body)).status_code == 200
            assert len(await stored(phone.api)) == 1
            await phone.source._look()
            assert len(app.orders) == 2


async def test_wrong_password_of_the_phone_is_tried_again_once_a_minute(tmp_path: Path) -> None:
    with ForwarderApp("http://127.0.0.1:1", "k", seed=1) as app:
        settings = replace(SETTINGS, phone_url=app.inbox_url, user=USER)
        async with phone_of(tmp_path, settings) as phone:
            await phone.post(event("system:ping", {}))
            phone.api.shop.clock.advance(86_400)
            await phone.post(event("system:ping", {}))
            await phone.source._look()
            assert app.orders == []
            await store_source_password(phone.api.shop.env, OWNER, "phone1", PASSWORD)
            await phone.source._look()
            assert app.orders == []
            phone.api.shop.clock.advance(61)
            await phone.source._look()
            assert len(app.orders) == 2


async def test_list_tells_the_state_and_forgetting_ends_the_posts(phone: Phone) -> None:
    await phone.post(event("system:ping", {}))
    await phone.post(event("system:ping", {}), "guess")
    await phone.source._look()
    phone.api.phones = phone.source.conditions()
    [row] = (await phone.api.local.get("/local/v1/sources")).json()["data"]
    assert row["url"].endswith(PATH)
    wanted = ("phone1", "post", "app_refused", True, 1)
    assert tuple(row[name] for name in ("name", "kind", "state", "may_pay", "refused")) == wanted
    made = await phone.api.local.post("/local/v1/sources/phone1/key")
    assert made.headers["cache-control"] == "no-store"
    assert len(made.json()["data"]["key"]) == 40
    assert (await phone.api.local.post("/local/v1/sources/other/key")).status_code == 422
    gone = await phone.api.local.delete("/local/v1/sources/phone1")
    assert gone.json()["data"] == {"name": "phone1", "forgotten": True}
    answer = await phone.post(event("system:ping", {}), made.json()["data"]["key"])
    assert answer.status_code == 401
    text = json.dumps(await phone.api.shop.values("SELECT data FROM events"))
    assert made.json()["data"]["key"] not in text
