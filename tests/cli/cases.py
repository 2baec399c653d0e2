"""The rows of the matrix: each command that asks the daemon, the call that it makes, and good and empty answers."""

from dataclasses import dataclass
from typing import Any

from daemon import wire
from tests.cli import samples
from tests.fakes.fake_api import Says, ok

TX = f"/v1/transactions/{samples.REF}"
REVIEW = f"/v1/reviews/{samples.REVIEW['id']}"
ENDPOINT = f"/v1/open-collections/endpoints/{samples.ENDPOINT['id']}"
METHOD = f"/v1/payment-methods/{samples.METHOD}"
CLAIMED = Says({"success": True, "claimed": 0, "dry_run": False, "from": None, "to": None})
MODEM = f"/local/v1/modems/{samples.DEVICE}"
USER = "/local/v1/users/ama"
KEY = f"/v1/keys/{samples.KEY['id']}"
DELIVERY = f"/v1/open-collections/deliveries/{samples.DELIVERY['id']}"
LETTER = f"/v1/webhooks/dead-letters/{samples.DEAD_LETTER['id']}"
DECIDED = ok({**samples.REVIEW, "state": "approved"}, transaction=samples.ONE)
NO_MONEY = {**samples.REPORT, "sheets": []}
EMPTY_LINES = {"ready": True, "unplaced_payments": 0, "phones": []}


ON_SIM = {**samples.METHOD_ROW, "sim": {"device_id": samples.DEVICE, "slot_index": 0}}


ONE_THING = "it names one thing, which is there or is not found"
DOES = "it does something: it lists nothing"


@dataclass(frozen=True, slots=True)
class Case:
    """One command line, the call that it makes, and the good and empty answers.

    `empty` is a sentence where there is no such answer. Not found, refused, no daemon and no shop are the
    same for all commands. A verb that sets a state adds its word to the answer's `data`: the first of
    `states`, or the second if the state was set already.
    """

    argv: tuple[str, ...]
    call: tuple[str, str]
    good: Says
    empty: Says | str
    states: tuple[str, ...] = ()

    @property
    def printed(self) -> Any:
        """Return the document that `--json` prints for the good answer."""
        body = self.good.body
        if not self.states:
            return body
        return {**body, "data": {**body["data"], "status": self.states[0]}}


CASES = {
    "init": Case(
        ("init", "12.50", "--phone", "0244124567"),
        ("POST", wire.Path.INITIALIZE),
        Says({"success": True, "data": samples.CREATED, "meta": {}}, 201),
        DOES,
    ),
    "reconcile": Case(
        ("reconcile", samples.REF, "0000012345"), ("POST", f"{TX}/reconcile"), ok(samples.RECONCILED), DOES
    ),
    "tx list": Case(
        ("tx", "list"),
        ("GET", wire.Path.TRANSACTIONS),
        ok([samples.PAID], pagination=samples.PAGE),
        ok([], pagination={**samples.PAGE, "total": 0}),
    ),
    "tx show": Case(("tx", "show", samples.REF), ("GET", TX), samples.one("PENDING"), ONE_THING),
    "tx cancel": Case(("tx", "cancel", samples.REF), ("POST", f"{TX}/cancel"), samples.one("CANCELLED"), DOES),
    "tx settle": Case(("tx", "settle", samples.REF, "waive"), ("POST", f"{TX}/settle"), samples.one("PARTIAL"), DOES),
    "tx replace": Case(
        ("tx", "replace", samples.REF),
        ("POST", f"/local/v1/transactions/{samples.REF}/replace"),
        Says({"success": True, "data": samples.CREATED, "meta": {}}, 201),
        DOES,
    ),
    "tx send-code": Case(
        ("tx", "send-code", samples.REF),
        ("POST", f"/local/v1/transactions/{samples.REF}/send-code"),
        ok({"reference": samples.REF, "result": "queued"}),
        DOES,
    ),
    "open": Case(("open", samples.REF), ("GET", f"/local/v1/checkout/{samples.REF}"), ok(samples.CHECKOUT), DOES),
    "tx wait": Case(("tx", "wait", samples.REF), ("GET", TX), samples.one("SUCCESS"), ONE_THING),
    "review list": Case(("review", "list"), ("GET", wire.Path.REVIEWS), ok([samples.REVIEW]), ok([])),
    "review show": Case(("review", "show", samples.REVIEW["id"]), ("GET", REVIEW), ok(samples.REVIEW), ONE_THING),
    "review approve": Case(("review", "approve", samples.REVIEW["id"]), ("POST", f"{REVIEW}/approve"), DECIDED, DOES),
    "review reject": Case(
        ("review", "reject", samples.REVIEW["id"], "--notes", "no such money"),
        ("POST", f"{REVIEW}/reject"),
        DECIDED,
        DOES,
    ),
    "review undo": Case(("review", "undo", samples.REVIEW["id"]), ("POST", f"{REVIEW}/undo"), DECIDED, DOES),
    "review payers list": Case(
        ("review", "payers", "list"), ("GET", wire.Path.APPROVED_PAYERS), ok([samples.PAYER]), ok([])
    ),
    "review payers revoke": Case(
        ("review", "payers", "revoke", samples.PAYER["id"]),
        ("DELETE", f"/v1/approved-payers/{samples.PAYER['id']}"),
        ok({**samples.PAYER, "state": "revoked"}),
        DOES,
        ("revoked", "already_revoked"),
    ),
    "messages list": Case(("messages", "list"), ("GET", wire.Path.LOCAL_MESSAGES), ok([samples.MESSAGE_ROW]), ok([])),
    "messages show": Case(
        ("messages", "show", samples.MESSAGE),
        ("GET", f"/local/v1/messages/{samples.MESSAGE}"),
        ok(samples.MESSAGE_ROW),
        ONE_THING,
    ),
    "messages reparse": Case(
        ("messages", "reparse", "--all-unparsed"),
        ("POST", wire.Path.LOCAL_REPARSE),
        ok(samples.REPARSED),
        ok({**samples.REPARSED, "read": [], "counts": {}}),
    ),
    "messages templates list": Case(
        ("messages", "templates", "list"),
        ("GET", wire.Path.LOCAL_TEMPLATES),
        ok(samples.TEMPLATES),
        "it shows every network, with or without wordings",
    ),
    "messages templates confirm": Case(
        ("messages", "templates", "confirm", samples.MESSAGE, "--undo"),
        ("POST", f"/local/v1/messages/{samples.MESSAGE}/confirm-wording"),
        ok(samples.CONFIRMED),
        DOES,
    ),
    "today": Case(("today",), ("GET", wire.Path.LOCAL_REPORT), ok(samples.REPORT), ok(NO_MONEY)),
    "report": Case(("report", "--yesterday"), ("GET", wire.Path.LOCAL_REPORT), ok(samples.REPORT), ok(NO_MONEY)),
    "status": Case(("status",), ("GET", wire.Path.LOCAL_STATUS), ok(samples.STATUS), ok({})),
    "lines status": Case(("lines", "status"), ("GET", wire.Path.LINES), ok(samples.LINES), ok(EMPTY_LINES)),
    "phones status": Case(("phones", "status"), ("GET", wire.Path.LOCAL_MODEMS), ok([samples.MODEM]), ok([])),
    "phones show": Case(("phones", "show", "zte-front"), ("GET", MODEM), ok(samples.MODEM), ONE_THING),
    "phones test": Case(
        ("phones", "test", "zte-front"),
        ("POST", f"{MODEM}/test"),
        ok({**samples.MODEM, "answered": True, "took_ms": 42}),
        DOES,
    ),
    "phones name": Case(
        ("phones", "name", "zte-front", "till"), ("PATCH", MODEM), ok({**samples.MODEM, "name": "till"}), DOES
    ),
    "phones list": Case(("phones", "list"), ("GET", wire.Path.SIMS), ok(samples.SIMS), ok([])),
    "lines ignore": Case(
        ("lines", "ignore", "zte-front:0"),
        ("PATCH", wire.Path.SIM.format(device_id=samples.DEVICE, slot_index=0)),
        ok(samples.IGNORED_SIM),
        DOES,
    ),
    "lines centres": Case(
        ("lines", "centres", "zte-front:0"),
        ("POST", wire.Path.LOCAL_SIM_SMSCS),
        ok(samples.SMSCS),
        ok({**samples.SMSCS, "smscs": []}),
    ),
    "lines trust": Case(
        ("lines", "trust", "zte-front:0", "--message", samples.MESSAGE, "--password-file", "pw.txt"),
        ("POST", wire.Path.LOCAL_SIM_TRUST),
        ok({"message_id": samples.MESSAGE, "settled": 2}),
        DOES,
    ),
    "lines test-payment": Case(
        ("lines", "test-payment", "zte-front:0"),
        ("POST", wire.Path.LOCAL_SIM_TEST_PAYMENT),
        ok(samples.TEST_PAYMENT),
        DOES,
    ),
    "lines acknowledge": Case(
        ("lines", "acknowledge", "zte-front:0"), ("POST", wire.Path.LOCAL_SIM_UNTOLD), ok(samples.KNOWN), ok([])
    ),
    "lines add": Case(
        ("lines", "add", "0244124567", "--provider", "momo_mtn", "--name", "Ama"),
        ("POST", wire.Path.PAYMENT_METHODS),
        Says({"success": True, "data": samples.METHOD_ROW}, 201),
        DOES,
    ),
    "lines list": Case(("lines", "list"), ("GET", wire.Path.PAYMENT_METHODS), ok([samples.METHOD_ROW]), ok([])),
    "lines show": Case(("lines", "show", samples.METHOD), ("GET", METHOD), ok(samples.METHOD_ROW), ONE_THING),
    "lines update": Case(
        ("lines", "update", samples.METHOD, "--sim", "none"), ("PATCH", METHOD), ok(samples.METHOD_ROW), DOES
    ),
    "lines remove": Case(
        ("lines", "remove", samples.METHOD, "--yes"), ("DELETE", METHOD), ok(samples.METHOD_ROW), DOES
    ),
    "lines wallet": Case(
        ("lines", "wallet", samples.METHOD, "214.56", "--password-file", "pw.txt"),
        ("POST", f"{METHOD}/wallet"),
        ok(samples.WALLET),
        DOES,
    ),
    "claim": Case(("claim", samples.METHOD), ("POST", f"{METHOD}/claim-unplaced"), CLAIMED, DOES),
    "endpoints add": Case(
        ("endpoints", "add", "https://shop.example/hook"),
        ("POST", wire.Path.ENDPOINTS),
        Says({"success": True, "data": samples.ENDPOINT, "secret": "whsec_x"}, 201),
        DOES,
    ),
    "endpoints list": Case(("endpoints", "list"), ("GET", wire.Path.ENDPOINTS), ok([samples.ENDPOINT]), ok([])),
    "endpoints show": Case(
        ("endpoints", "show", samples.ENDPOINT["id"]), ("GET", ENDPOINT), ok(samples.ENDPOINT), ONE_THING
    ),
    "endpoints update": Case(
        ("endpoints", "update", samples.ENDPOINT["id"], "--description", "shop"),
        ("PUT", ENDPOINT),
        ok(samples.ENDPOINT),
        DOES,
    ),
    "endpoints pause": Case(
        ("endpoints", "pause", samples.ENDPOINT["id"]),
        ("PUT", ENDPOINT),
        ok({**samples.ENDPOINT, "is_active": False}),
        DOES,
        ("paused", "already_paused"),
    ),
    "endpoints resume": Case(
        ("endpoints", "resume", samples.ENDPOINT["id"]),
        ("PUT", ENDPOINT),
        ok(samples.ENDPOINT, meta={"queued": 0}),
        DOES,
        ("active", "already_active"),
    ),
    "endpoints delete": Case(
        ("endpoints", "delete", samples.ENDPOINT["id"], "--yes"),
        ("DELETE", ENDPOINT),
        Says({"success": True, "deleted": True, "undelivered": 0}),
        DOES,
    ),
    "deliveries list": Case(("deliveries", "list"), ("GET", wire.Path.DELIVERIES), ok([samples.DELIVERY]), ok([])),
    "simulate payment": Case(
        ("simulate", "payment", "--amount", "5"), ("POST", wire.Path.TEST_PAYMENTS), ok(samples.SIMULATED), DOES
    ),
    "deliveries show": Case(
        ("deliveries", "show", samples.DELIVERY["id"]), ("GET", DELIVERY), ok(samples.DELIVERED), ONE_THING
    ),
    "deliveries attempts": Case(
        ("deliveries", "attempts", samples.DELIVERY["id"]),
        ("GET", f"{DELIVERY}/attempts"),
        ok([samples.ATTEMPT]),
        ok([]),
    ),
    "deliveries curl": Case(
        ("deliveries", "curl", samples.DELIVERY["id"]),
        ("POST", f"/local/v1/deliveries/{samples.DELIVERY['id']}/signed"),
        ok(samples.SIGNED),
        ONE_THING,
    ),
    "deliveries redeliver": Case(
        ("deliveries", "redeliver", samples.DELIVERY["id"]),
        ("POST", f"{DELIVERY}/redeliver"),
        ok({**samples.DELIVERY, "status": "pending", "run": 2}),
        DOES,
    ),
    "dead-letters list": Case(
        ("dead-letters", "list"), ("GET", wire.Path.DEAD_LETTERS), ok([samples.DEAD_LETTER]), ok([])
    ),
    "dead-letters show": Case(
        ("dead-letters", "show", samples.DEAD_LETTER["id"]), ("GET", LETTER), ok(samples.DEAD_LETTER), ONE_THING
    ),
    "dead-letters replay": Case(
        ("dl", "replay", samples.DEAD_LETTER["id"]),
        ("POST", f"{LETTER}/replay"),
        ok(samples.DEAD_LETTER, delivery=samples.DELIVERY),
        DOES,
    ),
    "replay": Case(
        ("replay", "--endpoint", samples.ENDPOINT["id"], "--from", "-25h", "--yes"),
        ("POST", wire.Path.REPLAY),
        Says(samples.REPLAYED),
        DOES,
    ),
    "endpoints test": Case(
        ("endpoints", "test", samples.ENDPOINT["id"]),
        ("POST", f"{ENDPOINT}/test"),
        Says({"success": True, "status_code": 200, "response_body": "ok", "message": "200."}),
        DOES,
    ),
    "notices list": Case(("notices", "list"), ("GET", wire.Path.LOCAL_NOTICES), ok([samples.NOTICE]), ok([])),
    "notices seen": Case(("notices", "seen"), ("POST", wire.Path.LOCAL_NOTICES_SEEN), ok({"seen": 2}), DOES),
    "notices test": Case(("notices", "test"), ("POST", wire.Path.LOCAL_NOTICES_TEST), ok({"queued": ["email"]}), DOES),
    "phones sources": Case(("phones", "sources"), ("GET", wire.Path.LOCAL_SOURCES), ok([samples.SOURCE]), ok([])),
    "phones rotate-key": Case(
        ("phones", "rotate-key", "phone1"),
        ("POST", wire.Path.LOCAL_SOURCE_KEY.format(name="phone1")),
        ok(
            {
                "name": "phone1",
                "key": "ab" * 20,
                "url": "https://192.168.1.5:8420/v1/sources/phone1",
                "preset": "capcom6",
                "phone_url": "",
                "user": "sms",
                "ping_s": 300.0,
            }
        ),
        DOES,
    ),
    "phones password": Case(
        ("phones", "password", "stick", "--forget"),
        ("POST", wire.Path.LOCAL_SOURCE_PASSWORD),
        ok({"name": "stick", "set": False}),
        DOES,
    ),
    "notices password": Case(
        ("notices", "password", "--forget"), ("POST", wire.Path.LOCAL_SMTP_PASSWORD), ok({"set": False}), DOES
    ),
    "keys create": Case(
        ("keys", "create", "--name", "till"),
        ("POST", wire.Path.KEYS),
        Says({"success": True, "data": samples.KEY, "key": "svc_live_sk_x"}, 201),
        DOES,
    ),
    "keys list": Case(("keys", "list"), ("GET", wire.Path.KEYS), ok([samples.KEY]), ok([])),
    "users shift list": Case(("users", "shift", "list"), ("GET", wire.Path.LOCAL_SHIFTS), ok([samples.SHIFT]), ok([])),
    "users shift show": Case(
        ("users", "shift", "show", "7"), ("GET", "/local/v1/shifts/7"), ok(samples.SHIFT), ONE_THING
    ),
    "users shift open": Case(("users", "shift", "open"), ("POST", wire.Path.LOCAL_SHIFTS), ok(samples.SHIFT), DOES),
    "users shift close": Case(
        ("users", "shift", "close"), ("POST", "/local/v1/shifts/mine/close"), ok(samples.SHIFT), DOES
    ),
    "users list": Case(
        ("users", "list"), ("GET", wire.Path.LOCAL_USERS), ok([samples.USER]), "the owner is always there"
    ),
    "users add": Case(
        ("users", "add", "ama", "cashier", "--password-file", "pw.txt"),
        ("POST", wire.Path.LOCAL_USERS),
        ok(samples.USER),
        DOES,
    ),
    "users role": Case(("users", "role", "ama", "manager"), ("PATCH", USER), ok(samples.USER), DOES),
    "hub init": Case(
        ("hub", "init", "--yes"),
        ("POST", wire.Path.LOCAL_HUB),
        ok({"changed": True, "url": "https://hub.example"}),
        DOES,
    ),
    "hub end": Case(
        ("hub", "end"), ("DELETE", wire.Path.LOCAL_HUB), ok({"changed": True, "withdrawn": 1, "ended": []}), DOES
    ),
    "hub invite": Case(
        ("hub", "invite", "kumasi"),
        ("POST", wire.Path.LOCAL_HUB_INVITES),
        ok({"name": "kumasi", "word": "7k2m9xq4", "decides": "all", "expires_in_s": 900, "url": "https://hub.example"}),
        DOES,
    ),
    "hub status": Case(("hub", "status"), ("GET", wire.Path.LOCAL_HUB), ok([samples.BRANCH]), ok([])),
    "hub distrust": Case(
        ("hub", "distrust", "kumasi", "--since", "1h", "--yes"),
        ("POST", wire.Path.LOCAL_HUB_DISTRUST),
        ok({"branch": "kumasi", "distrusted": [], "paid_orders": []}),
        DOES,
    ),
    "hub accept": Case(
        ("hub", "accept", "kumasi"),
        ("POST", wire.Path.LOCAL_HUB_ACCEPT),
        ok({"branch": "kumasi", "payment_id": None, "stored": 3, "refused": 0, "counted": []}),
        DOES,
    ),
    "hub release": Case(
        ("hub", "release", samples.METHOD),
        ("POST", wire.Path.LOCAL_HUB_RELEASE.format(id=samples.METHOD)),
        ok({"payment_id": samples.METHOD, "branch": "kumasi"}),
        DOES,
    ),
    **{
        f"hub {name}": Case(
            ("hub", name, "kumasi", *arguments),
            ("POST", wire.Path.LOCAL_HUB_COMMANDS),
            ok({"id": samples.METHOD, "branch": "kumasi", "kind": kind}),
            DOES,
        )
        for name, kind, *arguments in (
            ("send-sms", "send_sms", "0244124567", "Your order is ready."),
            ("forget", "forget_payer", "0244124567", "--yes"),
            ("set", "settings", "transactions.late_policy", "review"),
        )
    },
    "hub join": Case(
        ("hub", "join", "https://hub.example", "7k2m9xq4"), ("POST", wire.Path.LOCAL_BRANCH), ok(samples.JOINED), DOES
    ),
    "hub leave": Case(("hub", "leave"), ("POST", wire.Path.LOCAL_BRANCH_LEAVE), ok({"left": False}), DOES),
    "hub restore": Case(
        ("hub", "restore", "--from-hub"),
        ("POST", wire.Path.LOCAL_BRANCH_RESTORE),
        ok({"rows": {"payment": 3, "transaction": 2}}),
        DOES,
    ),
    "users disable": Case(("users", "disable", "ama"), ("PATCH", USER), ok(samples.USER), DOES),
    "users reset": Case(
        ("users", "reset", "ama", "--second-factor"), ("POST", f"{USER}/reset"), ok(samples.USER), DOES
    ),
    "keys show": Case(("keys", "show", samples.KEY["id"]), ("GET", KEY), ok(samples.KEY), ONE_THING),
    "keys rotate": Case(
        ("keys", "rotate", samples.KEY["id"]), ("POST", f"{KEY}/rotate"), Says(samples.ROTATED, 201), DOES
    ),
    "keys revoke": Case(
        ("keys", "revoke", samples.KEY["id"], "--yes"),
        ("DELETE", KEY),
        ok({**samples.KEY, "state": "revoked"}),
        DOES,
        ("revoked", "already_revoked"),
    ),
    "data prune": Case(
        ("data", "prune", "--dry-run"),
        ("GET", wire.Path.LOCAL_PRUNE),
        ok(samples.PRUNABLE),
        ok({**samples.PRUNABLE, "counts": {}, "total": 0, "more": False}),
    ),
    "data forget": Case(
        ("data", "forget", "--payer", "0244124567", "--dry-run"),
        ("POST", wire.Path.LOCAL_PAYER_FORGET),
        ok(samples.FORGETTABLE),
        ok({**samples.FORGETTABLE, "counts": {}, "total": 0}),
    ),
    "daemon status": Case(
        ("daemon", "status"),
        ("GET", wire.Path.LOCAL_STATUS),
        ok(samples.STATUS),
        "it says how the daemon is, or that there is none",
    ),
    "endpoints rules list": Case(
        ("endpoints", "rules", "list", samples.ENDPOINT["id"]), ("GET", f"{ENDPOINT}/rules"), ok([samples.RULE]), ok([])
    ),
    "endpoints rules add": Case(
        ("endpoints", "rules", "add", samples.ENDPOINT["id"], "amount", ">=", "50"),
        ("POST", f"{ENDPOINT}/rules"),
        Says({"success": True, "data": samples.RULE}, 201),
        DOES,
    ),
    "endpoints rules update": Case(
        ("endpoints", "rules", "update", samples.ENDPOINT["id"], samples.RULE["id"], "--name", "rents"),
        ("PUT", f"{ENDPOINT}/rules/{samples.RULE['id']}"),
        ok(samples.RULE),
        DOES,
    ),
    "endpoints rules remove": Case(
        ("endpoints", "rules", "remove", samples.ENDPOINT["id"], samples.RULE["id"]),
        ("DELETE", f"{ENDPOINT}/rules/{samples.RULE['id']}"),
        Says({"success": True, "deleted": True}),
        DOES,
    ),
    "endpoints rules test": Case(
        ("endpoints", "rules", "test", "--sample", "{}"),
        ("POST", wire.Path.RULES_TEST),
        ok({"filter": None, **samples.ROUTED}),
        "it says of every endpoint whether it gets it",
    ),
    "tx routes": Case(
        ("tx", "routes", samples.REF),
        ("GET", f"/v1/open-collections/payments/{samples.REF}/routing"),
        ok(samples.ROUTING),
        ONE_THING,
    ),
    "simulate sms": Case(
        ("simulate", "sms", "--file", "receipt.txt"), ("POST", wire.Path.TEST_PAYMENTS), ok(samples.SIMULATED), DOES
    ),
    "lines pin": Case(
        ("lines", "pin", "zte-front:0", "--pin-file", "pin.txt"),
        ("POST", wire.Path.LOCAL_SIM_PIN),
        ok({"device_name": "zte-front", "slot_index": 0, "wants": None}),
        DOES,
    ),
    "api": Case(
        ("api", "GET", "/v1/payment-methods"),
        ("GET", wire.Path.PAYMENT_METHODS),
        ok([ON_SIM]),
        "it prints what the API says, whatever it is",
    ),
}
"""Commands that ask the daemon one thing and print its answer as it is."""
