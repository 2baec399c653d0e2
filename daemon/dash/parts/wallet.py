"""Where a user says what the wallet of a SIM shows."""

from daemon.core.access.callers import Operation
from daemon.dash.web.visit import Visit
from daemon.store.engine import Reader
from daemon.store.lines import devices


def wallet_form(visit: Visit, reader: Reader, sim_seq: int | None) -> str:
    """Return the address of the form; "" if the SIM is in no modem, or the user may not settle its messages."""
    if sim_seq is None or not visit.may(Operation.DECIDE_FORGERY):
        return ""
    sim = devices.sim_by_seq(reader, sim_seq)
    if sim is None or not sim.present:
        return ""
    return f"/dash/lines/{sim.device_id}:{sim.slot_index}#wallet"
