"""IDs, codes, phone numbers and amounts are read as they were pasted, at every place that takes one: API, CLI, dashboard, files."""

from collections.abc import Awaitable, Callable

import pytest

from daemon.wire import Role
from momo_cli.commands.payments.reconcile import lines_of
from momo_cli.inputs.typed_values import amount_of
from momo_cli.views.transactions import _CODE
from parsers.pasted import plain_code
from parsers.phone import read_phone
from parsers.statement import read_statement
from parsers.statement_file import rows_in
from tests.dash.test_till import sell
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.receipts import mtn

ID, CODE, PHONE, AMOUNT = "93214500001", "NRWHC8", "0244765432", "1000.00"
E164 = "+233244765432"
AROUND = (
    "{}", " {} ", "\u200e{}", "\u202a{}\u202c", "\u2066{}\u2069", "\ufeff{}", "\u00a0{}\u00a0", "'{}", "#{}", '"{}"', '="{}"', "={}", "{}.",
)  # fmt: skip
"""What a messenger, a contact list, a spreadsheet or a sentence puts around a value."""
DRESSED = {
    "id": [*(one.format(ID) for one in AROUND), "9321450 0001", "9321450\u202f0001", "Transaction ID: 93214500001", "\uff19321450000\uff11"],
    "code": [*(one.format(CODE) for one in AROUND), "nrw hc8", "NRW-HC8", "NRW\u2013HC8", "NRW\u2011HC8", "Code: NRWHC8", "\uff2e\uff32WHC8"],
    "phone": [*(one.format(PHONE) for one in AROUND), "024 476 5432", "024\u00a0476\u00a05432", "024\u2011476\u20115432", "+233 24 476 5432", "tel:+233244765432", "Phone: 0244765432", "\uff10244765432"],
    "amount": [*(one.format(AMOUNT) for one in AROUND), "1,000.00", "1,000", "\uff11000.00"],
}  # fmt: skip


async def paid(api: FakeApi) -> None:
    await api.shop.begin_chain()
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 92_500, "food", ID))


async def api_reconcile(api: FakeApi, text: str) -> str:
    order = await api.shop.request(2500)
    path = f"/v1/transactions/{order.reference}/reconcile"
    answer = await api.live.post(path, json={"transaction_id": text})
    # The first one uses the payment; the others find it used.
    return ID if answer.status_code == 200 or "ALREADY_USED" in answer.text else answer.text


async def api_search(api: FakeApi, text: str) -> str:
    answer = await api.live.get("/v1/transactions", params={"search": text, "origin": "all"})
    return ID if len(answer.json()["data"]) == 1 else answer.text


async def api_expected_id(api: FakeApi, text: str) -> str:
    body = {"amount": "5.00", "phone_number": PHONE, "expected_telco_transaction_id": text}
    answer = await api.live.post("/v1/transactions/initialize", json=body)
    # The first one expects the ID; the others are told that one does.
    return ID if answer.status_code == 201 or "expects" in answer.text else answer.text


async def api_phone(api: FakeApi, text: str) -> str:
    body = {"amount": "5.00", "phone_number": text, "expected_payer_phone": text}
    made = await api.live.post("/v1/transactions/initialize", json=body)
    if made.status_code != 201:
        return made.text
    rows = await api.shop.values("SELECT expected_payer_phone FROM transactions ORDER BY seq DESC LIMIT 1")
    return str(rows[0])


async def api_phone_filter(api: FakeApi, text: str) -> str:
    await api.live.post("/v1/transactions/initialize", json={"amount": "5.00", "phone_number": PHONE})
    answer = await api.live.get("/v1/transactions", params={"phone_number": text})
    return E164 if answer.json().get("data") else answer.text


async def dash_sell(api: FakeApi, phone: str, amount: str) -> tuple[str, int]:
    person = await log_in(api, Role.OWNER)
    made = await api.shop.transaction(await sell(person, amount=amount, phone=phone))
    return str(made.phone_number), made.expected_minor or 0


async def dash_amount(api: FakeApi, text: str) -> str:
    return f"{(await dash_sell(api, PHONE, text))[1] / 100:.2f}"


async def dash_phone(api: FakeApi, text: str) -> str:
    return (await dash_sell(api, text, "5"))[0]


async def cli_code(_: FakeApi, text: str) -> str:
    return code if _CODE.fullmatch(code := plain_code(text)) else text


async def cli_phone(_: FakeApi, text: str) -> str:
    return read_phone(text) or text


async def cli_amount(_: FakeApi, text: str) -> str:
    return f"{float(amount_of(text)[0]):.2f}"


def row(*cells: str) -> str:
    return ";".join('"' + cell.replace('"', '""') + '"' for cell in cells)


async def file_of_reconcile_id(_: FakeApi, text: str) -> str:
    (line,) = lines_of(f"reference;transaction_id;amount\n{row('A', text, '5')}\n", None)
    return str(line.body["transaction_id"])


async def file_of_reconcile_amount(_: FakeApi, text: str) -> str:
    (line,) = lines_of(f"reference;transaction_id;amount\n{row('A', ID, text)}\n", None)
    return line.problem or f"{float(line.body['amount']):.2f}"


async def statement_id(_: FakeApi, text: str) -> str:
    (entry,) = read_statement(rows_in(f"Transaction ID;Amount\n{row(text, '5')}\n".encode())).entries
    return entry.id


async def statement_amount(_: FakeApi, text: str) -> str:
    (entry,) = read_statement(rows_in(f"Transaction ID;Amount\n{row(ID, text)}\n".encode())).entries
    return f"{entry.minor / 100:.2f}"


Place = Callable[[FakeApi, str], Awaitable[str]]
PLACES: dict[str, list[Place]] = {
    "id": [api_reconcile, api_search, api_expected_id, file_of_reconcile_id, statement_id],
    "code": [cli_code],
    "phone": [api_phone, api_phone_filter, dash_phone, cli_phone],
    "amount": [dash_amount, cli_amount, file_of_reconcile_amount, statement_amount],
}
WANTED = {"id": ID, "code": CODE, "phone": E164, "amount": AMOUNT}


@pytest.mark.parametrize(
    ("kind", "place"),
    [(kind, place) for kind, places in PLACES.items() for place in places],
    ids=[place.__name__ for places in PLACES.values() for place in places],
)
async def test_each_place_reads_a_value_however_it_was_pasted(kind: str, place: Place, api: FakeApi) -> None:
    wrong = {}
    if place in (api_search, api_reconcile):
        await paid(api)
    for text in DRESSED[kind]:
        if (found := await place(api, text)) != WANTED[kind]:
            wrong[text] = found
    assert wrong == {}
