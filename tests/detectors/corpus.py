"""Texts made at random: some with one thing to find, others that only look like it.

The same seed gives the same texts.  Nothing in it belongs to anybody.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple
from uuid import UUID

from policyd.detectors import DETECTORS, Detector, Scanner

_HEX = "0123456789abcdef"
_WORDS = (
    *("the", "server", "answered", "request", "of", "a", "client", "and", "wrote", "line", "to"),
    *("its", "log", "before", "it", "closed", "again", "while", "other", "workers", "waited"),
    *("for", "their", "turn", "read", "from", "queue", "many", "times", "without", "an", "error"),
)


class Positive(NamedTuple):
    """A text, and where in it the secret stands that the detector must cover."""

    text: str
    start: int
    end: int


Place = Callable[[str, random.Random], str]


def _words(count: int, rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count))


PLACES: dict[str, Place] = {
    "alone": lambda sample, rng: sample,
    "prose": lambda sample, rng: f"{_words(6, rng)} {sample} {_words(6, rng)}.",
    "end of a sentence": lambda sample, rng: f"{_words(4, rng)}: {sample}.",
    "quoted": lambda sample, rng: f'{_words(2, rng)} "{sample}", {_words(2, rng)}',
    "parentheses": lambda sample, rng: f"{_words(3, rng)} ({sample}) {_words(3, rng)}",
    "lines": lambda sample, rng: f"{_words(3, rng)}\n{sample}\n{_words(3, rng)}",
    "log": lambda sample, rng: f"2024-05-{rng.randint(10, 28)}T10:11:12Z INFO {sample} done",
    "csv": lambda sample, rng: f"{rng.randint(1, 99)},{sample},{_words(1, rng)}",
    "table": lambda sample, rng: f"| {_words(1, rng)} | {sample} | {rng.randint(1, 99)} |",
    "markup": lambda sample, rng: f"<td>{sample}</td><td>{_words(1, rng)}</td>",
    "indented": lambda sample, rng: f"config:\n    {sample}\n    other: {rng.randint(1, 99)}",
    "after letters": lambda sample, rng: f"\u00fcber\u00df {sample} \u6587\u5b57",
}
"""Where a secret may stand."""


def positives(detector: Detector, seed: int) -> Iterator[tuple[str, Positive]]:
    """A text for each kind of place, with the name of the place."""
    rng = random.Random(seed)
    sample = detector.sample()
    (match,) = Scanner((detector,)).find(sample)
    for name, place in PLACES.items():
        text = place(sample, rng)
        start = text.index(sample) + match.start
        yield name, Positive(text, start, start + match.end - match.start)


def _hex(size: int, rng: random.Random) -> str:
    return "".join(rng.choice(_HEX) for _ in range(size))


def _digits(size: int, rng: random.Random) -> str:
    return str(rng.randint(1, 9)) + "".join(rng.choice(string.digits) for _ in range(size - 1))


def _base64(size: int, rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


def _uuid(rng: random.Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def _luhn_digit(digits: str) -> int:
    doubled = [int(d) if i % 2 else sum(divmod(2 * int(d), 10)) for i, d in enumerate(digits[::-1])]
    return -sum(doubled) % 10


def _bad_card(rng: random.Random) -> str:
    digits = "4" + _digits(14, rng)
    number = digits + str((_luhn_digit(digits) + rng.randint(1, 9)) % 10)
    return " ".join(number[at : at + 4] for at in range(0, 16, 4))


def _isbn(rng: random.Random) -> str:
    return f"978-{rng.randint(0, 9)}-{_digits(4, rng)}-{_digits(4, rng)}-{rng.randint(0, 9)}"


def _version(rng: random.Random) -> str:
    return "v" + ".".join(str(rng.randint(0, 99)) for _ in range(rng.randint(2, 4)))


def _time(rng: random.Random) -> str:
    clock = ":".join(f"{rng.randint(0, 59):02}" for _ in range(2))
    day = f"20{rng.randint(10, 40)}-0{rng.randint(1, 9)}-{rng.randint(10, 28)}"
    return f"{day}T1{rng.randint(0, 9)}:{clock}"


def _call(rng: random.Random) -> str:
    arguments = {"tabId": rng.getrandbits(31), "path": f"/srv/{_hex(6, rng)}", "limit": 10}
    return json.dumps({"id": rng.getrandbits(40), "name": "click", "arguments": arguments})


LOOK_ALIKES: dict[str, Callable[[random.Random], str]] = {
    "uuid": _uuid,
    "sha-1": lambda rng: f"commit {_hex(40, rng)}",
    "sha-256": lambda rng: f"sha256:{_hex(64, rng)}",
    "md5": lambda rng: f'etag: "{_hex(32, rng)}"',
    "integrity": lambda rng: f"sha512-{_base64(64, rng)}",
    "tab id": lambda rng: f"tabId: {_digits(10, rng)}",
    "snowflake": lambda rng: f"note_id {_digits(19, rng)}",
    "version": lambda rng: f"upgraded to {_version(rng)} and {_version(rng)}",
    "package": lambda rng: f"@scope/name@{rng.randint(0, 20)}.{rng.randint(0, 20)}.0",
    "luhn fails": _bad_card,
    "isbn": lambda rng: f"ISBN {_isbn(rng)}",
    "ean": lambda rng: f"EAN {_digits(13, rng)}",
    "timestamp": _time,
    "epoch": lambda rng: f"at {_digits(10, rng)} or {_digits(13, rng)} ms",
    "phone-like": lambda rng: f"order {_digits(3, rng)}-{_digits(4, rng)} of {_digits(10, rng)}",
    "issue": lambda rng: f"https://git.example/a/b/issues/1#issuecomment-{_digits(10, rng)}",
    "image": lambda rng: f"data:image/png;base64,{_base64(300, rng)}",
    "blob": lambda rng: _base64(600, rng),
    "tool call": _call,
    "prose": lambda rng: f"{_words(40, rng)}.",
    "numbers": lambda rng: " ".join(_digits(rng.randint(1, 7), rng) for _ in range(12)),
    "decimals": lambda rng: f"{rng.uniform(-90, 90):.14f}, {rng.uniform(-180, 180):.14f}",
    "money": lambda rng: f"$ {rng.randint(1, 999)},{_digits(3, rng)}.{_digits(2, rng)} in all",
    "slug": lambda rng: "/" + "-".join(rng.choice(_WORDS) for _ in range(6)) + f"-{_hex(8, rng)}",
    "constant": lambda rng: (
        f"const {rng.choice(_WORDS).upper()}_KEY = '{_words(1, rng)}-key-name';"
    ),
    "part number": lambda rng: f"SKU {_hex(4, rng).upper()}-{_digits(4, rng)}-{_digits(2, rng)}",
    "date range": lambda rng: f"{_digits(2, rng)}/{_digits(2, rng)}/2024 - 12/31/2024",
    "file": lambda rng: f"/var/log/{_words(1, rng)}-{_digits(8, rng)}.log.{rng.randint(1, 9)}.gz",
    "counter": lambda rng: f"token_count={_digits(5, rng)} max_tokens: {_digits(4, rng)}",
    "ulid": lambda rng: (
        "01" + "".join(rng.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(24))
    ),
}
"""What no default detector may find anything in."""


def benign(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """*count* look-alikes of all kinds, each with its kind."""
    rng = random.Random(seed)
    kinds = list(LOOK_ALIKES.items())
    for index in range(count):
        kind, make = kinds[index % len(kinds)]
        yield kind, make(rng)


def prose(size: int, rng: random.Random) -> str:
    """*size* characters of words, with a date and numbers now and then."""
    extra = ("2024-01-02", "12345", "Dana", "and")
    words = [rng.choice(_WORDS) if rng.random() < 0.85 else rng.choice(extra) for _ in range(size)]
    return " ".join(words)[:size]


DEFAULT_GROUPS = ("secrets", "pii")
"""The groups that are measured against look-alikes."""


def recall(seed: int = 1) -> dict[str, tuple[int, int]]:
    """For each detector, how many of its positives are covered whole, and how many there are."""
    found: dict[str, tuple[int, int]] = {}
    for detector in DETECTORS.values():
        scanner = Scanner((detector,))
        hits = [_covers(scanner, positive) for _, positive in positives(detector, seed)]
        found[detector.name] = sum(hits), len(hits)
    return found


def _covers(scanner: Scanner, positive: Positive) -> bool:
    matches = scanner.find(positive.text)
    return any(m.start <= positive.start and positive.end <= m.end for m in matches)
