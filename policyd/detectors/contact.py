"""Detectors of how to reach a person, and of documents that a word beside them names.

A bare row of digits is no telephone number: its writing, or a word, must say so.
"""

from __future__ import annotations

from policyd.detectors.detector import Detector, Evidence, beside, has_digit, whole

_PII = ("pii",)

# a neighbour of the same writing makes it a longer number, which is taken in and refused
_BEFORE = r"(?:^|[^0-9A-Za-z_.+/=-])"
_AFTER = r"(?:[^0-9A-Za-z_/=-]|$)"


def _digits(text: str) -> str:
    return "".join(char for char in text if char in "0123456789")


def _is_phone(text: str) -> bool:
    """True for as many digits as ITU-T E.164 allows; in North America, for its plan alone."""
    digits = _digits(text)
    if text[0] == "+":
        national = digits[0] == "1"
        return _is_north_american(digits[1:]) if national else 8 <= len(digits) <= 15
    return _is_north_american(digits.removeprefix("1"))


def _is_north_american(digits: str) -> bool:
    return len(digits) == 10 and digits[0] in "23456789" and digits[3] in "23456789"


def _is_long(text: str) -> bool:
    return 7 <= len(_digits(text)) <= 15


CONTACT: tuple[Detector, ...] = (
    Detector(
        name="phone",
        groups=_PII,
        evidence=Evidence.SHAPE,
        patterns=(
            rf"(?:^|[^0-9A-Za-z_+])(\+[1-9][0-9]{{0,3}}(?:[ .-]?\(?[0-9]{{1,4}}\)?)"
            rf"(?:[ .-]?[0-9]{{2,4}}){{1,4}}){_AFTER}",
            rf"{_BEFORE}((?:1[ .-])?(?:\([0-9]{{3}}\) ?[0-9]{{3}}[-. ]|[0-9]{{3}}-[0-9]{{3}}-"
            rf"|[0-9]{{3}}\.[0-9]{{3}}\.)[0-9]{{4}}){_AFTER}",
        ),
        sample=lambda: "+1 415-555" + "-0134",
        check=whole(_is_phone),
        look_alikes=(
            "tabId: 1234567890",
            "#issuecomment-4345955198",
            "took 1785600000009 ms",
            "115-555-0134-9",
            "+1 2 + 3",
            "v415.555.0134",
            "GMT+0100 and +12.5",
        ),
    ),
    Detector(
        name="phone-in-context",
        groups=_PII,
        evidence=Evidence.CONTEXT,
        patterns=(
            beside(
                "phone|telephone|mobile|telefon|cell phone|whatsapp|fax|phone number|handy",
                r"\(?0?[0-9]{2,5}\)?(?:[ ./-]{0,2}[0-9]{2,5}){1,5}",
            ),
        ),
        sample=lambda: "phone: 030 123" + " 45678",
        check=whole(_is_long),
        look_alikes=("phone: 12", "telephone 2 of 3", "fax id"),
    ),
    Detector(
        name="passport-number",
        groups=_PII,
        evidence=Evidence.CONTEXT,
        patterns=(
            beside(
                "passport|passeport|reisepass|pasaporte|passaporto|paspoort",
                "[A-Z]{0,2}[0-9][A-Z0-9]{6,8}",
            ),
        ),
        sample=lambda: "passport no. " + "C01X" + "00T47",
        look_alikes=("passport expired", "passports: 12", "C01X00T47"),
        check=whole(has_digit),
    ),
    Detector(
        name="driving-licence",
        groups=_PII,
        evidence=Evidence.CONTEXT,
        patterns=(
            beside(
                r"driving licence|driver'?s? licen[cs]e|f\x{fc}hrerschein|permis de conduire"
                "|licence number|license number",
                "[A-Z]{0,5}[0-9][A-Z0-9]{5,15}",
            ),
        ),
        sample=lambda: "driving licence: MORGA" + "753116SM9IJ",
        look_alikes=("driving licence: none", "licence number 12", "MORGA753116SM9IJ"),
        check=whole(has_digit),
    ),
    Detector(
        name="uk-nino",
        groups=("pii", "pii.eu"),
        evidence=Evidence.CONTEXT,
        patterns=(
            beside(
                "national insurance|nino|ni number|ni no",
                "[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",
            ),
        ),
        sample=lambda: "NI number: AB 12 34" + " 56 C",
        look_alikes=("AB123456C", "NI number: DQ 12 34 56 C", "nino: AB12"),
    ),
    Detector(
        name="date-of-birth",
        groups=_PII,
        evidence=Evidence.CONTEXT,
        patterns=(
            beside(
                "date of birth|birth[ _-]?date|dob|born on|geburtsdatum|date_of_birth",
                "[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}",
            ),
        ),
        sample=lambda: "date of birth: 1985" + "-04-12",
        look_alikes=("2024-01-02", "date of birth: unknown", "date 2024-01-02"),
    ),
    Detector(
        name="imei",
        groups=_PII,
        evidence=Evidence.CONTEXT,
        patterns=(beside("imei", "[0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{6}[ -]?[0-9]"),),
        sample=lambda: "imei: 49015420" + "3237518",
        look_alikes=("49015420" + "3237518", "imei: 12345678"),
    ),
    Detector(
        name="us-bank-account",
        groups=("pii", "pii.us"),
        evidence=Evidence.CONTEXT,
        patterns=(
            beside(
                "account number|account no|acct no|acct number|bank account|routing number",
                "[0-9]{8,17}",
            ),
        ),
        sample=lambda: "account number: 00012" + "3456789",
        look_alikes=("account number 12", "order 000123456789"),
    ),
)
"""Detectors of contacts and documents, in the order of the file."""
