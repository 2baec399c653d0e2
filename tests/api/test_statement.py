"""Compare a network's statement with the messages: no transaction is paid by it, and a file is recorded once."""

from datetime import timedelta

from tests.fakes.api import FakeApi
from tests.fakes.receipts import STARTED, mtn

PATH = "/local/v1/statement"
LINE = "0244124567"


def entry(number: int, minor: int) -> dict[str, object]:
    return {"id": f"9321450000{number}", "amount_minor": minor}


async def test_each_entry_is_told_apart_and_nothing_is_paid(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    shop = api.shop
    await shop.begin_chain()
    shop.limit(0)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), str(request.svc_code), "93214500001"))
    later = STARTED + timedelta(minutes=1)
    await shop.read(mtn(900, "KOFI ANTWI BADU", shop.wallet(900), "rent", "93214500002", sent_at=later))
    # Its balance differs from the wallet's, so it is held.
    later += timedelta(minutes=1)
    await shop.read(mtn(4000, "KOFI ANTWI BADU", 5_000_000, "rent", "93214500003", sent_at=later))
    waiting = await shop.request(700)
    body = {"line": LINE, "entries": [entry(1, 2500), entry(2, 950), entry(3, 4000), entry(4, 700)]}
    found = (await api.local.post(PATH, json=body)).json()["data"]["entries"]
    assert [one["finding"] for one in found] == ["agrees", "amount", "held", "untold"]
    assert found[0]["reference"] == request.reference
    assert found[1]["told_amount"] == "9.00"
    reviews = (await api.local.get("/v1/reviews")).json()["data"]
    assert [one["id"] for one in reviews] == [found[2]["review_id"]]
    assert (await shop.transaction(waiting.reference)).status == "PENDING"
    other = {**body, "line": "0209000543", "entries": [entry(1, 2500)]}
    assert (await api.local.post(PATH, json=other)).json()["data"]["entries"][0]["finding"] == "line"


async def test_a_file_is_noted_once(api: FakeApi) -> None:
    body = {"line": LINE, "note": {"sha256": "ab" * 32, "agrees": 3, "untold": 1, "name": "x"}}
    for noted in (True, False):
        assert (await api.local.post(PATH, json=body)).json()["data"]["noted"] is noted
    rows = await api.shop.values("SELECT data FROM events WHERE type = 'statement.compared'")
    digest = "ab" * 32
    assert rows == [f'{{"sha256":"{digest}","line":"+233244124567","agrees":3,"untold":1}}']


async def test_what_is_no_entry_is_refused(api: FakeApi) -> None:
    for entries in ([{"id": 5, "amount_minor": 1}], [{"id": "x"}], "x", [entry(1, 1)] * 401):
        assert (await api.local.post(PATH, json={"entries": entries})).status_code == 422
    assert (await api.local.post(PATH, json={"note": {"sha256": "x"}})).status_code == 422
