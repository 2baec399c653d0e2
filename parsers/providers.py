"""The wallet services we know: what they are called, what they pay in, who sends their receipts, whose SIMs they are.

`PROVIDERS` are those that a shop can have a number at (decisions.md section 3). The messages of all others are read and
shown too, but nothing of theirs is trusted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from parsers.country import Country
from parsers.networks import (
    airtel_cd,
    airtel_ga,
    airtel_ke,
    airtel_mg,
    airtel_mw,
    airtel_ug,
    airtel_zm,
    at_gh,
    bkash_bd,
    easypaisa_pk,
    ecocash_ls,
    ecocash_zw,
    emola_mz,
    gcash_ph,
    gcb_gh,
    ghanapay_gh,
    gmoney_gh,
    mixx_tg,
    mpesa_cd,
    mpesa_ke,
    mpesa_ls,
    mpesa_mz,
    mpesa_tz,
    mtn_bj,
    mtn_cg,
    mtn_cm,
    mtn_gh,
    mtn_rw,
    mtn_ug,
    mtn_zm,
    mvola_mg,
    nagad_bd,
    orange_ci,
    orange_cm,
    orange_mg,
    orange_ml,
    rocket_bd,
    sahal_so,
    telebirr_et,
    telecel_gh,
    tigo_tz,
    vfcash_eg,
    zamtel_zm,
)
from parsers.template import Wording


@dataclass(frozen=True, slots=True)
class Provider:
    """A wallet service that lines can belong to.

    Attributes:
        name: As stored and returned (`momo_mtn`).
        display_name: For people.
        network: Short name of the network (`mtn`).
        aliases: Other names that are accepted for it.
        currency: ISO 4217 code of what it pays in.
        senders: The originating addresses its receipts come from, to the byte; empty while none is known for sure.
        plmns: MCC and MNC of its SIMs (the first digits of an IMSI); empty where it runs on any network's.
    """

    name: str
    display_name: str
    network: str
    aliases: tuple[str, ...]
    currency: str
    senders: tuple[str, ...]
    plmns: tuple[str, ...]


class _Network(Protocol):
    """What a file of `parsers.networks` holds; read-only, as its constants are."""

    @property
    def NETWORK(self) -> str: ...  # noqa: N802 - a constant of a module
    @property
    def DISPLAY_NAME(self) -> str: ...  # noqa: N802 -- a constant of a module
    @property
    def SENDERS(self) -> tuple[str, ...]: ...  # noqa: N802 -- a constant of a module
    @property
    def PLMNS(self) -> tuple[str, ...]: ...  # noqa: N802 -- a constant of a module
    @property
    def COUNTRY(self) -> Country: ...  # noqa: N802 -- a constant of a module
    @property
    def WORDINGS(self) -> tuple[Wording, ...]: ...  # noqa: N802 -- a constant of a module


PROVIDERS: Final = {
    provider.name: provider
    for provider in (
        Provider(
            name=mtn_gh.PROVIDER,
            display_name="MTN MoMo",
            network=mtn_gh.NETWORK,
            aliases=(),
            currency="GHS",
            senders=mtn_gh.SENDERS,
            plmns=mtn_gh.PLMNS,
        ),
        Provider(
            name=telecel_gh.PROVIDER,
            display_name="Telecel Cash",
            network=telecel_gh.NETWORK,
            aliases=("momo_vodafone",),
            currency="GHS",
            senders=telecel_gh.SENDERS,
            plmns=telecel_gh.PLMNS,
        ),
        Provider(
            name=at_gh.PROVIDER,
            display_name="AT Money",
            network=at_gh.NETWORK,
            aliases=("momo_airteltigo", "momo_tigo"),
            currency="GHS",
            senders=at_gh.SENDERS,
            plmns=at_gh.PLMNS,
        ),
    )
}
"""Every provider that a shop can have a number at, by its canonical name (decisions.md section 3)."""

_OTHERS: Final[tuple[_Network, ...]] = (
    ghanapay_gh, gmoney_gh, gcb_gh,
    mtn_rw, mtn_ug, mtn_cm, mtn_cg, mtn_bj, mtn_zm,
    mpesa_ke, mpesa_tz, mpesa_mz, mpesa_ls, mpesa_cd,
    airtel_ke, airtel_ug, airtel_zm, airtel_mw, airtel_cd, airtel_ga, airtel_mg,
    orange_cm, orange_ml, orange_ci, orange_mg,
    tigo_tz, mixx_tg, mvola_mg, ecocash_zw, ecocash_ls, emola_mz, zamtel_zm,
    bkash_bd, nagad_bd, rocket_bd, easypaisa_pk, gcash_ph, telebirr_et, sahal_so, vfcash_eg,
)  # fmt: skip
_READ_ONLY: Final = tuple(
    Provider(
        name=f"momo_{module.NETWORK}",
        display_name=module.DISPLAY_NAME,
        network=module.NETWORK,
        aliases=(),
        currency=module.COUNTRY.currency,
        senders=module.SENDERS,
        plmns=module.PLMNS,
    )
    for module in _OTHERS
)

EVERY_PROVIDER: Final = {
    **PROVIDERS,
    **{provider.name: provider for provider in _READ_ONLY},
}
"""Every provider whose messages are read, by its name; Ghana's first."""

WORDINGS: Final[dict[str, tuple[Wording, ...]]] = {
    mtn_gh.NETWORK: mtn_gh.WORDINGS,
    telecel_gh.NETWORK: telecel_gh.WORDINGS,
    at_gh.NETWORK: at_gh.WORDINGS,
    **{module.NETWORK: module.WORDINGS for module in _OTHERS},
}
"""The wordings of every network, by its short name, in the order in which they are tried."""


def networks_of_senders(providers: Iterable[Provider]) -> dict[str, tuple[str, ...]]:
    """Return the networks that send from an address, by the address: one name may serve several countries."""
    networks: dict[str, tuple[str, ...]] = {}
    for provider in providers:
        for sender in provider.senders:
            networks[sender] = (*networks.get(sender, ()), provider.network)
    return networks
