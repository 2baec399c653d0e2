"""POST /local/v1/modems/{id}/texts and GET one: an SMS that shows whether a modem can send; on the Unix socket only."""

from daemon.api.fields import Fields
from daemon.api.local_modems import id_of, one
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core import shapes
from daemon.core.errors import Refusal
from daemon.core.shapes import Json, timestamp, timestamp_or_none
from daemon.core.texting import TextKind
from daemon.flows import text_test
from daemon.store import texts
from daemon.store.texts import Text
from daemon.wire import ErrorCode


async def send(call: Call) -> Reply:
    """Take `{number}`: queue the SMS; `status` is `queued`, and `get_one` says what became of it."""
    fields = Fields(await read_object(call.scope, call.receive))
    number = fields.phone("number", required=True)
    fields.refuse_unknown(("number",))
    fields.done()
    assert number is not None
    device_id = id_of(call)
    await one(call, device_id)
    queued = await text_test.start(call.env, call.caller, device_id, number)
    return Reply(201, shapes.success(_shape(queued)))


async def get_one(call: Call) -> Reply:
    """Return the SMS: `status` is `queued`, `sending`, or at its end `sent`, `failed`, `unknown` or `expired`."""
    device_id = id_of(call)
    await one(call, device_id)
    found = await call.env.store.read(lambda reader: texts.find(reader, call.path("text_id")))
    if found is None or found.kind is not TextKind.TEST:
        raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
    return ok(_shape(found))


def _shape(text: Text) -> Json:
    return {
        "id": text.id,
        "number": text.number,
        "status": text.status,
        "why": text.why,
        "parts_sent": text.parts_sent,
        "created_at": timestamp(text.created_at),
        "ended_at": timestamp_or_none(text.ended_at),
    }
