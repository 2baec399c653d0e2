"""Commands of head office to a branch: send an SMS, erase the data of a payer, change a setting."""

import json
from typing import Any

import pytest

from daemon.flows.branches import hub
from tests.fakes.branches import Chain
from tests.fakes.shop import OWNER

NUMBER = "+233244123456"


async def answers(chain: Chain) -> list[dict[str, Any]]:
    found = await chain.hub.values("SELECT data FROM events WHERE type = 'branch.answered'")
    return [json.loads(data) for data in found]


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("send_sms", {"number": "0244123456", "text": "Ready."}, ""),
        ("send_sms", {"number": "12", "text": "Ready."}, "no line can send it"),
        ("forget_payer", {"number": "0244123456"}, ""),
        ("forget_payer", {"number": "12"}, "not a phone number"),
        ("settings", {"key": "http.bind", "value": "off"}, "only changed at the branch"),
        ("settings", {"key": "pages.client_header", "value": "X-F"}, "only changed at the branch"),
        ("settings", {"key": "pages.logo", "value": "/tmp/x.png"}, "only changed at the branch"),
        ("settings", {"key": "sms.no_such", "value": "1"}, "no_such"),
    ],
)
async def test_the_answer_of_the_branch_is_in_the_journal(
    chain: Chain, kind: str, body: dict[str, str], why: str
) -> None:
    await hub.ask(chain.hub.env, OWNER, "kumasi", kind, body)
    await chain["kumasi"].settle()
    (answer,) = await answers(chain)
    assert (answer["branch"], answer["kind"], answer["done"]) == ("kumasi", kind, not why)
    assert why in answer.get("why", "")


async def test_a_setting_of_a_branch_is_changed(chain: Chain) -> None:
    branch = chain["kumasi"]
    body = {"key": "transactions.late_policy", "value": "review"}
    await hub.ask(chain.hub.env, OWNER, "kumasi", "settings", body)
    await branch.settle()
    assert [answer["done"] for answer in await answers(chain)] == [True]
    assert 'late_policy = "review"' in (branch.folder / "config.toml").read_text("utf-8")


async def test_an_sms_is_queued_once_at_the_branch(chain: Chain) -> None:
    branch = chain["kumasi"]
    body = {"number": "0244123456", "text": "Ready."}
    await hub.ask(chain.hub.env, OWNER, "kumasi", "send_sms", body)
    await branch.settle()
    queued = await branch.shop.values("SELECT number, body FROM sms_outbox")
    assert queued == [(NUMBER, "Ready.")]


@pytest.mark.parametrize("kind", ["send_sms", "forget_payer"])
async def test_a_number_that_was_sent_to_a_branch_is_kept_nowhere(chain: Chain, kind: str) -> None:
    body = {"number": "0244123456", "text": "Kofi, it is ready."}
    if kind == "forget_payer":
        del body["text"]
    await hub.ask(chain.hub.env, OWNER, "kumasi", kind, body)
    await chain["kumasi"].settle()
    await chain["kumasi"].shop.env.store.write(lambda tx: tx.run("DELETE FROM sms_outbox"))
    for shop in (chain.hub, chain["kumasi"].shop):
        dump = await shop.values(
            "SELECT body || outcome || subject FROM branch_commands UNION ALL "
            "SELECT body || outcome || subject FROM hub_commands UNION ALL SELECT data FROM events"
        )
        assert [text for text in dump if "244123456" in text or "Kofi" in text] == []
