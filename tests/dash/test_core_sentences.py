"""Sentences that the core makes are in the language of the page: reasons of reviews, faults of modems, routing, journal."""

from collections.abc import Iterator

import pytest
from markupsafe import escape

from daemon.core.lines import modem_health, receiving
from daemon.core.lines.modem_health import ModemHealth, ModemProblem
from daemon.core.text import Text
from daemon.dash.web.words import Words
from daemon.runtime.words import LANGUAGES, zone_of
from daemon.wire import Role
from tests.dash.places import ENDPOINT
from tests.dash.test_lines import run
from tests.fakes import outbox
from tests.fakes.api import FakeApi
from tests.fakes.dash import log_in
from tests.fakes.each import each
from tests.fakes.orders import Orders

NOW = 1_000_000_000_000


def problems() -> Iterator[ModemProblem]:
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


def sentences_of_the_core() -> list[Text | str]:
    found: list[Text | str] = []
    for problem in problems():
        found += [problem.text, problem.fix]
    return found


@each("sentence", sentences_of_the_core())
def test_each_sentence_of_the_core_has_words(sentence: Text | str) -> None:
    assert not french().is_foreign(sentence)
    assert french().told(sentence) != str(sentence)
    assert Words("en", zone_of("")).told(sentence) == str(sentence)


def test_a_sentence_within_a_sentence_is_in_the_language_too() -> None:
    inside = Text("lines.some", some=1, all=2, name="front:0", why=receiving.AWAY.text)
    assert french().told(inside) == ("1 lignes sur 2 ne peuvent pas recevoir (front:0 : son modem n'est pas branché)")
    assert french().told("a sentence of a modem {x}") == "a sentence of a modem {x}"
    assert french().is_foreign("a sentence of a modem {x}")


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
    assert "Demandé : 25,00\xa0GHS." in page
    assert "par le code que le payeur a tapé" in page


HOSTILE = ("no transaction ID", "{name} {0} {", "<script>alert(1)</script>")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", HOSTILE)
async def test_the_name_of_a_rule_stays_as_it_was_typed(name: str, language: str, api: FakeApi) -> None:
    await outbox.add_endpoint(api.shop, ENDPOINT)
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/account/language", {"language": language})
    form = {"name": name, "filter": '{"amount": {"$gte": "1.00"}}', "enabled": "1"}
    await person.post(f"/dash/webhooks/{ENDPOINT}/rules/new", form)
    await outbox.owe(api.shop)
    [order] = await api.shop.values("SELECT id FROM transactions")
    page = (await person.get(f"/dash/routes?of={order}")).text
    said = Words(language, zone_of("")).told(Text("route.rule", name=name))
    assert name in said
    assert str(escape(said)) in page
