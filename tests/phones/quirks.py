"""Quirks of emulated makes as data: departures from the standard, with their sources.

A family is a row. No code tests a family's name; each difference is a field, so that another make is
another row. Sources: [I] an issue in a similar project, [S] the source code of a similar project,
[P] a manual; values without a source are the commonest behaviour of 3GPP TS 27.005.
"""

from typing import Final

from msgspec import Struct

from tests.phones.sim import Identity

Answers = tuple[tuple[str, str], ...]


class Family(Struct, frozen=True):
    """Departures of a make from the standard."""

    name: str = "generic"
    first_index: int = 1
    """Number of the first slot; some makes count from 0."""
    empty_slot_error: bool = True
    """Reading a free slot is `+CMS ERROR: 321`; some makes answer a bare OK."""
    iccid_commands: tuple[str, ...] = ("+CCID", "+ICCID")
    iccid_form: str = "{name}: {iccid}"
    iccid_swapped: bool = False
    """The digits are in the order of the card's file, with filler (TS 102.221 clause 13.2)."""
    manufacturer: str = "Generic"
    model: str = "GSM-1"
    revision: str = "1.00"

    storages: tuple[tuple[str, int], ...] = (("SM", 30), ("ME", 100))
    """The first one receives."""
    offer: str = ""
    """Answer to `AT+CPMS=?`; empty for the true one."""
    places: int = 3
    """Number of storages that `AT+CPMS` names."""
    receives_in: str = ""
    """Storage for received messages, independent of `AT+CPMS`."""
    web_inbox: bool = False
    """Received messages go to the inbox of a web page, out of reach of AT commands."""
    reports_in: str = "SR"
    """Storage for status reports that are not sent inline."""
    reports_said_in: str = "SR"
    """Storage that `+CDSI` names for them."""
    notices: tuple[tuple[int, ...], ...] = ((0, 1, 2), (0, 1), (0,), (0, 1), (0, 1))
    """Values that `AT+CNMI` accepts, by position (27.005 clause 3.4.1)."""
    notices_offer: str = ""
    """Answer to `AT+CNMI=?`; empty for the true one."""
    services: tuple[int, ...] = (0,)
    """Values that `AT+CSMS` accepts; with 1, `+CMT` and `+CDS` require `+CNMA`."""
    text_mode: bool = False
    """Accepts `AT+CMGF=1`; messages cannot be listed, read or sent then, see `Messages`."""
    wipes_smsc: bool = False
    """`AT+CSMP=` empties the SMSC's number."""
    full_line: str = ""
    """Sent when a message does not fit; `{storage}` is filled in."""
    mute_when_full: bool = False
    """From then on no message is announced until `AT+CNMI` is set again or the phone restarts."""

    noises: tuple[str, ...] = ()
    """Unsolicited lines, sent in turn."""
    noise_every: int = 0
    """A noise line is sent before every n-th answer; 0 is never."""
    noise_ms: int = 0
    """Interval of timed noise lines, for drivers with a clock; 0 is never."""
    noise_switch: str = ""
    """`AT<this>=0` switches them off."""
    port_switch: str = ""
    """`AT<this>=n` selects the port for notices."""
    port: str = ""
    """Number of this port."""

    boot_lines: tuple[str, ...] = ()
    """Sent at power-on."""
    busy_commands: int = 0
    """Number of SIM commands refused after power-on."""
    busy_line: str = "+CME ERROR: 14"
    ready_lines: tuple[str, ...] = ()
    """Sent when the SIM is ready."""
    autobaud: bool = False
    """The first line after power-on is used only to detect the line speed."""
    sim_out_lines: tuple[str, ...] = ()
    sim_in_lines: tuple[str, ...] = ()
    pin_counter: str = "+CPINR"
    """Command for the number of PIN tries left."""
    pin_counter_lines: tuple[str, ...] = ("+CPINR: SIM PIN,{pin},3", "+CPINR: SIM PUK,{puk},10")
    pin_counter_tested: bool = False
    """The test form `=?` of that command returns it too."""
    sim_switch: str = ""
    """`AT<this>=n` selects one of two SIMs."""
    registers: tuple[str, ...] = ("+CREG", "+CGREG", "+CEREG")
    """Commands that report the registration; on LTE alone `+CREG` reports none (27.007 clause 10.1.22)."""
    restarts: bool = False
    """`AT+CFUN=1,1` restarts it; other makes only reset the settings."""
    leaves_bus: bool = False
    """A restart removes it from USB for a while: the tty returns under another number."""
    without_ok: tuple[str, ...] = ()
    """Commands with answers that end without OK."""
    fixed: Answers = ()
    """Commands with a fixed answer: empty is OK alone, `ERROR` is an error."""
    accepted: tuple[str, ...] = ()
    """Vendor commands that are answered OK and ignored."""

    def identity(self, **known: str) -> Identity:
        """Return the identity of such a phone, with the given values replaced."""
        return Identity(**{"manufacturer": self.manufacturer, "model": self.model, "revision": self.revision, **known})


_DIRECT: Final = ((0, 1, 2), (0, 1, 2, 3), (0, 2, 3), (0, 1, 2), (0, 1))

GENERIC: Final = Family()

HUAWEI: Final = Family(
    name="huawei",
    # gammu's F_SMS_LOCATION_0 for all Huawei [S]; bg111/asterisk-chan-dongle#31 [I] for plain OK.
    first_index=0,
    empty_slot_error=False,
    iccid_commands=("^ICCID",),
    iccid_swapped=True,
    manufacturer="huawei",
    model="E3131",
    revision="21.157.37.01.1114",
    storages=(("SM", 20), ("ME", 23), ("SR", 10)),
    offer='("ME","MT","SM","SR"),("ME","MT","SM","SR"),("ME","MT","SM","SR")',
    notices=_DIRECT,
    services=(0, 1),
    text_mode=True,
    # wdoekes/asterisk-chan-dongle#47 [I]: no more +CMTI once it was full.
    full_line='^SMMEMFULL: "{storage}"',
    mute_when_full=True,
    # ModemManager's mm-broadband-modem-huawei.c and gammu's atgen.c [S].
    noises=(
        "^RSSI:14",
        '^HCSQ:"WCDMA",40,37,51',
        "^BOOT:21083438,0,0,0,89",
        "^MODE:5,4",
        "^DSFLOWRPT:00000034,00000000,00000000,0000000000000000,0000000000000000,00000000,00000000",
        "^SRVST:2",
        "^CSNR:13,0",
        "^STIN:0,0,0",
        "+CUSATEND",
        "^SIMST:1",
    ),
    noise_every=5,
    noise_ms=2_000,
    noise_switch="^CURC",
    # bg111/asterisk-chan-dongle#271 and wdoekes#121 [I]: the other port announces.
    port_switch="^PORTSEL",
    port="1",
    boot_lines=("^BOOT:21083438,0,0,0,89", "^SRVST:2", "^SIMST:1"),
    busy_commands=2,
    sim_out_lines=("^SIMST:255,0", "^SRVST:0"),
    sim_in_lines=("^SIMST:1", "^SRVST:2"),
    pin_counter="^CPIN",
    pin_counter_lines=("^CPIN: {state},{left},{puk},{pin},10,3",),
    restarts=True,
    leaves_bus=True,
    fixed=(("^USSDMODE?", "^USSDMODE: 1"), ("^SYSINFO", "^SYSINFO:2,3,0,5,1,,4")),
    accepted=("^USSDMODE", "^SYSCFG", "^U2DIAG", "^NDISDUP"),
)

ZTE: Final = Family(
    name="zte",
    iccid_commands=("+ZGETICCID",),
    manufacturer="ZTE INCORPORATED",
    model="MF190",
    revision="BD_P671M2V1.0.0B02",
    # gammu#209 [I]: reports fill SR and are announced in the middle of other talk.
    storages=(("SM", 25), ("ME", 100), ("SR", 10)),
    offer='("ME","MT","SM","SR"),("ME","MT","SM","SR"),("ME","MT","SM","SR")',
    # Qualcomm's firmware claims ds=1 and refuses it (ModemManager's cnmi_sequence) [S].
    notices=((0, 1, 2), (0, 1, 2, 3), (0, 2, 3), (0, 2), (0, 1)),
    notices_offer="(0,1,2),(0,1,2,3),(0,2,3),(0,1,2),(0,1)",
    services=(0, 1),
    text_mode=True,
    # python-gsmmodem's fakemodems.py, K3565-Z [S].
    wipes_smsc=True,
    fixed=(("+CFUN?", "+CFUN: (0-1,4-7),(0-1)"), ("+CVHU=0", "+CVHU: (0-1),(0-1)")),
    # ModemManager's mm-common-zte.c [S].
    noises=("+ZUSIMR:2", '+ZDONR: "net",620,1,"CS_PS","ROAM_OFF"', '+ZPASR: "UMTS"', "+ZUSIMR:2", "+ZPSTM:0"),
    noise_every=4,
    noise_ms=2_000,
    boot_lines=("+ZUSIMR:2",),
    busy_commands=3,
    pin_counter="+ZPINPUK",
    pin_counter_lines=("+ZPINPUK: {pin},{puk}",),
    pin_counter_tested=True,  # ModemManager's mm-broadband-modem-zte.c [S]
    restarts=True,
    leaves_bus=True,
    accepted=("+ZCDRUN", "+ZOPRT", "+ZSNT"),
)

SIM800: Final = Family(
    name="sim800",
    iccid_commands=("+CCID",),
    iccid_form="{iccid}f",
    manufacturer="SIMCOM_Ltd",
    model="SIMCOM_SIM800L",
    revision="Revision:1418B05SIM800L24",
    storages=(("SM", 15),),
    offer='("SM"),("SM"),("SM")',
    # faucamp/python-gsmmodem PR#61 [I]: ds=2 breaks receiving there, so it is refused here.
    notices=((0, 1, 2, 3), (0, 1, 2, 3), (0, 2), (0, 1), (0, 1)),
    services=(0, 1),
    text_mode=True,
    full_line="+SMS FULL",
    # SIM800 Hardware Design clause 4.2.2 [P]; Seeed-Studio/GPRS_SIM900#39 [I]: ERROR until then.
    boot_lines=("RDY", "+CFUN: 1", "+CPIN: READY"),
    busy_commands=3,
    busy_line="ERROR",
    ready_lines=("Call Ready", "SMS Ready"),
    autobaud=True,
    sim_out_lines=("+CPIN: NOT READY",),
    sim_in_lines=("+CPIN: READY", "SMS Ready"),
    pin_counter="+SPIC",
    pin_counter_lines=("+SPIC: {pin},{puk},3,10",),
    restarts=True,
    accepted=("+IPR", "+CLTS", "+CSCLK"),
    fixed=(("+CSMINS?", "+CSMINS: 0,1"),),
)

QUECTEL: Final = Family(
    name="quectel",
    first_index=0,
    iccid_commands=("+QCCID", "+ICCID"),
    manufacturer="Quectel",
    model="EC25",
    revision="EC25EFAR06A03M4G",
    storages=(("ME", 255), ("SM", 20), ("SR", 10)),
    offer='("ME","MT","SM","SR"),("ME","MT","SM","SR"),("ME","MT","SM","SR")',
    receives_in="ME",
    # IchthysMaranatha/asterisk-chan-quectel PR#75 [I]: announced as SM, stored in SR.
    reports_said_in="SM",
    notices=((0, 1, 2), (0, 1, 2, 3), (0, 2), (0, 1, 2), (0, 1)),
    services=(0, 1),
    text_mode=True,
    full_line='+QIND: "smsfull","{storage}"',
    noises=('+QIND: "csq",20,99', '+QIND: "act","LTE"', '+QNITZ: "26/11/21,08:00:00+00,0"'),
    noise_every=7,
    noise_ms=5_000,
    noise_switch="+QINDCFG",
    port_switch="+QURCCFG",
    port='"urcport","usbat"',
    boot_lines=("RDY", "+CPIN: READY", "+QUSIM: 1"),
    busy_commands=2,
    ready_lines=("+QIND: SMS DONE", "+QIND: PB DONE"),
    sim_out_lines=("+CPIN: NOT READY", "+QUSIM: 0"),
    sim_in_lines=("+CPIN: READY", "+QUSIM: 1", "+QIND: SMS DONE"),
    pin_counter="+QPINC",
    pin_counter_lines=('+QPINC: "SC",{pin},{puk}', '+QPINC: "P2",3,10'),
    sim_switch="+QDSIM",
    restarts=True,
    leaves_bus=True,
    accepted=("+QCFG", "+CTZU"),
)

WAVECOM: Final = Family(
    name="wavecom",
    iccid_commands=("+CCID",),
    iccid_form='{name}: "{iccid}"',
    manufacturer="WAVECOM MODEM",
    model="MULTIBAND  900E  1800",
    revision="656_09gg.Q2406B 1867944 102406 10:21",
    storages=(("SM", 20), ("SR", 10)),
    # python-gsmmodem's fakemodems.py [S], gammu#93 and #154 [I].
    offer='(("SM","BM","SR"),("SM"))',
    places=2,
    notices=((0, 1, 2), (0, 1, 2, 3), (0, 2), (0, 1, 2), (0,)),
    services=(0, 1),
    text_mode=True,
    boot_lines=("+WIND: 1", "+WIND: 3"),
    busy_commands=3,
    busy_line="+CME ERROR: 515",
    ready_lines=("+WIND: 4", "+WIND: 7"),
    sim_out_lines=("+WIND: 0",),
    sim_in_lines=("+WIND: 1", "+WIND: 4"),
    without_ok=("+CPIN?",),
    restarts=True,
    accepted=("+WIND", "+WOPEN", "+IPR"),
)

HILINK: Final = Family(
    name="hilink",
    first_index=0,
    empty_slot_error=False,
    iccid_commands=("^ICCID",),
    manufacturer="huawei",
    model="E3372h",
    revision="22.318.01.00.00",
    # gammu#223, #340, #333, #517 [I]; zabsalahid/serialport-gsm#70 [I] for MT refused.
    storages=(("SM", 20),),
    offer='("SM","ME","MT"),("SM","ME","MT"),("SM","ME","MT")',
    web_inbox=True,
    notices=_DIRECT,
    noises=("^RSSI:20", '^HCSQ:"LTE",49,42,101,20', "^LWURC:0"),
    noise_every=6,
    noise_ms=3_000,
    noise_switch="^CURC",
    port_switch="^PORTSEL",
    port="1",
    boot_lines=("^SIMST:1",),
    pin_counter="^CPIN",
    pin_counter_lines=("^CPIN: {state},{left},{puk},{pin},10,3",),
    restarts=True,
    leaves_bus=True,
    fixed=(("^VERSION?", "^VERSION:EXTS:HUAWEI_MOBILE HiLink"),),
)

FAMILIES: Final = {family.name: family for family in (GENERIC, HUAWEI, ZTE, SIM800, QUECTEL, WAVECOM, HILINK)}
