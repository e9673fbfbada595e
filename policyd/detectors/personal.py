"""Detectors of data about people: addresses and numbers with a checksum or a fixed form.

The only user of python-stdnum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from stdnum import iban, luhn
from stdnum.iso7064 import mod_97_10

from policyd.detectors.detector import Detector, Evidence, whole

# E-mail addresses: ASCII, and the letters of Latin, Greek and Cyrillic.  Other scripts are often
# written without spaces, so their letters before an address are text and not part of it.

_LETTERS = r"A-Za-z\x{c0}-\x{24f}\x{370}-\x{52f}"
# an apostrophe may stand within, as in o'neil@..., but one in front is a quotation mark
_LOCAL = rf"[{_LETTERS}0-9_%+][{_LETTERS}0-9._%+'-]*"
_DOMAIN = rf"(?:[{_LETTERS}0-9](?:[{_LETTERS}0-9-]*[{_LETTERS}0-9])?\.)+[{_LETTERS}]{{2,}}"

# Endings of files and units with an `@` in their names, but for those that are domains too.
_FILE_ENDINGS = frozenset(
    (
        *("avif", "css", "csv", "gif", "html", "ico", "jpeg", "jpg", "js", "json", "jsx", "pdf"),
        *("php", "png", "svg", "toml", "tsx", "txt", "webp", "xml", "yaml", "yml"),
        *("mount", "path", "scope", "service", "slice", "socket", "swap", "target", "timer"),
    )
)


def _is_address(text: str) -> bool:
    """True unless it is a retina image, a package with its version, a unit, or a remote."""
    local, _, domain = text.rpartition("@")
    *labels, last = domain.split(".")
    # 64 characters are allowed, but are a digest
    if len(local) >= 64 or local == "git" or last.lower() in _FILE_ENDINGS:
        return False
    return not (len(labels) > 1 and all(label.isdigit() for label in labels))


# Payment cards (ISO/IEC 7812).  A candidate is a run of digit groups; a card is a stretch of
# whole groups in one of the printed layouts, with an issuer that has such numbers, that passes
# Luhn.  Left out on purpose: Maestro, whose ranges and lengths fit one number in ten, and
# Visa's numbers of 13 and 19 digits, which are in practice barcodes and row ids.

_LAYOUTS: dict[int, tuple[tuple[int, ...], ...]] = {
    4: ((4, 4, 4, 4, 3), (4, 4, 4, 4), (4, 6, 5), (4, 6, 4)),
    6: ((6, 13),),
    **{length: ((length,),) for length in range(14, 20)},
}
"""Sizes of the groups in which cards are printed, by the size of the first."""


def _card_lengths(digits: str) -> Sequence[int]:
    """How many digits a card with these first four may have; none if no issuer has them."""
    two, three, four = int(digits[:2]), int(digits[:3]), int(digits[:4])
    if two in (34, 37):
        return (15,)  # American Express
    if digits[0] == "4" or 51 <= two <= 55 or 2221 <= four <= 2720:
        return (16,)  # Visa, Mastercard
    if 300 <= three <= 305 or three == 309 or two in (36, 38, 39):
        return (14, 16)  # Diners Club
    if 3528 <= four <= 3589 or two in (62, 65, 81) or four == 6011 or 644 <= three <= 649:
        return range(16, 20)  # JCB, UnionPay, Discover
    return ()


def _cards(candidate: str) -> Iterator[tuple[int, int]]:
    groups = _groups(candidate)
    sizes = tuple(map(len, groups))
    free = 0
    for at, size in enumerate(sizes):
        if size not in _LAYOUTS or at < free:
            continue
        for layout in _LAYOUTS[size]:
            fits = sizes[at : at + len(layout)] == layout
            if fits and sum(layout) in _card_lengths(groups[at]):
                start = sum(sizes[:at]) + at
                end = start + sum(layout) + len(layout) - 1
                if _is_card(candidate, start, end):
                    free = at + len(layout)
                    yield start, end
                    break


def _groups(text: str) -> list[str]:
    # not by `translate`, which takes twice as long: a column of numbers is full of candidates
    return text.replace(".", " ").replace("-", " ").split(" ")


def _is_card(text: str, start: int, end: int) -> bool:
    written = text[start:end]
    # a dot or a hyphen at its edge makes it part of a longer number
    if text[max(start - 1, 0) : start] in (".", "-") or text[end : end + 1] in (".", "-"):
        return False
    if "." in written or (" " in written and "-" in written):
        return False
    return _passes_luhn("".join(_groups(written)))


_DOUBLED = str.maketrans("0123456789", "0246813579")


def _passes_luhn(number: str) -> bool:
    # stdnum's takes five times as long, and a column of numbers is full of candidates
    odd, even = number[::-2], number[-2::-2].translate(_DOUBLED)
    return sum(map(int, odd + even)) % 10 == 0


# IBAN (ISO 13616).  Its length depends on the country, so words that follow in the same
# layout are cut off at a gap.


def _ibans(candidate: str) -> Sequence[tuple[int, int]]:
    end = len(candidate)
    while end >= 15:
        if _is_iban(candidate[:end].replace(" ", "")):
            return ((0, end),)
        end = candidate.rfind(" ", 0, end)
    return ()


_AS_DIGITS = {ord(letter): str(10 + at) for at, letter in enumerate(ascii_uppercase)}


def _is_iban(number: str) -> bool:
    # The bare checksum is twenty times faster and refuses nearly all.  A country's own account
    # checks are left out, because published samples often fail them.
    checksum = int((number[4:] + number[:4]).translate(_AS_DIGITS)) % 97
    return checksum == 1 and bool(iban.is_valid(number, check_country=False))


# US social security numbers


def _is_ssn(text: str) -> bool:
    """True for area, group and serial that can be issued (SSA rules since 2011).

    stdnum's check has the same rules but refuses three numbers that were once printed in
    advertisements, which are what people use in tests.
    """
    number = text.replace("-", "").replace(" ", "")
    area, group, serial = number[:3], number[3:5], number[5:]
    return (
        len(text) in (9, 11)
        and len(number) == 9
        and area not in ("000", "666")
        and area[0] != "9"
        and group != "00"
        and serial != "0000"
    )


def _card_sample() -> str:
    number = "4" + "0" * 5 + "123456789"
    return number + luhn.calc_check_digit(number)


def _iban_sample() -> str:
    account = "WEST" + "12345698765432"
    return "GB" + mod_97_10.calc_check_digits(account + "GB") + account


PERSONAL: tuple[Detector, ...] = (
    Detector(
        name="payment-card",
        groups=("pii",),
        evidence=Evidence.CHECKSUM,
        patterns=(r"\b([0-9](?:[ .-]?[0-9]){11,})\b",),
        sample=_card_sample,
        check=lambda text: tuple(_cards(text)),
        look_alikes=(
            "took 1785600000009 ms",
            "note_id 1917043659912705296",
            "0.40000012" + "34567899",
            "4000.0012." + "3456.7899",
            "4000\n0012\n" + "3456\n7899",
            "4000-0012-" + "3456-7899-1",
        ),
    ),
    Detector(
        name="iban",
        groups=("pii", "pii.eu"),
        evidence=Evidence.CHECKSUM,
        patterns=(r"\b([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)\b",),
        sample=_iban_sample,
        check=_ibans,
        look_alikes=("GB00WEST12345698765432", "SKU AB12 CDEF 3456 GHIJ", "RFC8259 JSON TEXT"),
    ),
    Detector(
        name="us-ssn",
        groups=("pii", "pii.us"),
        evidence=Evidence.SHAPE,
        # a neighbour in the same writing makes it another number: it is taken in, and refused
        patterns=(
            r"\b((?:[0-9A-Za-z]+-)?[0-9]{3}-[0-9]{2}-[0-9]{4}(?:-[0-9A-Za-z]+)?)\b",
            r"\b((?:[0-9]+ )?[0-9]{3} [0-9]{2} [0-9]{4}(?: [0-9]+)?)\b",
            r"(?i)(?:\b|_)(?:ssn|social security|social_security|socialsecurity)"
            r"[^0-9\n]{0,24}([0-9]{9})\b",
        ),
        sample=lambda: "219" + "-09-" + "9999",
        check=whole(_is_ssn),
        look_alikes=(
            "000-12-3456",
            "666-12-3456",
            "900-12-3456",
            "123-00-4567",
            "123-45-0000",
            "part 123-45-6789-01",
            "ABC-123-45-6789",
            "1 123 45 6789 2",
            "219099999",
            "2024-01-02",
        ),
    ),
    Detector(
        name="email",
        groups=("pii",),
        evidence=Evidence.SHAPE,
        # userinfo of a URL is passed over without being taken
        patterns=(
            r"""://[^\s/?#"'<>@]*@(?:[^\s/?#"'<>@]*@)*"""
            rf"|({_LOCAL}@{_DOMAIN})",
        ),
        sample=lambda: "dana.olsen" + "@example.com",
        check=whole(_is_address),
        look_alikes=(
            "logo@2x.png",
            "react@18.2.0",
            "pkg@1.0.beta",
            "git@github.com:acme/site.git",
            "getty@tty1.service",
            "@app.route",
            "https://svc@host.example/",
            "a @ b.com",
        ),
    ),
)
"""Detectors of personal data, in the order of the file."""
