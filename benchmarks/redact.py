"""What a redaction costs, beside other redactors in the same run.

    python benchmarks/redact.py [--peers PYTHON] [gitleaks.toml]

PYTHON is the interpreter of an environment with detect-secrets, presidio-analyzer,
cpex-pii-filter and cpex-secrets-detection; those that it has not are left out.  Each runs with
its own defaults and looks for other things than the next, and detect-secrets and presidio only
search.  Machines differ and are busy: compare rows, not runs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

Scan = Callable[[Any], object]

SLOWEST = 5.0
"""Seconds for 1 MB above which payloads of that size are left out."""

LARGE = 300_000
"""Bytes from which on a payload is left out for what is that slow."""


def payloads() -> dict[str, Any]:
    """What is searched, by what it is like."""
    from benchmarks.detectors import MEGABYTE, texts
    from tests.detectors.corpus import prose

    rng = random.Random(1)
    made: dict[str, Any] = {
        f"{size // 1000} KB call": _call(size, rng, prose) for size in (1000, 5000, 200_000)
    }
    for kind, text in texts().items():
        if len(text) > MEGABYTE * 9 // 10:
            made[kind] = {"content": [{"type": "text", "text": text}]}
    return made


def _call(size: int, rng: random.Random, prose: Callable[[int, random.Random], str]) -> Any:
    part = min(2000, size // 5)
    items = [
        {"id": number, "title": prose(part // 4, rng), "body": prose(part * 3 // 4, rng)}
        for number in range(max(1, size // part - 1))
    ]
    return {"name": "create_issue", "arguments": {"repository": "acme/web", "items": items}}


def ours(rules: Path | None) -> dict[str, Scan]:
    """Redactions by policyd: the default groups, all detectors, and those of a rule file."""
    from policyd.detectors import DETECTORS, Scanner, scanner
    from policyd.detectors.gitleaks import RuleFile, parse_rules
    from policyd.expression import Budget
    from policyd.redaction import Literal, ScopedRedaction, TextRedaction, redact
    from tests.detectors.corpus import DEFAULT_GROUPS

    def scan(searcher: Scanner) -> Scan:
        entry = ScopedRedaction(TextRedaction("r", searcher, Literal("[{detector}]")))
        return lambda payload: redact(payload, [entry], Budget(10**12, math.inf))

    found = {
        "policyd, default groups": scan(scanner(DEFAULT_GROUPS)),
        f"policyd, all {len(DETECTORS)}": scan(scanner(["all"])),
    }
    if rules is not None:
        parsed = parse_rules(rules.read_bytes())
        assert isinstance(parsed, RuleFile), parsed
        found[f"policyd, {len(parsed.detectors)} of gitleaks"] = scan(Scanner(parsed.detectors))
    return found


# Peers: this part runs in their environment


def peers() -> dict[str, Scan]:
    """Searches of the redactors that are installed here."""
    found: dict[str, Scan] = {}
    for name, make in _PEERS.items():
        try:
            found[name] = make()
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _texts(each)]


def _detect_secrets() -> Scan:
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    def scan(payload: Any) -> object:
        with default_settings():
            lines = [line for text in _texts(payload) for line in text.splitlines()]
            return [list(scan_line(line)) for line in lines]

    return scan


def _presidio() -> Scan:
    from presidio_analyzer import PatternRecognizer, predefined_recognizers

    recognizers = []
    for name in predefined_recognizers.__all__:
        kind = getattr(predefined_recognizers, name)
        if isinstance(kind, type) and issubclass(kind, PatternRecognizer):
            recognizers.append(kind())

    def scan(payload: Any) -> object:
        return [
            each.analyze(text, each.supported_entities, None)
            for text in _texts(payload)
            for each in recognizers
        ]

    return scan


def _cpex_pii() -> Scan:
    from cpex_pii_filter import PIIDetectorRust

    detector = PIIDetectorRust({})
    return lambda payload: detector.process_nested(payload, "")


def _cpex_secrets() -> Scan:
    from cpex_secrets_detection import py_scan_container

    return lambda payload: py_scan_container(payload, {"redact": True})


_PEERS: dict[str, Callable[[], Scan]] = {
    "cpex-pii-filter": _cpex_pii,
    "cpex-secrets-detection": _cpex_secrets,
    "detect-secrets": _detect_secrets,
    "presidio patterns": _presidio,
}


def say(name: str, scan: Scan, made: dict[str, Any]) -> None:
    """Print how fast *scan* is on each payload."""
    slow = False
    for kind, payload in made.items():
        size = len(json.dumps(payload))
        if slow and size > LARGE:
            continue
        times: list[float] = []
        until = time.perf_counter() + 0.5
        while len(times) < 300 and (not times or time.perf_counter() < until):
            started = time.perf_counter()
            scan(payload)
            times.append(time.perf_counter() - started)
        cost = statistics.median(times)
        slow = slow or cost / size * 1_000_000 > SLOWEST
        print(
            f"{name:26} {kind:12} {cost * 1e6:12.0f} us {size / cost / 1e6:8.2f} MB/s", flush=True
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="?", type=Path)
    parser.add_argument("--peers", type=Path, help="an interpreter that has the peers")
    parser.add_argument("--only-peers", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_peers:
        made = json.load(sys.stdin)
        for name, scan in peers().items():
            say(name, scan, made)
        return
    sys.path.insert(0, str(ROOT))
    made = payloads()
    for name, scan in ours(options.rules).items():
        say(name, scan, made)
    if options.peers is not None:
        command = [str(options.peers), __file__, "--only-peers"]
        subprocess.run(command, input=json.dumps(made), text=True, check=True)


if __name__ == "__main__":
    main()
