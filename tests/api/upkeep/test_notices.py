"""The owner's notices over the socket, listed until they are marked as seen."""

from typing import Any

from daemon.flows.upkeep import notices
from daemon.store import journal
from daemon.store.engine import Tx
from tests.fakes.api import FakeApi

NOTICES = "/local/v1/notices"


async def happens(api: FakeApi, kind: str, **facts: Any) -> None:
    now = api.shop.clock.now_us()

    def job(tx: Tx) -> None:
        journal.add(tx, kind, now, data=facts)

    await api.shop.env.store.write(job)
    await notices.gather(api.shop.env, 0, ["email"])


async def test_a_notice_is_listed_until_it_was_seen(api: FakeApi) -> None:
    await happens(api, "modem.hung", device_id="a")
    (one,) = (await api.local.get(NOTICES)).json()["data"]
    assert (one["kind"], one["urgent"], one["count"]) == ("modem.hung", True, 1)
    assert one["next"] == "momo phones status"
    status = (await api.local.get("/local/v1/status")).json()["data"]
    assert status["notices"] == {"unseen": 1, "urgent": 1}
    unknown = {"id": "6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11"}
    refused = await api.local.post(f"{NOTICES}/seen", json=unknown)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "NOTICE_NOT_FOUND")
    answer = await api.local.post(f"{NOTICES}/seen", json={"id": one["id"]})
    assert answer.json()["data"] == {"seen": 1}
    again = await api.local.post(f"{NOTICES}/seen", json={"id": one["id"]})
    assert (again.status_code, again.json()["data"]) == (200, {"seen": 0})
    assert (await api.local.get(NOTICES)).json()["data"] == []
    (kept,) = (await api.local.get(f"{NOTICES}?all=1")).json()["data"]
    assert kept["seen_at"] is not None


async def test_a_channel_that_fails_is_named_beside_the_list(api: FakeApi) -> None:
    await happens(api, "modem.hung", device_id="a")
    (send,) = await notices.due(api.shop.env)
    await notices.record_try(api.shop.env, send, "the mail server said no")
    meta = (await api.local.get(NOTICES)).json()["meta"]
    assert meta["not_sent"] == {"channel": "email", "error": "the mail server said no"}
    api.shop.clock.advance(61)
    (again,) = await notices.due(api.shop.env)
    assert again.id == send.id
    await notices.record_try(api.shop.env, again, None)
    assert "not_sent" not in (await api.local.get(NOTICES)).json()["meta"]


async def test_the_mail_password_is_kept_sealed_and_forgotten(api: FakeApi) -> None:
    path = "/local/v1/smtp-password"
    done = await api.local.post(path, json={"password": "battery staple"})
    assert done.json()["data"] == {"set": True}
    assert await notices.smtp_password(api.shop.env) == "battery staple"
    (sealed,) = await api.shop.values("SELECT sealed FROM sealed_secrets")
    assert "battery" not in sealed
    assert (await api.local.post(path, json={"password": None})).json()["data"] == {"set": False}
    assert await notices.smtp_password(api.shop.env) is None
    for wrong in ("", 7, "x" * 1025):
        assert (await api.local.post(path, json={"password": wrong})).status_code == 422


async def test_a_test_goes_to_every_channel_that_the_settings_name(api: FakeApi) -> None:
    answer = await api.local.post(f"{NOTICES}/test")
    assert answer.json()["data"] == {"queued": []}


async def test_none_of_it_is_there_over_tcp(api: FakeApi) -> None:
    for path in (NOTICES, f"{NOTICES}?all=1"):
        assert (await api.live.get(path)).status_code == 404
