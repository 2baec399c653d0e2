"""POST /local/v1/sims/pin and /untold: keep the PIN of a SIM; know of its money. On the Unix socket only."""

import re
from typing import Final

from daemon.api.fields import Fields
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core.shapes import timestamp
from daemon.flows.acknowledge import acknowledge
from daemon.flows.store_pin import store_pin
from parsers.money import render

_PIN: Final = re.compile(r"[0-9]{4,8}", re.ASCII)
"""3GPP TS 31.101 clause 9.5.1."""
_NAME_CHARACTERS_MAX: Final = 200
_NOTES_CHARACTERS_MAX: Final = 500


async def know_untold(call: Call) -> Reply:
    """Take `{device_id, slot_index, notes?}`: a person knows of the money of this SIM that no message told of."""
    fields = Fields(await read_object(call.scope, call.receive))
    device_id = fields.uuid("device_id", required=True)
    slot = fields.value("slot_index", required=True)
    if type(slot) is not int or slot < 0:
        fields.fail("slot_index", "wrong_type", "must be a whole number from 0 on")
    notes = fields.text("notes", most=_NOTES_CHARACTERS_MAX)
    fields.refuse_unknown(("device_id", "slot_index", "notes"))
    fields.done()
    assert device_id is not None
    assert type(slot) is int
    gaps, currency = await acknowledge(call.env, call.caller, device_id, slot, notes)
    return ok(
        [
            {
                "message_id": gap.key,
                "at": timestamp(gap.at),
                "amount": render(gap.gap_minor or 0, currency or ""),
                "currency": currency,
            }
            for gap in gaps
        ]
    )


async def store(call: Call) -> Reply:
    """Take `{device, slot_index, pin}`; `device` is an id or a name. The PIN is tried once, when the SIM asks for it."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    device = fields.text("device", required=True, most=_NAME_CHARACTERS_MAX)
    slot = fields.value("slot_index")
    if slot is None:
        slot = 0
    elif type(slot) is not int or slot < 0:
        fields.fail("slot_index", "wrong_type", "must be a whole number from 0 on")
    pin = fields.value("pin", required=True)
    if not isinstance(pin, str) or not _PIN.fullmatch(pin):
        fields.fail("pin", "invalid", "must be a text of 4 to 8 digits")
    fields.refuse_unknown(("device", "slot_index", "pin"))
    fields.done()
    assert device is not None
    assert isinstance(pin, str)
    assert type(slot) is int
    kept = await store_pin(call.env, call.caller, device, slot, pin)
    return ok(
        {
            "device_id": kept.device.device_id,
            "device_name": kept.device.name,
            "slot_index": kept.slot_index,
            "wants": kept.wants,
        }
    )
