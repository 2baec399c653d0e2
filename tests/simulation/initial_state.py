"""The initial state of the simulated shop: its numbers and its endpoints."""

from collections.abc import Sequence
from typing import Final

from daemon.core.webhooks.signing import make_secret
from daemon.runtime.secrets import Vault
from daemon.runtime.system import Entropy
from daemon.store.engine import Tx
from daemon.store.webhooks import endpoints as store_endpoints
from tests.fakes.chain import begin_chain
from tests.simulation.internet import Receiver
from tests.simulation.traffic import Number

HOSTS: Final = ("host1.test", "host2.test", "host3.test")
EVENTS: Final = (
    '["transaction.forwarded"]',
    '["transaction.forwarded", "transaction.completed"]',
    '["transaction.forwarded", "transaction.review_required", "transaction.expired"]',
)


def endpoint_id(at: int) -> str:
    """Return the ID of the endpoint at index `at`."""
    return f"eeeeeeee-eeee-4eee-8eee-{at:012d}"


def register_number(tx: Tx, at: int, number: Number, now: int) -> None:
    """Register a number on its SIM, which is known."""
    tx.run(
        "INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, "
        "line_created_at, created_at, updated_at) VALUES (:id, :provider, :phone, 'Ama', "
        "(SELECT seq FROM sims WHERE sim_key = :sim), 1, :now, :now, :now)",
        {
            "id": number.line_id,
            "provider": "momo_telecel" if number.telecel else "momo_mtn",
            "phone": f"+2332441000{at:02d}",
            "sim": number.sim.iccid,
            "now": now,
        },
    )
    provider = "momo_telecel" if number.telecel else "momo_mtn"
    begin_chain(tx, number.sim.iccid, provider, number.balance_minor, now)


def set_up(tx: Tx, numbers: Sequence[Number], vault: Vault, entropy: Entropy, now: int) -> dict[str, Receiver]:
    """Put the numbers on their known SIMs and make an endpoint for each host; return the receivers."""
    for at, number in enumerate(numbers):
        register_number(tx, at, number, now)
    # Deliveries to a transaction's own URL are signed with the account's secret.
    account = _secret(tx, store_endpoints.ACCOUNT, vault, entropy, now)
    receivers = {}
    for at, host in enumerate(HOSTS):
        tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, "
            "include_raw, is_active, consecutive_failures, created_at, updated_at) VALUES (:id, 'endpoint', "
            "'live', :url, :url, '', :events, 1, 0, 1, 0, :now, :now)",
            {"id": endpoint_id(at), "url": f"https://{host}/hook", "events": EVENTS[at], "now": now},
        )
        receivers[host] = Receiver([_secret(tx, endpoint_id(at), vault, entropy, now), account])
    return receivers


def _secret(tx: Tx, owner: str, vault: Vault, entropy: Entropy, now: int) -> str:
    secret = make_secret(entropy.bytes(32))
    tx.run(
        "INSERT INTO webhook_secrets (owner, sealed, created_at) VALUES (:owner, :sealed, :now)",
        {"owner": owner, "sealed": vault.seal(secret.encode(), store_endpoints.SIGNING_PURPOSE), "now": now},
    )
    return secret
