"""What detectors find, what they take for something, and how fast they search, in one run.

    python benchmarks/detectors.py [gitleaks.toml]

Prints recall and false positives on generated texts, then microseconds and MB per second of a
search.  A rule file of gitleaks, where one is named, is searched with as well.  Machines differ
and are busy: compare rows, not runs.
"""

from __future__ import annotations

import base64
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from policyd.detectors import DETECTORS, Scanner, scanner  # noqa: E402
from policyd.detectors.gitleaks import RuleFile, parse_rules  # noqa: E402
from tests.detectors.corpus import DEFAULT_GROUPS, benign, prose, recall  # noqa: E402

BENIGN = 30_000
MEGABYTE = 1_000_000


def texts() -> dict[str, str]:
    """What is searched, by what it is like."""
    rng = random.Random(1)
    run = "8f14e45f-ceea-467f-9d0c-{0:012}"
    log = f"2024-01-02T12:00:01.123Z INFO [worker-{{0}}] id={run} took {{0}} ms\n"
    near = ("AK" + "IA1234 ", "gh" + "p_short ", "password = x1 ", "4000-0012-3456 ", "a@b ")
    misses = (*near, "ey" + "J.abc ", "bearer a ", "DE12 3456 ", "api_key: ", "phone: ", "dni ")
    digits = "0123456789 -"
    return {
        "1 KB": prose(1000, rng),
        "5 KB": prose(5000, rng),
        "200 KB": prose(200_000, rng),
        "prose": prose(MEGABYTE, rng),
        "base64": base64.b64encode(rng.randbytes(MEGABYTE * 3 // 4)).decode(),
        "logs": "".join(log.format(number) for number in range(MEGABYTE // 90)),
        "near misses": "".join(rng.choice(misses) for _ in range(MEGABYTE // 10))[:MEGABYTE],
        "digits": "".join(rng.choice(digits) for _ in range(MEGABYTE)),
        "one letter": "a" * MEGABYTE,
    }


def say_quality() -> None:
    """Print recall and false positives."""
    rates = recall()
    found, total = (sum(column) for column in zip(*rates.values(), strict=True))
    worst, (hits, places) = min(rates.items(), key=lambda item: item[1][0] / item[1][1])
    print(
        f"recall: {found} of {total} in {len(rates)} kinds; the worst, {worst}: {hits} of {places}"
    )
    default, taken = scanner(DEFAULT_GROUPS), Counter[str]()
    for kind, text in benign(BENIGN, seed=7):
        taken.update([kind] if default.found(text) else [])
    rate = taken.total() * 1000 / BENIGN
    print(f"false positives: {rate:.2f} per 1,000 look-alikes {dict(taken)}")


def say_speed(name: str, searcher: Scanner) -> None:
    """Print how fast *searcher* is on each text."""
    for kind, text in texts().items():
        times: list[float] = []
        for _ in range(max(3, min(200, 200_000 // len(text)))):
            started = time.perf_counter()
            searcher.find(text)
            times.append(time.perf_counter() - started)
        cost = statistics.median(times)
        print(f"{name:12} {kind:12} {cost * 1e6:10.0f} us {len(text) / cost / 1e6:7.1f} MB/s")


def main() -> None:
    """Print all tables."""
    say_quality()
    say_speed(f"{len(DETECTORS)} built in", scanner(["all"]))
    for file in sys.argv[1:]:
        rules = parse_rules(Path(file).read_bytes())
        assert isinstance(rules, RuleFile), rules
        say_speed(f"{len(rules.detectors)} gitleaks", Scanner(rules.detectors))


if __name__ == "__main__":
    main()
