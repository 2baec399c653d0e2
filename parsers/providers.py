"""The wallet services of Ghana: names, currency, sender names and SIM prefixes.

`PROVIDERS` are those that a shop can have a number at. Messages of the others are read and
shown, but never trusted.
"""

from dataclasses import dataclass
from typing import Final

from parsers.networks import at_gh, gcb_gh, ghanapay_gh, gmoney_gh, mtn_gh, telecel_gh
from parsers.wording import Wording

WORDINGS: Final[dict[str, tuple[Wording, ...]]] = {
    mtn_gh.NETWORK: mtn_gh.WORDINGS,
    telecel_gh.NETWORK: telecel_gh.WORDINGS,
    at_gh.NETWORK: at_gh.WORDINGS,
    ghanapay_gh.NETWORK: ghanapay_gh.WORDINGS,
    gmoney_gh.NETWORK: gmoney_gh.WORDINGS,
    gcb_gh.NETWORK: gcb_gh.WORDINGS,
}
"""The wordings of every network, by its short name, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A wallet service.

    Attributes:
        name: As stored and returned (`momo_mtn`).
        display_name: The name shown to people.
        network: Short name of the network (`mtn`).
        aliases: Other names that are accepted for it.
        currency: ISO 4217 code of its payments.
        senders: The sender names of its receipts, to the byte; empty while none is known for sure.
        plmns: MCC and MNC of its SIMs (the first digits of an IMSI); empty for a service that runs on any network.
    """

    name: str
    display_name: str
    network: str
    aliases: tuple[str, ...]
    currency: str
    senders: tuple[str, ...]
    plmns: tuple[str, ...]


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
"""Every provider that a shop can have a number at, by its canonical name."""


def _read_only(network: str, display_name: str, senders: tuple[str, ...]) -> Provider:
    """Return a provider that runs on any SIM and at which no shop can have a number."""
    return Provider(f"momo_{network}", display_name, network, (), "GHS", senders, ())


EVERY_PROVIDER: Final = PROVIDERS | {
    provider.name: provider
    for provider in (
        _read_only(ghanapay_gh.NETWORK, "GhanaPay", ghanapay_gh.SENDERS),
        _read_only(gmoney_gh.NETWORK, "G-Money", gmoney_gh.SENDERS),
        _read_only(gcb_gh.NETWORK, "GCB Bank", gcb_gh.SENDERS),
    )
}
"""Every provider with messages that momo reads, by its name."""
