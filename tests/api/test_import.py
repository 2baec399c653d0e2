"""POST /local/v1/messages/import: on the socket, for the owner only, with limits and strict validation."""

from typing import Any

from daemon.flows.messages.import_file import BATCH
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SENDER, mtn

PATH = "/local/v1/messages/import"
TEXT = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001").text
MESSAGE: dict[str, Any] = {
    "sender": MTN_SENDER, "text": TEXT, "sent_at": "2026-11-02T08:00:00Z", "smsc": "+233240000099",
}  # fmt: skip


async def test_messages_of_a_file_become_history(api: FakeApi) -> None:
    body = {"line": "0244124567", "messages": [MESSAGE, {**MESSAGE, "sender": "Kofi"}]}
    data = (await api.local.post(PATH, json=body)).json()["data"]
    first, second = data["messages"]
    assert (first["fate"], first["state"], data["dry_run"]) == ("new", "historical", False)
    assert second == {"fate": "other_sender", "state": None, "id": None, "why": None}
    listed = (await api.local.get("/local/v1/messages?state=historical")).json()["data"]
    assert [(one["id"], one["reasons"]) for one in listed] == [(first["id"], ["imported"])]


@each(
    "messages",
    [
        None,
        "x",
        [7],
        [MESSAGE] * (BATCH + 1),
        [{**MESSAGE, "sent_at": "2026-11-02 08:00"}],
        [{**MESSAGE, "text": None}],
        [{"pdu": "no hex"}],
        [{"pdu": ""}],
    ],
)
async def test_what_is_no_list_of_messages_is_refused(api: FakeApi, messages: object) -> None:
    answer = await api.local.post(PATH, json={"line": "0244124567", "messages": messages})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")


async def test_only_the_owner_takes_messages_in(api: FakeApi) -> None:
    headers = {"Authorization": api.live.headers["Authorization"]}
    answer = await api.local.post(PATH, json={}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SESSION_REQUIRED")
