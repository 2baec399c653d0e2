"""The poster: the shop's name, its number, the steps and a QR code, on A4, A5 or A6, in each language."""

from typing import Final

from daemon.core.model import PaymentMethod
from daemon.core.names import group_digits, national_format, network_of, provider_name
from daemon.core.payments.payer_texts import first_step
from daemon.dash.parts.order import menus
from daemon.dash.web.visit import Shown, Visit
from daemon.dash.web.words import Words
from daemon.runtime.qr import qr_svg
from daemon.runtime.words import LANGUAGES
from daemon.store.lines import payment_methods

PAPERS: Final = ("a4", "a5", "a6")


async def show(visit: Visit) -> Shown:
    """Show the poster of one number: `?number=` its id, `?paper=`, `?language=`."""
    methods = await visit.env.store.read(payment_methods.in_use)
    methods = [one for one in methods if one.is_active]
    chosen = next((one for one in methods if one.id == visit.query.get("number")), None)
    method = chosen or (methods[0] if methods else None)
    language = visit.query.get("language", "")
    language = language if language in LANGUAGES else visit.words.language
    paper = visit.query.get("paper", "")
    words = Words(language, visit.words.zone)
    shop = visit.shop.name if visit.shop is not None else "momo"
    steps, network = visit.env.texting.steps, ""
    if method is not None:
        network = network_of(method.provider)
    return Shown(
        "till/poster.html",
        {
            "p": words,
            "paper": paper if paper in PAPERS else PAPERS[0],
            "papers": PAPERS,
            "methods": [(one.id, one.account_name, _number(one)) for one in methods],
            "method": method,
            "number": "" if method is None else _number(method),
            "network": "" if method is None else provider_name(method.provider),
            "first": words.told(first_step(steps.get(network, ""))),
            "choose": menus(visit.env, words).get(network, ""),
            "qr": "" if method is None else qr_svg(_contact(shop, method)),
        },
    )


def _number(method: PaymentMethod) -> str:
    """Return a number as it is dialled, in groups that do not break."""
    return group_digits(national_format(method.phone_number)).replace(" ", "\N{NO-BREAK SPACE}")


def _contact(shop: str, method: PaymentMethod) -> str:
    """Return the number as a contact that a phone's camera offers to save (vCard 3.0, RFC 2426)."""
    name = "".join(f"\\{one}" if one in "\\,;" else one for one in shop if one.isprintable())
    lines = ("BEGIN:VCARD", "VERSION:3.0", f"N:{name}", f"FN:{name}", f"TEL:{method.phone_number}")
    return "\r\n".join((*lines, "END:VCARD"))
