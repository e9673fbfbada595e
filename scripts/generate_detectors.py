"""Write the table of `docs/detectors.md`: every built-in detector.

    python scripts/generate_detectors.py

It stands between two marks in the page, which is written anew; the rest of the page stays.
"""

from __future__ import annotations

from pathlib import Path

from policyd.cli.catalog import EVIDENCE
from policyd.cli.detectors import shape_of
from policyd.detectors import BUILT_IN

PAGE = Path(__file__).parents[1] / "docs" / "detectors.md"
START = "<!-- written by scripts/generate_detectors.py -->\n"
END = "<!-- end -->\n"


def table() -> str:
    """The table, in the order in which the detectors decide."""
    lines = ["| detector | groups | a match rests on | example |", "|---|---|---|---|"]
    for detector in BUILT_IN.detectors.values():
        groups = ", ".join(f"`{group}`" for group in detector.groups)
        shape = shape_of(detector).replace("|", "\\|").replace("`", "'")
        row = f"| `{detector.name}` | {groups} | {EVIDENCE[detector.evidence]} | `{shape}` |"
        lines.append(row)
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """*text*, a page with the two marks, with the table of today between them."""
    before, _, rest = text.partition(START)
    return f"{before}{START}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(BUILT_IN.detectors)} detectors in {PAGE.name}")
