"""Sentences that the core makes are in the language of the page: reasons of reviews, faults of modems, routing, journal."""

import re
from collections.abc import Iterator

from daemon.core.lines import modem_health, receiving
from daemon.core.lines.modem_health import ModemHealth, Problem
from daemon.dash.web.words import Sentences, Words, load, zone_of
from daemon.wire import Role
from tests.dash.test_lines import run
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.each import each
from tests.fakes.orders import Orders

NOW = 1_000_000_000_000


def problems() -> Iterator[Problem]:
    """Every fault that the core finds without a text of a modem."""
    yield from (receiving.AWAY, receiving.NO_PHONE)
    yield modem_health.silent_sim_problem(NOW - 90 * 60_000_000, NOW, "MTN")
    for registration in ("searching", "denied", "none", "emergency_only"):
        phone = ModemHealth("p", "ready", health_at=NOW, registration=registration)
        yield from modem_health.find_problems(phone, NOW)
    for used in (27, 30):
        phone = ModemHealth(
            "p", "ready", health_at=NOW, registration="home", receives=True, signal=0, used=used,
            total=30, storages=(("SM", used, 30), ("ME", used, 30)),
        )  # fmt: skip
        yield from modem_health.find_problems(phone, NOW)
    for state in ("hung", "not_storing", "pin_wrong"):
        yield from modem_health.find_problems(ModemHealth("p", state), NOW)
    starting = receiving.port_problem(ModemHealth("p", "starting"), NOW)
    assert starting is not None
    yield starting


def french() -> Words:
    return Words("fr", zone_of(""))


def sentences_of_the_core() -> list[str]:
    found: list[str] = []
    for problem in problems():
        found += [problem.text, problem.fix]
    return list(dict.fromkeys(found))


@each("sentence", sentences_of_the_core())
def test_each_sentence_of_the_core_has_words(sentence: str) -> None:
    assert french().told(sentence) != sentence
    english = Words("en", zone_of(""))
    assert english.told(sentence) == sentence


def test_places_are_kept_and_a_sentence_within_a_sentence_is_told_too() -> None:
    told = french().told
    assert told("the signal is very weak (-113 dBm)") == "le signal est très faible (-113 dBm)"
    inside = "1 of 2 lines cannot receive (front:0: its modem is not connected)"
    assert told(inside) == (
        "1 lignes sur 2 ne peuvent pas recevoir (front:0 : son modem n'est pas branché)"
    )
    odd = "something that no words stand for {x}"
    assert told(odd) == odd


def test_no_words_of_the_core_have_a_place_that_could_not_be_filled() -> None:
    english = load("en")
    for key, text in english.items():
        if key.startswith("core_"):
            filled = re.sub(r"\{\w+\}", "7", text)
            assert Sentences(english).find(filled) is not None, key


async def test_a_french_page_tells_faults_and_the_journal_in_french(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("paid")
    await orders.make("checking", expected_payer_phone="+233201234567")
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/account/language", {"language": "fr"})
    now = (await person.get("/dash")).text
    assert "payeur" in now
    assert "expected" not in now
    await run(api, "UPDATE devices SET present = 0")
    lines = (await person.get("/dash/lines")).text
    assert "son modem n&#39;est pas branché" in lines
    assert "branchez le modem" in lines
    page = (await person.get(f"/dash/transactions/{order.reference}")).text
    assert "Demandé : GHS 25.00." in page
    assert "par le code que le payeur a tapé" in page
