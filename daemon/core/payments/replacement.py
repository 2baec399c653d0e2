"""The transaction that takes the place of an unpaid one. Pure."""

from daemon.core.inputs import InitializeRequest
from daemon.core.model import Transaction


def replacement_of(old: Transaction) -> InitializeRequest | None:
    """Return the request for a new transaction like `old`, which is cancelled with it; None if its payer was erased."""
    if old.phone_number is None or old.expected_minor is None:
        return None
    return InitializeRequest(
        amount_minor=old.expected_minor,
        currency=old.currency,
        phone_number=old.phone_number,
        customer_name=old.customer_name,
        description=old.description,
        webhook_url=old.webhook_url,
        redirect_url=old.redirect_url,
        client_reference=old.client_reference,
        meta=old.meta,
        expected_telco_transaction_id=old.expected_telco_transaction_id,
        expected_payer_phone=old.expected_payer_phone,
        expected_payer_name=old.expected_payer_name,
        send_sms_to_payer=old.send_sms_to_payer,
        replaces=old.reference,
    )
