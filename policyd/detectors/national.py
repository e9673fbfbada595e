"""Detectors of the numbers that states and their agencies give to people and firms.

Each number is checked by python-stdnum (dates and check digits); where a number is no more than
a row of digits, a word beside it must say what it is.
"""

from __future__ import annotations

import string
from itertools import count, cycle
from types import ModuleType
from typing import NamedTuple

from stdnum.ar import cuit
from stdnum.at import vnr
from stdnum.au import tfn
from stdnum.be import nn
from stdnum.bg import egn
from stdnum.br import cnpj, cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ahv
from stdnum.cl import rut
from stdnum.cn import ric
from stdnum.cz import rc
from stdnum.de import idnr
from stdnum.dk import cpr
from stdnum.es import dni, nie
from stdnum.eu import vat
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.gr import amka
from stdnum.hr import oib
from stdnum.ie import pps
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.mx import curp
from stdnum.nl import bsn
from stdnum.no import fodselsnummer
from stdnum.pl import pesel
from stdnum.pt import nif
from stdnum.ro import cnp
from stdnum.se import personnummer
from stdnum.tr import tckimlik
from stdnum.us import ein, itin
from stdnum.za import idnr as za_idnr

from policyd.detectors.detector import Detector, Evidence, beside, filler, whole


class _Number(NamedTuple):
    """One kind of number.

    shape: how it is written, `#` a digit, `@` a capital; separators that are spaces in it may be
        left out, or be hyphens or dots.
    words: a pattern of what must stand before it; empty where the shape and the check suffice.
    found: a pattern, where the shape alone does not say it.
    wrong: one that fails its check, where any of the shape passes.
    """

    name: str
    region: str
    module: ModuleType
    shape: str
    words: str = ""
    found: str = ""
    wrong: str = ""

    def pattern(self) -> str:
        found = self.found or "".join(_LETTERS.get(char, char) for char in self.shape)
        return beside(self.words, found) if self.words else rf"\b({found})\b"

    def sample(self) -> str:
        """The first number that is valid; with a word before it where one must be."""
        number = next(text for text in map(self._filled, count()) if self.module.is_valid(text))
        return f"{_first(self.words)}: {number}" if self.words else number

    def look_alikes(self) -> tuple[str, ...]:
        """A number of the same shape that fails its check."""
        digits = cycle("0731846295")
        wrong = "".join(next(digits) if char == "#" else char for char in self.shape)
        wrong = self.wrong or wrong.replace("@", "Q")
        return (f"{_first(self.words)}: {wrong}" if self.words else wrong,)

    def _filled(self, seed: int) -> str:
        digits = iter(filler(f"{self.name}{seed}", len(self.shape), string.digits))
        capitals = iter(filler(f"{self.name}{seed}", len(self.shape), string.ascii_uppercase))
        source = {"#": digits, "@": capitals}
        return "".join(next(source[char]) if char in source else char for char in self.shape)


_LETTERS = {"#": "[0-9]", "@": "[A-Z]", " ": "[ .-]?"}


def _first(words: str) -> str:
    """The first of the words, which is a plain one."""
    return words.partition("|")[0]


_EU, _US, _AMERICAS, _ASIA, _AFRICA = "pii.eu", "pii.us", "pii.americas", "pii.asia", "pii.africa"

_NUMBERS = (
    _Number("at-svnr", _EU, vnr, "#### ######", "svnr|sozialversicherungsnummer|vsnr"),
    _Number(
        "be-national-number",
        _EU,
        nn,
        "## ## ## ### ##",
        "rijksregisternummer|rijksregister|nrn|niss",
    ),
    _Number("bg-egn", _EU, egn, "##########", "egn|egn number"),
    _Number(
        "ch-ahv", _EU, ahv, "756 #### #### ##", found=r"756[. ][0-9]{4}[. ][0-9]{4}[. ][0-9]{2}"
    ),
    _Number("cz-rodne-cislo", _EU, rc, "######/####", found="[0-9]{6}/[0-9]{4}"),
    _Number(
        "de-steuer-id",
        _EU,
        idnr,
        "## ### ### ###",
        "idnr|steuer[ _-]?id|steueridentifikationsnummer|tax[ _-]?id",
    ),
    _Number("dk-cpr", _EU, cpr, "######-####", "cpr|cpr[ _-]?nr"),
    _Number("es-dni", _EU, dni, "########@", found="[0-9]{8}-?[A-HJ-NP-TV-Z]"),
    _Number("es-nie", _EU, nie, "X#######@", found="[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z]"),
    _Number(
        "eu-vat",
        _EU,
        vat,
        "DE#########",
        "vat|ust-?id(?:nr)?|tva|btw|iva|partita iva",
        "[A-Z]{2}[0-9A-Z]{8,12}",
    ),
    _Number("fi-hetu", _EU, hetu, "######-###@", found="[0-9]{6}[-+A][0-9]{3}[0-9A-FHJ-NPR-Y]"),
    _Number(
        "fr-nir",
        _EU,
        nir,
        "1 ## ## ## ### ### ##",
        found="[12] [0-9]{2} [0-9]{2} [0-9]{2} [0-9]{3} [0-9]{3} [0-9]{2}|[12][0-9]{14}",
    ),
    _Number("gr-amka", _EU, amka, "###########", "amka|social security"),
    _Number("hr-oib", _EU, oib, "###########", "oib|osobni identifikacijski broj"),
    _Number("ie-pps", _EU, pps, "#######@", "ppsn|pps number|pps no|pps", "[0-9]{7}[A-W][A-IW]?"),
    _Number(
        "it-codice-fiscale",
        _EU,
        codicefiscale,
        "RSSMRA##C##H###@",
        found="[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]",
    ),
    _Number("nl-bsn", _EU, bsn, "#########", "bsn|burgerservicenummer|sofinummer"),
    _Number(
        "no-fodselsnummer",
        _EU,
        fodselsnummer,
        "###### #####",
        "fodselsnummer|f\u00f8dselsnummer|personnummer|fnr",
    ),
    _Number("pl-pesel", _EU, pesel, "###########", "pesel"),
    _Number("pt-nif", _EU, nif, "#########", "nif|contribuinte"),
    _Number("ro-cnp", _EU, cnp, "#############", "cnp|cod numeric personal"),
    _Number(
        "se-personnummer",
        _EU,
        personnummer,
        "######-####",
        "personnummer|personal identity number",
        "(?:19|20)?[0-9]{6}[-+]?[0-9]{4}",
    ),
    _Number("uk-nhs", _EU, nhs, "### ### ####", "nhs number|nhs no|nhs"),
    _Number(
        "us-ein",
        _US,
        ein,
        "##-#######",
        "ein|employer identification|federal tax|tax[ _-]?id",
        "[0-9]{2}-[0-9]{7}",
    ),
    _Number("us-itin", _US, itin, "9##-##-####", found="9[0-9]{2}-[0-9]{2}-[0-9]{4}"),
    _Number("ar-cuit", _AMERICAS, cuit, "##-########-#", found="[0-9]{2}-[0-9]{8}-[0-9]"),
    _Number(
        "br-cnpj",
        _AMERICAS,
        cnpj,
        "##.###.###/####-##",
        found=r"[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}",
    ),
    _Number(
        "br-cpf", _AMERICAS, cpf, "###.###.###-##", found=r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}"
    ),
    _Number("ca-sin", _AMERICAS, sin, "### ### ###", "sin|social insurance|nas"),
    _Number(
        "cl-rut", _AMERICAS, rut, "##.###.###-#", found=r"[0-9]{1,2}\.[0-9]{3}\.[0-9]{3}-[0-9K]"
    ),
    _Number(
        "mx-curp",
        _AMERICAS,
        curp,
        "HEGG######MVZRRL##",
        found="[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9]",
    ),
    _Number("au-tfn", _ASIA, tfn, "### ### ###", "tfn|tax file number|tax file"),
    _Number(
        "cn-resident-id",
        _ASIA,
        ric,
        "1101011985########",
        found="[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9X]",
    ),
    _Number("in-aadhaar", _ASIA, aadhaar, "#### #### ####", "aadhaar|aadhar|uidai|uid"),
    _Number(
        "in-pan",
        _ASIA,
        pan,
        "@@@P@####@",
        "pan|permanent account",
        "[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]",
        "ABCPZ0000K",
    ),
    _Number("kr-rrn", _ASIA, rrn, "######-#######", found="[0-9]{6}-[0-9]{7}"),
    _Number("tr-kimlik", _ASIA, tckimlik, "###########", "kimlik|tckn"),
    _Number(
        "za-id",
        _AFRICA,
        za_idnr,
        "#############",
        "south african id|rsa id|id number|identity number",
    ),
)


def _detector(number: _Number) -> Detector:
    return Detector(
        name=number.name,
        groups=("pii", number.region),
        evidence=Evidence.CHECKSUM,
        patterns=(number.pattern(),),
        sample=number.sample,
        check=whole(number.module.is_valid),
        look_alikes=number.look_alikes(),
    )


NATIONAL: tuple[Detector, ...] = tuple(_detector(number) for number in _NUMBERS)
"""Detectors of national numbers, by region and name."""
