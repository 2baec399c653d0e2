"""The files that the rows of the matrix and the examples of the help name, to be written into a folder."""

import json
from collections.abc import Iterable
from pathlib import Path

from parsers.own_learn import parse_marks
from tests.parsers.test_own import FILE
from tests.parsers.test_own_learn import INLINE

RECEIPT = (
    "Payment received for GHS 12.50 from KOFI BOATENG Current Balance: GHS 62.50 . "
    "Available Balance: GHS 62.50. Reference: 7KQ2MX. Transaction ID: 40412345678. "
    "TRANSACTION FEE: 0.00\n"
)
FILES = {
    "pw.txt": "correct horse battery\n",
    "owner.password": "correct horse battery\n",
    "mail.pw": "letmein-to-the-mail\n",
    "pin.txt": "1234\n",
    "stick.pw": "page of the stick\n",
    "receipt.txt": RECEIPT,
    "inbox.txt": RECEIPT,
    "inbox.csv": f'sender,text,date\nMobileMoney,"{RECEIPT}",1700000000000\n',
    "sms-backup.xml": '<smses count="1"><sms address="MobileMoney" date="1700000000000" type="1" body="Hi"/></smses>',
    "samples.txt": INLINE,
    "messages.jsonl": json.dumps({"sender": "MobileMoney", "text": RECEIPT}) + "\n",
    "branches.txt": "kumasi\nbox-7 nothing\n",
    "payments.csv": "reference,transaction_id\n7KQ2MX,0000012345\n",
    "mtn-november.csv": "DATE,F_ID,AMOUNT,BAL BEFORE,BAL AFTER\n2026-11-20 09:14:00,93214500002,10.00,20.00,10.00\n",
    "other.csv": "Reference,Value\nAB1234,-5.00\n",
    "month.sql": "SELECT COUNT(*) AS n FROM payments\n",
    "rents.json": '{"late": true}',
    "change.json": '{"description": "books"}',
    "webhook.json": '{"amount": "12.50"}',
    "request.txt": "POST / HTTP/1.1\r\nHost: shop.example\r\n\r\n{}",
    "body.json": "{}",
    "headers.txt": "X-Svc-Attempt: 1\n",
    "hook.secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
    "wordings.toml": FILE,
    "templates/mtn.toml": FILE,
    "marked.txt": INLINE,
    "sms.txt": parse_marks(INLINE).message,
    "dump.txt": "",
    "new.toml": "",
    "shop.toml": 'shop = "Ama Provisions"\n',
}


def write_files(folder: Path, names: Iterable[str]) -> None:
    """Write these files into the folder."""
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(FILES[name], encoding="utf-8")
