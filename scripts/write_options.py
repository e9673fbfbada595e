"""Write what derives from the options of `policyd serve`: their schema and their table.

Run it after a change of `policyd/settings/table.py`; tests fail until then.
"""

from __future__ import annotations

import sys
from pathlib import Path

from policyd.settings.describe import schema_with_options, text_with_table

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Rewrite both files."""
    for name, rewritten in (
        ("schemas/settings.v1.schema.json", schema_with_options),
        ("docs/serving.md", text_with_table),
    ):
        path = ROOT / name
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
