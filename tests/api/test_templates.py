"""The shop's own wordings over the socket: listed, confirmed with the password; old messages read again."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher

from daemon.modem.codec.pdu_encode import encode_deliver
from parsers.times import from_us
from tests.fakes.api import FakeApi
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC
from tests.parsers.test_own import FILE

NOBODY = "0f3c0000-0000-4000-8000-000000000009"
PASSWORD = " correct horse "
TEXT = "You got GHS 25.00 from KOFI ANTWI. Wallet: GHS 925.00. Note: x. Token: 93214500001. Thanks for using MoMo."
LOCAL = [
    ("GET", "/local/v1/templates"),
    ("POST", "/local/v1/messages/reparse"),
    ("POST", f"/local/v1/messages/{NOBODY}/confirm-wording"),
]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def unread(api: FakeApi) -> str:
    """Let a message in a new wording come in, in a shop with a password; returns its id."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed}))
    at = from_us(api.shop.clock.now_us())
    await api.shop.read_pdus(encode_deliver(MTN_SENDER, TEXT, at, smsc=MTN_SMSC))
    [message_id] = await api.shop.values("SELECT id FROM messages")
    return str(message_id)


def put(api: FakeApi, folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    api.shop.env.own_wordings.folder = folder
    api.shop.env.own_wordings.read_again()


@pytest.mark.parametrize(("method", "path"), LOCAL)
async def test_none_of_it_is_on_tcp_or_for_a_key(api: FakeApi, method: str, path: str) -> None:
    body: dict[str, Any] | None = {} if method == "POST" else None
    assert code(await api.live.request(method, path, json=body)) == (404, "ROUTE_NOT_FOUND")
    headers = {"Authorization": api.live.headers["Authorization"]}
    answer = await api.local.request(method, path, headers=headers, json=body)
    assert code(answer) == (403, "SESSION_REQUIRED")


async def test_the_list_names_good_and_bad_files_and_what_waits(api: FakeApi, tmp_path: Path) -> None:
    put(api, tmp_path, good=FILE, bad=FILE.replace("{amount}", "{amout}"))
    data = (await api.local.get("/local/v1/templates")).json()["data"]
    assert data["folder"] == str(tmp_path)
    bad, good = data["files"]
    assert (bad["file"], bad["wordings"], bad["problems"][0]["line"]) == ("bad.toml", [], 6)
    assert good["problems"] == []
    assert good["wordings"][0]["name"].startswith("own:receipt_2027#")
    assert {one["network"] for one in data["unverified"]} >= {"at"}
    status = (await api.local.get("/local/v1/status")).json()["data"]["templates"]
    assert (status["files"], status["wordings"], len(status["problems"])) == (2, 1, 1)


async def test_a_wording_is_confirmed_with_the_password_only(api: FakeApi, tmp_path: Path) -> None:
    path = f"/local/v1/messages/{await unread(api)}/confirm-wording"
    put(api, tmp_path, mtn=FILE)
    refused = await api.local.post(path, json={"password": PASSWORD})
    assert code(refused) == (422, "VALIDATION_ERROR")
    assert "only a held or approved message" in refused.text
    done = await api.local.post("/local/v1/messages/reparse", json={})
    assert done.json()["data"]["counts"] == {"held": 1}
    wrong: list[dict[str, Any]] = [{"password": "wrong"}, {"password": 7}, {}]
    assert [(await api.local.post(path, json=body)).status_code for body in wrong] == [403, 422, 422]
    answer = await api.local.post(path, json={"password": PASSWORD})
    assert answer.json()["data"]["sender"] == MTN_SENDER
    assert answer.json()["data"]["confirmed"] is True
    undone = await api.local.post(path, json={"undo": True})
    assert undone.json()["data"]["confirmed"] is False
    missing = f"/local/v1/messages/{NOBODY}/confirm-wording"
    assert code(await api.local.post(missing, json={"password": PASSWORD})) == (404, "MESSAGE_NOT_FOUND")


@pytest.mark.parametrize(
    "body", [{"ids": "x"}, {"ids": ["x"]}, {"after": -1}, {"after": True}, {"dry_run": 1}, {"all": True}]
)
async def test_what_cannot_be_read_again_is_refused(api: FakeApi, body: dict[str, Any]) -> None:
    answer = await api.local.post("/local/v1/messages/reparse", json=body)
    if body == {"all": True}:
        # Unknown members are ignored here, as in every local operation.
        assert answer.status_code == 200
        return
    assert code(answer) == (422, "VALIDATION_ERROR")
