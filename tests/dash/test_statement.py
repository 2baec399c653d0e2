"""A statement is compared in the browser, and the day sheet is mailed to the owner."""

import base64
import re
from datetime import timedelta
from html import escape
from pathlib import Path

import openpyxl
import pytest
from playwright.async_api import Browser

from daemon.runtime.config import Config, Smtp
from daemon.wire import Role
from tests.dash.forms import OWN
from tests.fakes.api import FakeApi, running
from tests.fakes.browser import needs_browser, visiting
from tests.fakes.dash import as_user, log_in
from tests.fakes.orders import Orders
from tests.fakes.receipts import STARTED, mtn

HEAD = "Transaction Date,FID,Amount,Balance Before,Balance After\n"


def row(number: int, amount: str, minute: int) -> str:
    at = STARTED + timedelta(minutes=minute)
    return f"{at:%Y-%m-%d %H:%M:%S},9321450000{number},{amount},0.00,100.00\n"


async def three_messages(api: FakeApi) -> None:
    """Three messages: one agrees, one has another amount, one is not on the statement."""
    shop = api.shop
    await shop.begin_chain()
    shop.limit(0)
    for number, minor, minute in ((1, 2500, 0), (2, 900, 1), (3, 700, 2)):
        at = STARTED + timedelta(minutes=minute)
        telco_id = f"9321450000{number}"
        receipt = mtn(minor, "KOFI BADU", shop.wallet(minor), "rent", telco_id, sent_at=at)
        await shop.read(receipt)


TEXT = HEAD + row(1, "25.00", 0) + row(2, "9.50", 1) + row(4, "4.00", 3)


async def test_each_difference_is_named_and_leads_on(api: FakeApi) -> None:
    await three_messages(api)
    person = await log_in(api, Role.MANAGER)
    form = {"statement": TEXT, "line": "+233244124567"}
    page = (await person.post("/dash/statement", form)).text
    assert "1 of 3 payments on the statement agree" in page
    assert "3 differences" in page
    for words in ("another amount", "no message", "not on the statement", "GHS\xa09.50"):
        assert words in page
    [payment] = await api.shop.values("SELECT id FROM payments WHERE telco_transaction_id = '93214500003'")
    assert f'href="/dash/payments/{payment}"' in page
    assert "The comparison is in the journal." in page
    # The same file again says the same, and is noted once; nothing was paid by it.
    again = (await person.post("/dash/statement", form)).text
    assert "This file was compared before." in again
    actors = "SELECT actor FROM events WHERE type = 'statement.compared'"
    assert await api.shop.values(actors) == ["user:manager"]


async def test_the_balance_after_the_last_row_settles_messages_after_a_password(api: FakeApi) -> None:
    shop = api.shop
    await shop.begin_chain(10_000)
    shop.limit(0)
    order = await shop.request(2500)
    held = mtn(2500, "KOFI BADU", 7_500, str(order.svc_code), "93214500001", sent_at=STARTED)
    await shop.read(held)
    shop.clock.advance(3600)
    last = f"{STARTED:%Y-%m-%d %H:%M:%S},93214500001,25.00,50.00,75.00\n"
    person = await log_in(api, Role.OWNER)
    form = {"statement": HEAD + row(8, "1.00", -60) + last, "line": "+233244124567"}
    page = (await person.post("/dash/statement", form)).text
    assert "It ends with GHS\xa075.00" in page
    fields = dict(re.findall(r'type="hidden" name="(balance|at|statement_from)" value="([^"]+)"', page))
    [where] = re.findall(r'action="(/dash/lines/[^"]+/wallet)"', page)
    wrong = (await person.post(where, fields | {"confirm_password": "not it"})).text
    for name in ("at", "statement_from"):
        assert f'name="{name}" value="{fields[name]}"' in wrong, "it stays a statement"
    assert (await shop.transaction(order.reference)).status == "MANUAL_REVIEW"
    other = (await person.post(where, fields | OWN | {"balance": "76.00"})).text
    assert "No message of this line leads to this balance" in other
    done = (await person.post(where, fields | OWN)).text
    assert "GHS 25.00 (93214500001) pays now." in done
    assert (await shop.transaction(order.reference)).status == "SUCCESS"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"statement": " "}, "Choose a file"),
        ({"statement": "When,What,Much\n1,2,3\n"}, "The columns are: When, What, Much"),
    ],
)
async def test_what_is_no_statement_is_said(api: FakeApi, form: dict[str, str], words: str) -> None:
    person = await log_in(api, Role.MANAGER)
    answer = await person.post("/dash/statement", form)
    assert answer.status_code == 422
    assert words in answer.text


async def test_columns_of_another_network_are_named_by_hand(api: FakeApi) -> None:
    await three_messages(api)
    person = await log_in(api, Role.MANAGER)
    text = "Code;Worth\n93214500001;25.00\n"
    form = {"statement": text, "column_id": "Code", "column_amount": "Worth"}
    page = (await person.post("/dash/statement", form)).text
    assert "1 of 1 payments" in page
    assert "nothing differs" in page
    assert "No line has a readable time" in page


def address(data: bytes) -> str:
    """Return a file as the script puts it into the form."""
    return f"data:;base64,{base64.b64encode(data).decode()}"


async def test_a_file_that_is_refused_is_named_and_stays_chosen(api: FakeApi) -> None:
    person = await log_in(api, Role.MANAGER)
    for data, words in (
        (b"", "The file is empty."),
        (b"%PDF-1.4", "This is a PDF"),
        (b"FID;Pay\xe9\n", "not in UTF-8"),
        (b"\0\1", "neither CSV nor Excel"),
        (b"PK\x03\x04", "is damaged"),
        (b"a,b\n" * 300_000, "too long"),
        (b"a,b\n", "A column was not found"),
    ):
        form = {"statement": "", "upload": address(data), "upload_name": "mtn <1>.csv"}
        answer = await person.post("/dash/statement", form)
        assert answer.status_code == 422
        assert words in answer.text
        assert f'name="upload" value="{escape(address(data))}"' in answer.text
        assert "mtn &lt;1&gt;.csv" in answer.text


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_a_chosen_file_is_compared(api: FakeApi, browser: Browser, tmp_path: Path, kind: str) -> None:
    await three_messages(api)
    # The names of two columns are the network's own, which momo does not know.
    text = TEXT.replace("FID", "Ref.").replace("Amount", "Value")
    file = tmp_path / f"other.{kind}"
    file.write_text(text)
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for line in text.splitlines():
            book.worksheets[0].append(line.split(","))
        book.save(file)
    person = await log_in(api, Role.OWNER)
    async with visiting(browser, api.base_url) as visit:
        await as_user(visit, person)
        page = visit.page
        await page.goto("/dash/statement")
        await page.get_by_label("File (CSV or Excel)").set_input_files(str(file))
        while not await page.locator("#f-upload").input_value():
            await page.evaluate("new Promise(requestAnimationFrame)")
        await page.get_by_role("button", name="Compare").click()
        await page.get_by_text(f"Chosen: other.{kind}").wait_for()
        await page.get_by_label("Column of the transaction ID").fill("Ref.")
        await page.get_by_label("Column of the amount").fill("Value")
        await page.get_by_role("button", name="Compare").click()
        await page.get_by_text("1 of 3 payments").wait_for()
        assert [fault for fault in visit.faults if "422" not in fault] == []


async def test_the_day_sheet_is_mailed_to_the_owner_only(tmp_path: Path) -> None:
    config = Config(smtp=Smtp(host="mail.shop.example", to="ama@shop.example"))
    async with running(tmp_path, config) as api:
        await Orders(api.shop).make("paid")
        viewer, manager = await log_in(api, Role.VIEWER), await log_in(api, Role.MANAGER)
        assert "Mail it" not in (await viewer.get("/dash/day")).text
        assert (await viewer.post("/dash/day/mail")).status_code == 403
        assert "Mail it to ama@shop.example" in (await manager.get("/dash/day")).text
        day = {"from": "2026-11-21", "to": "2026-11-21"}
        answer = await manager.post("/dash/day/mail", day)
        assert answer.headers["location"] == "/dash/day?from=2026-11-21&to=2026-11-21&said=said_mailed"
        [(subject, body)] = await api.shop.values("SELECT subject, body FROM notice_sends")
        assert subject == "Saturday 21 November 2026 · Ama Provisions"
        assert "Money in" in body
        assert "GHS\xa025.00" in body
        actors = "SELECT actor FROM events WHERE type = 'report.mailed'"
        assert await api.shop.values(actors) == ["user:manager"]


async def test_without_a_mail_server_nothing_is_offered(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    assert "Mail it" not in (await person.get("/dash/day")).text
    answer = await person.post("/dash/day/mail")
    assert answer.headers["location"] == "/dash/day?said=said_no_mail"
