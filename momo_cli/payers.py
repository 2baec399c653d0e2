"""Approved payers as the command line shows them."""

from typing import Final

from momo_cli.answer import Cell, Field, Head, View
from momo_cli.text import clean
from momo_cli.words import ago, phone

_STATES: Final = {"approved": Cell("✓ approved", "green"), "revoked": Cell("✗ revoked", "red")}

VIEW: Final = View(
    fields=tuple(
        Field(name)
        for name in (
            "id",
            "phone_number",
            "name",
            "state",
            "review_id",
            "approved_by",
            "approved_at",
            "revoked_by",
            "revoked_at",
        )
    ),
    heads=(
        Head("NUMBER", lambda row, _: phone(row.get("phone_number"))),
        Head("NAME", lambda row, _: clean(row.get("name"))),
        Head("STATE", lambda row, _: _STATES.get(str(row.get("state")), Cell(""))),
        Head("BY", lambda row, _: clean(row.get("approved_by"))),
        Head("WHEN", lambda row, t: ago(row.get("approved_at"), t)),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
    id="id",
)
