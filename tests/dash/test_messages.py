"""The pages of the received SMS: show, confirm a wording, and import messages as history."""

import json
from pathlib import Path

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store.engine import Tx
from daemon.wire import Role
from parsers.times import from_us
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, log_in
from tests.fakes.orders import Orders
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn_receipt
from tests.fakes.reviews import forge
from tests.fakes.shop import METHOD_ID
from tests.parsers.test_own import FILE

EVIL = "<img src=x onerror=alert(1)>"
TEXT = "You got GHS 25.00 from KOFI ANTWI. Wallet: GHS 925.00. Note: x. Token: 93214500001. Thanks for using MoMo."
IMPORT = "/dash/messages/import"


async def run(api: FakeApi, sql: str, **values: object) -> None:
    def job(tx: Tx) -> None:
        tx.run(sql, values)

    await api.shop.env.store.write(job)


async def newest(api: FakeApi) -> str:
    return str((await api.shop.values("SELECT id FROM messages ORDER BY seq DESC LIMIT 1"))[0])


async def test_the_list_is_filtered_and_a_shown_text_is_in_the_journal(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await Orders(api.shop).make("paid")
    await forge(api.shop)
    person = await log_in(api, Role.VIEWER)
    page = (await person.get("/dash/messages?message=held")).text
    assert page.count("/dash/messages/") == 1
    assert "MobileMony" in page
    path = f"/dash/messages/{await newest(api)}"
    assert "Current Balance" in (await person.get(path)).text
    [shown] = await api.shop.values("SELECT actor FROM events WHERE type = 'messages.shown'")
    assert shown == "user:viewer"
    assert "054" in (await person.get("/dash/messages?search=0541234567")).text


async def test_control_and_direction_characters_and_markup_are_shown_plainly(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await Orders(api.shop).make("paid")
    body = f"{EVIL} \u202egnp.exe\u0007"
    await run(api, "UPDATE messages SET body = :body, sender = :body", body=body)
    person = await log_in(api, Role.OWNER)
    for path in ("/dash/messages", f"/dash/messages/{await newest(api)}"):
        page = (await person.get(path)).text
        assert EVIL not in page
        assert "\u202e" not in page
        assert "[U+202E]gnp.exe[U+0007]" in page


async def test_a_code_to_log_in_somewhere_is_shown_to_the_owner_only(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await Orders(api.shop).make("paid")
    await run(api, "UPDATE messages SET kind = 'otp', body = 'Your code is 424242'")
    path = f"/dash/messages/{await newest(api)}"
    assert "424242" not in (await (await log_in(api, Role.MANAGER)).get(path)).text
    assert "424242" in (await (await log_in(api, Role.OWNER)).get(path)).text


async def test_an_unread_message_is_read_again(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await Orders(api.shop).make("paid")
    await run(api, "UPDATE messages SET state = 'unparsed' WHERE kind IS NULL")
    person = await log_in(api, Role.MANAGER)
    one = await person.post(f"/dash/messages/{await newest(api)}/reparse")
    assert "said_not_read" in one.headers["location"]
    every = await person.post("/dash/messages/all/reparse")
    assert every.headers["location"].startswith("/dash/messages?message=unparsed&said=said_read_")


async def test_confirming_a_wording_needs_the_own_password_and_a_message_that_can(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await Orders(api.shop).make("paid")
    person = await log_in(api, Role.MANAGER)
    path = f"/dash/messages/{await newest(api)}/confirm"
    wrong = await person.post(path, {"confirm_password": "wrong"})
    assert wrong.status_code == 422
    known = await person.post(path, {"confirm_password": PASSWORD})
    assert "can confirm no wording" in known.text
    assert await api.shop.values("SELECT COUNT(*) FROM confirmed_wordings") == [0]


async def test_a_confirmed_wording_is_believed_until_it_is_withdrawn(api: FakeApi, tmp_path: Path) -> None:
    at = from_us(api.shop.clock.now_us())
    await api.shop.read_pdus(encode_deliver(MTN_SENDER, TEXT, at, smsc=MTN_SMSC))
    (tmp_path / "mtn.toml").write_text(FILE)
    api.shop.env.own_wordings.folder = tmp_path
    api.shop.env.own_wordings.read_again()
    person = await log_in(api, Role.MANAGER)
    path = f"/dash/messages/{await newest(api)}"
    read = await person.post(f"{path}/reparse")
    assert "said_read" in read.headers["location"]
    assert "Confirm this wording" in (await person.get(path)).text
    wrong = await person.post(f"{path}/confirm", {"confirm_password": "wrong"})
    assert (wrong.status_code, "The password is wrong" in wrong.text) == (422, True)
    done = await person.post(f"{path}/confirm", {"confirm_password": PASSWORD})
    assert "said_confirmed" in done.headers["location"]
    by = await api.shop.values("SELECT confirmed_by FROM confirmed_wordings")
    assert by == ["user:manager"]
    await person.post(f"{path}/unconfirm")
    assert await api.shop.values("SELECT COUNT(*) FROM confirmed_wordings") == [0]


async def test_a_pasted_message_is_stored_as_history_once(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    form = {"line": METHOD_ID, "text": mtn_receipt(2500, "KOFI", 92_500, "", "93214500077")}
    done = await person.post(f"{IMPORT}/paste", form)
    page = (await person.get(done.headers["location"])).text
    assert "Stored as history" in page
    assert "GHS" in page
    assert await api.shop.values("SELECT historical FROM payments") == [1]
    other = await person.post(f"{IMPORT}/paste", {**form, "sender": "SomeBank"})
    assert (other.status_code, "no sender of the network" in other.text) == (422, True)


async def test_a_pasted_message_pays_only_what_a_person_with_the_password_says(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    person, cashier = await log_in(api, Role.MANAGER), await log_in(api, Role.CASHIER)
    text = mtn_receipt(2500, "KOFI", 92_500, "", "93214500077")
    await person.post(f"{IMPORT}/paste", {"line": METHOD_ID, "text": text})
    (payment,) = await api.shop.payments()
    by_payment, by_order = f"/dash/payments/{payment.id}", f"/dash/transactions/{request.reference}"
    assert "Anybody can make up such a message" in (await person.get(by_payment)).text
    forms = ((by_payment, {"order": str(request.svc_code)}), (by_order, {"transaction_id": "93214500077"}))
    for path, form in forms:
        assert (await cashier.post(f"{path}/reconcile", form)).status_code == 403
        bare = await person.post(f"{path}/reconcile", form)
        assert (bare.status_code, "tick this" in bare.text) == (422, True)
        assert "Anybody can make up such a message" in bare.text
        wrong = await person.post(f"{path}/reconcile", {**form, "sure": "yes", "confirm_password": "nonsense"})
        assert (wrong.status_code, "The password is wrong" in wrong.text) == (422, True)
    path, form = forms[1]
    done = await person.post(f"{path}/reconcile", {**form, "sure": "yes", "confirm_password": PASSWORD})
    assert "said_reconciled" in done.headers["location"]


async def test_a_backup_is_looked_at_first_and_then_taken_in(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    text = mtn_receipt(2500, "KOFI", 92_500, "", "93214500077")
    rows = ["sender,text,date", f'MobileMoney,"{text}",2026-11-01T10:00:00Z', "Ama,hello,2026-11-01"]
    form = {"line": METHOD_ID, "backup": "\r\n".join(rows), "do": "look"}
    looked = await person.post(f"{IMPORT}/backup", form)
    assert "Nothing is stored yet" in looked.text
    assert await api.shop.values("SELECT COUNT(*) FROM messages") == [0]
    taken = await person.post(f"{IMPORT}/backup", {**form, "do": "take"})
    assert "2 messages were taken in" in taken.text
    assert await api.shop.values("SELECT COUNT(*) FROM messages") == [1]
    [facts] = await api.shop.values("SELECT data FROM events WHERE type = 'messages.imported'")
    assert json.loads(facts)["new"] == 1
    bad = await person.post(f"{IMPORT}/backup", {**form, "backup": "<x>", "do": "take"})
    assert (bad.status_code, "not a backup" in bad.text) == (422, True)
