"""SIMs and lines over HTTP: readiness, unplaced payments, and money without a message."""

from typing import Any

from daemon.core.access.callers import KeyKind
from daemon.core.lines.modem_health import ModemHealth
from daemon.store.upkeep import inspect
from daemon.wire import Mode, Scope
from tests.api.lines.test_payment_methods import PATH, second_phone
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.reviews import approve_row
from tests.fakes.shop import METHOD_ID


async def test_the_list_of_sims_says_which_are_free(api: FakeApi) -> None:
    device_id = await second_phone(api)
    answer = await api.live.get(f"{PATH}/sims")
    phones = answer.json()["data"]
    assert answer.json()["success"] is True
    assert phones == [
        {
            "device_id": api.shop.source.device_id,
            "name": phones[0]["name"],
            "reads_payments": False,
            "sims": [
                {
                    "slot_index": 0,
                    "network": "MTN",
                    "iccid_last4": "0012",
                    "payment_method_id": METHOD_ID,
                    "phone_number": "+233244124567",
                    "available": False,
                    "ignored": False,
                }
            ],
        },
        {
            "device_id": device_id,
            "name": phones[1]["name"],
            "reads_payments": False,
            "sims": [
                {
                    "slot_index": 0,
                    "network": "Telecel",
                    "iccid_last4": "0098",
                    "payment_method_id": None,
                    "phone_number": None,
                    "available": True,
                    "ignored": False,
                }
            ],
        },
    ]


async def ignore(api: FakeApi, place: str, **body: Any) -> Any:
    return await api.live.patch(f"/v1/sims/{place}", json=body)


async def test_an_ignored_sim_counts_nowhere_until_it_is_taken_back(api: FakeApi) -> None:
    device_id = await second_phone(api)
    place = f"{device_id}:0"
    ignored = (await ignore(api, place, ignored=True)).json()["data"]
    assert (ignored["device_id"], ignored["slot_index"], ignored["ignored"]) == (device_id, 0, True)
    listed = (await api.live.get(f"{PATH}/sims")).json()["data"]
    assert [phone["sims"][0]["ignored"] for phone in listed] == [False, True]
    lines = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert [len(phone["sims"]) for phone in lines["phones"]] == [1, 0]
    in_doctor = await api.shop.env.store.read(inspect.sims)
    assert [sim.network for sim in in_doctor] == ["mtn"]
    again = await ignore(api, place)
    assert again.json()["data"] == ignored
    back = (await ignore(api, place, ignored=False)).json()["data"]
    assert back["ignored"] is False
    kinds = await api.shop.values("SELECT type FROM events WHERE type IN ('sim.ignored', 'sim.used')")
    assert kinds == ["sim.ignored", "sim.used"]


async def test_payments_to_an_ignored_sim_are_kept_and_not_counted_as_unplaced(api: FakeApi) -> None:
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    await ignore(api, f"{api.shop.source.device_id}:0", ignored=True)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    lines = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert (lines["ready"], lines["unplaced_payments"]) == (True, 0)
    assert len(await api.shop.payments()) == 1


async def test_a_number_on_an_ignored_sim_takes_it_back(api: FakeApi) -> None:
    device_id = await second_phone(api)
    await ignore(api, f"{device_id}:0", ignored=True)
    new = {"provider": "momo_telecel", "phone_number": "0201000456", "account_name": "Ama"}
    sim = {"device_id": device_id, "slot_index": 0}
    assert (await api.live.post(PATH, json={**new, "sim": sim})).status_code == 201
    listed = (await api.live.get(f"{PATH}/sims")).json()["data"]
    assert [phone["sims"][0]["ignored"] for phone in listed] == [False, False]


@each(
    ("place", "status", "code"),
    [
        ("nonsense:0", 404, "DEVICE_NOT_FOUND"),
        ("0f3c0000-0000-4000-8000-000000000009:0", 404, "DEVICE_NOT_FOUND"),
        ("{device}:1", 422, "SIM_NOT_FOUND"),
        ("{device}:-1", 404, "DEVICE_NOT_FOUND"),
        ("{device}:" + "9" * 5000, 404, "DEVICE_NOT_FOUND"),
        ("{device}:٣", 404, "DEVICE_NOT_FOUND"),
        ("{device}:0", 409, "SIM_ALREADY_ASSIGNED"),
    ],
)
async def test_a_sim_that_cannot_be_ignored_is_refused(api: FakeApi, place: str, status: int, code: str) -> None:
    answer = await ignore(api, place.format(device=api.shop.source.device_id), ignored=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_only_managers_ignore_sims_and_test_keys_only_simulated_ones(api: FakeApi) -> None:
    device_id = await second_phone(api)
    path = f"/v1/sims/{device_id}:0"
    reader = await api.client(await api.key(Mode.LIVE, Scope.PAYMENT_METHODS_READ))
    assert (await reader.patch(path, json={"ignored": True})).status_code == 403
    answer = await api.test.patch(path, json={"ignored": True})
    assert answer.json()["error"]["code"] == "DEVICE_NOT_FOUND"


async def test_lines_count_what_matched_no_number_for_30_days(api: FakeApi) -> None:
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    lines = (await api.live.get("/v1/open-collections/lines")).json()
    assert lines["data"] == {
        "ready": False,
        "receiving": True,
        "receiving_reason": None,
        "unplaced_payments": 1,
        "phones": [
            {
                "device_id": api.shop.source.device_id,
                "name": lines["data"]["phones"][0]["name"],
                "reads_payments": True,
                "sims": [
                    {
                        "slot_index": 0,
                        "network": "MTN",
                        "receiving": True,
                        "receiving_reason": None,
                        "unplaced_payments": 1,
                        "line": None,
                        "unaccounted": None,
                    }
                ],
            }
        ],
    }
    for wait_s, counted in ((30 * 86_400 - 60, 1), (120, 0)):
        api.shop.clock.advance(wait_s)
        later = (await api.live.get("/v1/open-collections/lines")).json()["data"]
        assert later["unplaced_payments"] == counted


async def test_a_placed_sim_shows_its_line(api: FakeApi) -> None:
    data = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert data["ready"] is True
    assert data["phones"][0]["sims"][0]["line"] == {
        "payment_method_id": METHOD_ID,
        "phone_number": "+233244124567",
        "provider": "MTN MoMo",
        "account_name": "Ama",
        "merchant_code": "",
    }


async def test_a_line_says_how_much_no_message_told_of_and_since_when(api: FakeApi) -> None:
    first = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001")
    # The receipt of GHS 7.00 before this one was lost; an operator approves the next message.
    second = mtn(100, "KOFI ANTWI BADU", 90_800, "food", "93214500003", concatenation=1)
    third = mtn(100, "KOFI ANTWI BADU", 90_900, "food", "93214500004", concatenation=2)
    await api.shop.begin_chain(87_500)
    api.shop.limit(0)
    await api.shop.read(first, second, third)
    await approve_row(api.shop)
    data = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert data["phones"][0]["sims"][0]["unaccounted"] == {
        "came_in": "7.00",
        "went_out": "0.00",
        "currency": "GHS",
        "since": "2026-11-21T08:00:00.000Z",
    }


async def test_money_that_a_person_knows_of_is_told_no_more_until_more_is_missing(api: FakeApi) -> None:
    first = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001")
    second = mtn(100, "KOFI ANTWI BADU", 90_800, "food", "93214500003", concatenation=1)
    third = mtn(100, "KOFI ANTWI BADU", 90_900, "food", "93214500004", concatenation=2)
    await api.shop.begin_chain(87_500)
    api.shop.limit(0)
    await api.shop.read(first, second, third)
    await approve_row(api.shop)
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0}
    path = "/local/v1/sims/untold"
    known = (await api.local.post(path, json={**sim, "notes": "interest"})).json()["data"]
    assert [(row["amount"], row["currency"]) for row in known] == [("7.00", "GHS")]
    assert (await api.local.post(path, json=sim)).json()["data"] == []

    async def untold() -> Any:
        data = (await api.live.get("/v1/open-collections/lines")).json()["data"]
        return data["phones"][0]["sims"][0]["unaccounted"]

    assert await untold() is None
    [told] = await api.shop.values("SELECT actor || ' ' || data FROM events WHERE type = 'balance.gap_known'")
    assert told.startswith("socket:")
    assert '"notes":"interest"' in told
    fourth = mtn(100, "KOFI ANTWI BADU", 91_500, "food", "93214500006", concatenation=3)
    fifth = mtn(100, "KOFI ANTWI BADU", 91_600, "food", "93214500007", concatenation=4)
    await api.shop.read(fourth, fifth)
    await approve_row(api.shop)
    assert (await untold())["came_in"] == "5.00"


@each(
    ("change", "status"),
    [
        ({"slot_index": 7}, 422),
        ({"slot_index": "0"}, 422),
        ({"device_id": "x"}, 422),
        ({"device_id": METHOD_ID}, 422),
        ({"all": True}, 422),
    ],
)
async def test_untold_money_of_no_sim_is_refused(api: FakeApi, change: dict[str, Any], status: int) -> None:
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0}
    answer = await api.local.post("/local/v1/sims/untold", json={**sim, **change})
    assert answer.status_code == status


async def test_a_line_that_cannot_receive_is_named_and_a_new_transaction_warns(api: FakeApi) -> None:
    locked = ModemHealth(
        "/dev/ttyUSB0", "pin_needed", "the SIM asks for its PIN", "momo lines pin till:0",
        device_id=api.shop.source.device_id,
    )  # fmt: skip
    api.phones = [locked]
    lines = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert (lines["receiving"], lines["receiving_reason"]) == (False, "the SIM asks for its PIN")
    [sim] = lines["phones"][0]["sims"]
    assert (sim["receiving"], sim["receiving_reason"]) == (False, "the SIM asks for its PIN")
    body = {"amount": "5.00", "phone_number": "0244123456"}
    path = "/v1/transactions/initialize"
    warnings = (await api.live.post(path, json=body)).json()["meta"]["warnings"]
    assert warnings[0] == (
        "Payments are not seen now: the SIM asks for its PIN. They are confirmed when it works again. "
        "What to do: momo lines pin till:0."
    )
    public = await api.client(await api.key(kind=KeyKind.PUBLISHABLE))
    assert (await public.post(path, json=body)).json()["meta"]["warnings"][0] == (
        "The shop cannot see payments now: the confirmation may take longer."
    )


async def test_the_sandbox_always_receives(api: FakeApi) -> None:
    lines = (await api.test.get("/v1/open-collections/lines")).json()["data"]
    assert (lines["receiving"], lines["receiving_reason"]) == (True, None)
    body = {"amount": "5.00", "phone_number": "0244123456"}
    answer = (await api.test.post("/v1/transactions/initialize", json=body)).json()
    assert not [text for text in answer["meta"].get("warnings", ()) if "not seen" in text]
