"""The shop's own wordings: messages that they read, and errors in their file with the line."""

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.own import load_wordings
from parsers.read import read
from parsers.reading import Payment, Unreadable
from tests.fakes.each import each

FILE = """\
# MTN's wording of 2027
[[wording]]
name = "receipt_2027"
network = "mtn"
kind = "payment_received"
text = "You got {amount} from {payer_name}. Wallet: {balance}. Note: {reference}. Token: {transaction_id}. [Charge: {fee}. ]Thanks for using MoMo.{advert}"

[[wording.sample]]
text = "You got GHS 70.00 from ESI NAANA QUANSAH. Wallet: GHS 628.92. Note: Q4T9WD. Token: 85614800061. Thanks for using MoMo."
amount = "70.00"
transaction_id = "85614800061"
reference = "Q4T9WD"
"""
TEXT = (
    "You got GHS1,070.00 from  KOFI ANTWI\nBADU. Wallet: GHS 628.92. Note: K7M2QX. Token: 101234567890. Charge: GHS 0.50. "
    "Thanks for using MoMo. Dial *170# and win."
)


def test_a_file_adds_a_wording_that_reads_as_ours_do() -> None:
    loaded = load_wordings(FILE)
    assert loaded.problems == ()
    reading = read("MobileMoney", TEXT, own=loaded.wordings)
    assert isinstance(reading, Payment)
    assert str(reading.amount) == "GHS 1070.00"
    assert (reading.telco_id, reading.reference) == ("101234567890", "K7M2QX")
    assert reading.unverified
    assert reading.wording.startswith("own:receipt_2027#")
    assert isinstance(read("MobileMoney", TEXT), Unreadable)
    # The sender's rules stay: it is a wording of MTN's, and T-CASH is not MTN.
    assert isinstance(read("T-CASH", TEXT, own=loaded.wordings), Unreadable)


def test_a_text_that_one_of_ours_knows_and_refuses_is_not_read_by_the_shops() -> None:
    receipt = (
        "Payment received for GHS 70.00 from X Current Balance: GHS 9.00. Reference: x Current Balance: GHS 8.00. Reference: y. "
        "Transaction ID: 85614800061. TRANSACTION FEE: 0.00"
    )
    text = receipt.replace("x Current Balance: GHS 8.00. Reference: y", "y")
    own = load_wordings(
        f"""[[wording]]
name = "lax"
network = "mtn"
kind = "payment_received"
text = "Payment received for {{amount}} from {{payer_name}} Current Balance: {{balance}}. Reference: {{reference}}. Transaction ID: {{transaction_id}}. TRANSACTION FEE: 0.00"
[[wording.sample]]
text = "{text}"
"""
    )
    assert own.problems == ()
    reading = read("MobileMoney", receipt, own=own.wordings)
    assert isinstance(reading, Unreadable)
    assert "two balances" in reading.why


def test_the_name_changes_with_the_text_so_that_a_confirmation_is_of_what_was_confirmed() -> None:
    [before] = load_wordings(FILE).wordings
    [after] = load_wordings(FILE.replace("Thanks for using MoMo", "Thank you for using")).wordings or [before]
    [same] = load_wordings(FILE.replace('amount = "70.00"\n', "")).wordings
    assert before.name == same.name
    changed = load_wordings(FILE.replace("You got", "You did get")).wordings
    assert [wording.name for wording in changed] != [after.name]


@each(
    ("old", "new", "line", "why"),
    [
        ("network =", "netwerk =", 4, "unknown key 'netwerk'"),
        ('= "mtn"', '= "glo"', 4, "'glo' is not a valid network"),
        ('= "mtn"', "= mtn", 4, "Invalid value"),
        ('"payment_received"', '"reversal"', 5, "'reversal' is not a valid kind"),
        ('"receipt_2027"', '"Receipt 2027"', 3, "is not a valid name"),
        ("{amount}", "{amout}", 6, "unknown field {amout}"),
        ("{amount}", "{balance}", 6, "{balance} occurs twice"),
        (" Wallet: {balance}.", "", 6, "must have the field {balance}"),
        (". Token: {transaction_id}", " {transaction_id}", 6, "the end of {reference}"),
        ("[Charge: {fee}. ]", "[Charge: {amount}. ]", 6, "may not be in brackets"),
        ("[Charge: {fee}. ]", "[Charge: [{fee}]. ]", 6, "brackets"),
        ("{advert}", "{advert}.", 6, "is the text after the receipt"),
        (" [Charge: {fee}. ]Thanks for using MoMo.{advert}", "", 8, "does not read its sample"),
        (". [Charge: {fee}. ]Thanks for using MoMo.{advert}", "", 6, "{transaction_id} at the end could be cut"),
        ('reference = "Q4T9WD"', 'reference = "X"', 8, "reference is read as 'Q4T9WD', not 'X'"),
        ("You got {amount} from {payer_name}. Wallet: {balance}. Note: {reference}. Token: {transaction_id}. [Charge: {fee}. ]Thanks for using MoMo.{advert}", "{amount} {balance} {transaction_id}.", 6, "too little fixed text"),
        ("[[wording.sample]]", "[[wording.example]]", 8, "unknown key 'example'"),
        ("[[wording]]", "[[wordings]]", 2, "unknown section 'wordings'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_what_to_type(old: str, new: str, line: int, why: str) -> None:
    assert old in FILE
    loaded = load_wordings(FILE.replace(old, new, 1))
    [problem] = loaded.problems
    assert why in problem.why
    assert problem.line == line, problem
    assert problem.todo
    assert loaded.wordings == ()


def test_one_bad_wording_does_not_spoil_the_good_one() -> None:
    loaded = load_wordings(FILE + FILE.replace("{amount}", "{amout}").replace("receipt_2027", "other"))
    assert [wording.name.partition("#")[0] for wording in loaded.wordings] == ["own:receipt_2027"]
    assert [problem.line for problem in loaded.problems] == [6 + len(FILE.splitlines())]


def test_patterns_are_text_and_nothing_else() -> None:
    evil = FILE.replace("Thanks for using MoMo.", "Thanks (a+)+ for.* using MoMo.")
    [wording] = load_wordings(evil).wordings
    assert r"\(a\+\)\+" in wording.pattern
    assert isinstance(read("MobileMoney", TEXT, own=[wording]), Unreadable)


def test_a_wording_that_a_cut_or_a_typed_text_could_change_is_refused() -> None:
    cut = FILE.replace(
        "Token: {transaction_id}. [Charge: {fee}. ]Thanks for using MoMo.{advert}",
        "Token: {transaction_id}[0. ]{advert}",
    )
    assert load_wordings(cut).wordings == ()


@given(st.text(max_size=300), st.integers(0, len(FILE)))
@settings(max_examples=60, deadline=None)
def test_no_text_whatever_makes_own_wordings_raise(text: str, at: int) -> None:
    load_wordings(text)
    load_wordings(FILE[:at] + text + FILE[at:])
