"""Payment methods, and the phones and SIMs that hold them: answers, and the bodies that create and change a number."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Self

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from daemon.core import shape
from daemon.core.json_values import Payer, PayerSources, payer_of, timestamp, timestamp_or_none
from daemon.core.limits import MILLISECOND_US
from daemon.core.lines import readiness, receiving
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.messages import line_history
from daemon.core.model import Device, Payment, PaymentMethod, Sim
from daemon.core.names import currency_of, network_name, provider_name
from daemon.core.reading import Wrong
from daemon.core.shape import FLAT, about, marked, sample, shown
from parsers.money import render

ACCOUNT_NAME_CHARACTERS_MAX: Final = 100
MERCHANT_CODE_CHARACTERS_MAX: Final = 50
SLOT_MAX: Final = 15
"""More slots than any modem has; rejects nonsense values."""
STATES_WITHOUT_MESSAGES: Final = frozenset({"hilink", "pin_needed", "pin_wrong", "puk_needed"})
"""States of a phone that answers and yet shows no message: an operator has to act first."""
_GHANA: Final = "+233"
_MODEM: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
Network = Annotated[str, sample("MTN")]
DeviceName = Annotated[str, sample("till phone")]


class Place(Struct, frozen=True):
    """The SIM with a number; `device_name` is unknown if its phone is."""

    device_id: shape.Id | None
    slot_index: shape.Count | None
    device_name: DeviceName | None
    network: Network


class PaymentMethodAnswer(Struct, frozen=True):
    """The payment-method record."""

    id: shape.Id
    provider: shape.Provider
    provider_name: Annotated[str, sample("MTN Mobile Money")]
    phone_number: shape.Phone
    account_name: shape.AccountName
    merchant_code: Annotated[str | None, Meta(examples=[None])]
    sim: Annotated[Place | None, about("the SIM with this number")]
    is_active: shape.On
    last_payment_at: shape.Time | None
    created_at: shape.Time
    updated_at: shape.Time

    @classmethod
    def of(cls, row: PaymentMethod, sim: Sim | None, device: Device | None) -> Self:
        """Return the answer of a number; `sim` holds it and `device` is the phone with that SIM."""
        name = None if device is None else device.name
        place = sim and Place(sim.device_id, sim.slot_index, name, network_name(sim.network))
        return shown(cls, row, provider_name=provider_name(row.provider), sim=place)


def _ghanaian(number: str) -> str | Wrong:
    return number if number.startswith(_GHANA) else Wrong("invalid", "must be a Ghanaian number (+233)")


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A SIM: the slot of a modem."""

    device_id: Annotated[str, sample(_MODEM, "the modem"), shape.UuidRead]
    slot_index: Annotated[int, sample(0, "the SIM's slot, from 0", ge=0, le=SLOT_MAX)]


_SIM: Final = {"device_id": _MODEM, "slot_index": 0}
_Number = Annotated[str, marked(read="phone", then=_ghanaian)]
_AccountName = Annotated[
    str,
    sample("Ama Provisions", "the account name, as the network shows it"),
    Meta(min_length=1, max_length=ACCOUNT_NAME_CHARACTERS_MAX),
]


class NewMethod(Struct, frozen=True):
    """A merchant number."""

    provider: Annotated[str, sample("momo_mtn", "the mobile-money service"), marked(read="provider")]
    phone_number: Annotated[_Number, sample("0241234567", "the merchant's number, local or E.164")]
    account_name: _AccountName
    merchant_code: (
        Annotated[
            str, sample("123456", "the code of a merchant account"), Meta(max_length=MERCHANT_CODE_CHARACTERS_MAX)
        ]
        | None
    ) = None
    sim: Annotated[Slot, sample(_SIM, "the SIM of the number")] | None = None


class MethodChanges(Struct, frozen=True):
    """A change of a merchant number; `sim` null removes it from its SIM."""

    sim: (
        Annotated[
            Slot,
            sample(
                _SIM, "absent: no change; null: remove the number from its SIM; an object: move the number to this SIM"
            ),
            marked(null=True),
        ]
        | UnsetType
        | None
    ) = UNSET
    account_name: _AccountName | None = None
    phone_number: Annotated[_Number | None, sample("0241234567", "the merchant's number, local or E.164")] = None


class Total(Struct, frozen=True):
    """The sum of the payments in a currency."""

    currency: shape.Currency
    amount: shape.Amount


class ClaimablePayment(Struct, frozen=True):
    """A payment that matched none of the numbers."""

    telco_transaction_id: shape.TelcoId
    amount: shape.Amount
    currency: shape.Currency
    payer: Payer
    payer_source: PayerSources
    received_at: shape.Time

    @classmethod
    def of(cls, row: Payment) -> Self:
        """Return the answer of a payment."""
        payer, source = payer_of(None, row)
        amount, received_at = render(row.amount_minor, row.currency), timestamp(row.stored_at)
        return shown(cls, row, amount=amount, payer=payer, payer_source=source, received_at=received_at)


class ClaimedAnswer(Struct, frozen=True):
    """The answer of claim-unplaced; `from` and `to` are null when there is nothing to replay."""

    success: shape.Success
    claimed: Annotated[int, sample(3, ge=0)]
    dry_run: shape.Flag
    since: Annotated[shape.Time | None, about("the window to replay: [from, to)")] = field(name="from")
    until: shape.Time | None = field(name="to")
    amounts: (
        Annotated[list[Total], about("totals by currency; in a dry run, with the scope to read transactions")]
        | UnsetType
    ) = UNSET
    payments: (
        Annotated[list[ClaimablePayment], about("the first 100 of them; under the same conditions as `amounts`")]
        | UnsetType
    ) = UNSET

    @classmethod
    def of(
        cls,
        count: int,
        first: int | None,
        last: int | None,
        details: tuple[Iterable[tuple[str, int]], Iterable[Payment]] | None = None,
        *,
        dry_run: bool,
    ) -> Self:
        """Return the answer; `first` and `last` are the storage times of the first and last payment."""
        # The end of the window is exclusive, and times are rendered in milliseconds.
        until = timestamp_or_none(None if last is None else last + MILLISECOND_US)
        found = cls(True, count, dry_run, timestamp_or_none(first), until)
        if details is None:
            return found
        amounts, rows = details
        totals = [Total(currency, render(minor, currency)) for currency, minor in amounts]
        return replace(found, amounts=totals, payments=[ClaimablePayment.of(row) for row in rows])


class SimAnswer(Struct, frozen=True):
    """A SIM, with the number on it."""

    slot_index: shape.Count
    network: Network
    iccid_last4: Annotated[str, sample("0421")] | None
    payment_method_id: Annotated[shape.Id | None, Meta(examples=[None])]
    phone_number: Annotated[shape.Phone | None, Meta(examples=[None])]
    available: Annotated[shape.On, about("no number is assigned to it")]
    ignored: Annotated[shape.Flag, about("it is not for payments")]

    @classmethod
    def of(cls, sim: Sim, method: PaymentMethod | None) -> Self:
        """Return the answer of a SIM."""
        return cls(
            sim.slot_index, network_name(sim.network), sim.iccid and sim.iccid[-4:],
            None if method is None else method.id, None if method is None else method.phone_number, method is None,
            sim.ignored_at is not None,
        )  # fmt: skip


class UpdatedSimAnswer(Struct, frozen=True):
    """The SIM and the phone that it is in."""

    device_id: shape.Id
    name: DeviceName
    sim: Annotated[SimAnswer, FLAT]


class PhoneAnswer(Struct, frozen=True):
    """A phone and its SIM slots."""

    device_id: shape.Id
    name: DeviceName
    reads_payments: shape.On
    sims: list[SimAnswer]


def phones_with_sims(
    devices: Iterable[Device], rows: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[PhoneAnswer]:
    """Return the phones and their SIM slots."""
    rows = list(rows)
    by_sim = {method.sim_seq: method for method in methods if method.sim_seq is not None}
    return [
        PhoneAnswer(
            device.device_id,
            device.name,
            readiness.reads_payments(device, rows),
            [SimAnswer.of(sim, by_sim.get(sim.seq)) for sim in readiness.in_phone(device, rows)],
        )
        for device in devices
    ]


_NotReceiving = Annotated[shape.Sentence | None, sample(None, "why no message can come")]


class LineOfSim(Struct, frozen=True):
    """The merchant number on a SIM."""

    payment_method_id: shape.Id
    phone_number: shape.Phone
    provider: Annotated[str, sample("MTN Mobile Money")]
    account_name: shape.AccountName
    merchant_code: Annotated[str, sample("", "empty when there is none")]

    @classmethod
    def of(cls, method: PaymentMethod | None) -> Self | None:
        """Return the number on a SIM, None for none."""
        if method is None:
            return None
        return shown(
            cls,
            method,
            payment_method_id=method.id,
            provider=provider_name(method.provider),
            merchant_code=method.merchant_code or "",
        )


class Unaccounted(Struct, frozen=True):
    """Money that came in or went out without a message."""

    came_in: shape.Amount
    went_out: shape.Amount
    currency: shape.Currency
    since: shape.Time | None

    @classmethod
    def of(cls, found: line_history.Unaccounted | None, network: str | None) -> Self | None:
        """Return the sums and since when; None if there are none."""
        currency = None if network is None else currency_of(network)
        if found is None or found.since is None or currency is None:
            return None
        came, went = render(found.came_in_minor, currency), render(found.went_out_minor, currency)
        return cls(came, went, currency, timestamp_or_none(found.since))


class SimStatus(Struct, frozen=True):
    """Whether the messages of a SIM can come, and what came."""

    slot_index: shape.Count
    network: Network
    receiving: shape.On
    receiving_reason: _NotReceiving
    unplaced_payments: shape.Count
    line: LineOfSim | None
    unaccounted: Annotated[Unaccounted | None, sample(None, "money that came in or went out without a message")]


class Trouble(Struct, frozen=True):
    """The fault of a phone."""

    state: Annotated[str, sample("pin_needed")]
    text: Annotated[shape.Sentence, sample("the SIM is locked")] | None
    next: Annotated[shape.Sentence, sample("momo lines pin")] | None


class PhoneStatus(Struct, frozen=True):
    """A phone and the status of its SIMs."""

    device_id: shape.Id
    name: DeviceName
    reads_payments: shape.On
    sims: list[SimStatus]
    trouble: Annotated[Trouble, about("why the phone shows no message, and the command to type")] | UnsetType = UNSET


class LineStatusAnswer(Struct, frozen=True):
    """The line status."""

    ready: Annotated[shape.On, about("every SIM has a number")]
    receiving: Annotated[shape.On, about("messages can come to every line now")]
    receiving_reason: _NotReceiving
    unplaced_payments: Annotated[shape.Count, about("of the last 30 days: they matched none of the numbers")]
    phones: list[PhoneStatus]

    @classmethod
    def of(  # noqa: PLR0913 -- the rows of all tables of the lines
        cls,
        devices: Sequence[Device],
        sims: Iterable[Sim],
        methods: Sequence[PaymentMethod],
        *,
        unplaced: Mapping[str, int],
        gaps: Mapping[str, line_history.Unaccounted],
        phones: Sequence[ModemHealth] | None,
        now_us: int,
    ) -> Self:
        """Return the line status.

        A phone in a state that shows no message gets a `trouble`, and the lines are not ready. SIMs that are ignored
        are left out. By SIM key, `unplaced` has the number of payments of the last 30 days that matched no number, also
        those of SIMs that are in no phone now, and `gaps` the money that no message reported. `phones` is None in the
        sandbox: there every SIM receives.
        """
        sims = [sim for sim in sims if sim.ignored_at is None]
        numbers = readiness.by_sim(methods)
        ports = phones or ()
        judged = [] if phones is None else receiving.judge(devices, sims, methods, ports, now_us)
        why = None if phones is None else receiving.overall(judged, ports, now_us)
        problems = {each.sim.seq: each.problem for each in judged}
        blind = {
            phone.device_id: Trouble(phone.state, phone.detail, phone.next_step)
            for phone in receiving.with_devices(devices, ports)
            if phone.state in STATES_WITHOUT_MESSAGES
        }
        return cls(
            not blind
            and all(
                sim.seq in numbers
                for device in devices
                if receiving.counts(device, now_us) and readiness.reads_payments(device, sims)
                for sim in readiness.in_phone(device, sims)
            ),
            why is None,
            None if why is None else why.text,
            sum(unplaced.values()),
            [
                PhoneStatus(
                    device.device_id,
                    device.name,
                    readiness.reads_payments(device, sims),
                    [
                        SimStatus(
                            sim.slot_index,
                            network_name(sim.network),
                            (problem := problems.get(sim.seq)) is None,
                            None if problem is None else problem.text,
                            unplaced.get(sim.sim_key, 0),
                            LineOfSim.of(numbers.get(sim.seq)),
                            Unaccounted.of(gaps.get(sim.sim_key), sim.network),
                        )
                        for sim in readiness.in_phone(device, sims)
                    ],
                    blind.get(device.device_id, UNSET),
                )
                for device in devices
            ],
        )
