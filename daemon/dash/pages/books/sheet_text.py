"""The day sheet as plain text, for a mail to the owner, in the language of its sender."""

from collections.abc import Sequence
from typing import Any, Final

from daemon.core.books import day_sheet
from daemon.core.json_values import Json
from daemon.dash.web.visit import Visit

_LABEL: Final = 34
_COUNT: Final = 6


def lines(visit: Visit, sheets: Sequence[Json]) -> list[str]:
    """Return the lines of the sheets of all currencies, each wallet below the total of its currency."""
    found: list[str] = []
    for sheet in sheets:
        found += [*_sums(visit, sheet["all"], sheet["currency"]), ""]
        if len(sheet["lines"]) > 1:
            for line in sheet["lines"]:
                number = visit.phone(line["phone_number"]) or visit.words("day_no_number")
                found += [f"{line['network_name']} {number}"]
                found += [*_sums(visit, line, sheet["currency"]), ""]
    return found


def _sums(visit: Visit, sums: Json, currency: str) -> list[str]:
    t = visit.words

    def row(label: str, amount: str, count: Any = "") -> str:
        return f"{label:<{_LABEL}}{count:>{_COUNT}}  {visit.money_text(amount, currency)}"

    found = [
        row(t(f"sheet_{kind}"), sums[kind]["amount"], sums[kind]["count"])
        for kind in day_sheet.COUNTED
        if kind == "paid" or sums[kind]["count"]
    ]
    found.append(row(t("day_money_in"), sums["money_in"]["amount"], sums["money_in"]["count"]))
    wallet = sums["wallet"]
    if wallet is not None:
        found.append(row(t("day_wallet_says"), wallet["says"]))
        if not wallet["agrees"]:
            found.append(
                t("day_wallet_differs", amount=visit.money_text(wallet["difference"], currency))
            )
    if sums["doubted"]["count"]:
        found.append(t.number("day_not_counted", sums["doubted"]["count"]))
    return found
