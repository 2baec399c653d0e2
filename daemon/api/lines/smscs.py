"""The SMSCs of a SIM, and the decisions that make one home; on the socket only."""

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.service import Call, Reply, ok
from daemon.api.lines.modems import read_sim
from daemon.core.json_values import Json, timestamp
from daemon.core.messages.trust import SmscSource
from daemon.flows.access import password
from daemon.flows.lines import smscs
from daemon.store.messages.balances import KnownSmsc
from parsers.money import render


async def show(call: Call) -> Reply:
    """Return the SMSCs of a SIM, and the test payment that is expected: `{device_id, slot_index}`."""
    fields = Fields(await read_object(call.scope, call.receive))
    device_id, slot = read_sim(fields)
    fields.refuse_unknown(("device_id", "slot_index"))
    fields.done()
    found = await smscs.smscs_of(call.env, device_id, slot)
    return ok(
        {
            "device_id": device_id,
            "slot_index": slot,
            "network": found.sim.network,
            "has_chain": found.has_chain,
            "smscs": [_json(one) for one in found.smscs],
            "test_payment": None if found.test_payment is None else _payment(found.test_payment),
        }
    )


async def trust(call: Call) -> Reply:
    """Accept a held message of a SIM: `{device_id, slot_index, message_id, password}`."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    device_id, slot = read_sim(fields)
    message_id = fields.uuid("message_id", required=True)
    given = fields.secret("password")
    fields.refuse_unknown(("device_id", "slot_index", "message_id", "password"))
    fields.done()
    assert message_id is not None
    await password.confirm(call.env, call.caller, given)
    settled = await smscs.trust_message(call.env, call.caller, device_id, slot, message_id)
    return ok({"message_id": message_id, "settled": settled})


async def expect_test_payment(call: Call) -> Reply:
    """Expect the owner's test payment on a SIM: `{device_id, slot_index}`."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    device_id, slot = read_sim(fields)
    fields.refuse_unknown(("device_id", "slot_index"))
    fields.done()
    asked = await smscs.expect_test_payment(call.env, call.caller, device_id, slot)
    return ok(_payment(asked))


def _payment(asked: smscs.TestPayment) -> Json:
    return {
        "amount": render(asked.amount_minor, asked.currency),
        "currency": asked.currency,
        "expires_at": timestamp(asked.expires_at),
    }


def _json(one: KnownSmsc) -> Json:
    return {
        "smsc": one.smsc,
        "home": one.source is not SmscSource.NOTICED,
        "source": one.source,
        "message_id": one.message_id,
        "since": timestamp(one.since),
    }
