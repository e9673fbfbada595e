"""What is written of the options elsewhere: their part of the JSON Schema, their table.

Knows the shape of both texts.  Used by tests and by `scripts/write_options.py` only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from policyd.settings.kinds import Flag, shown_value
from policyd.settings.table import Option, options

_BEGIN, _END = "<!-- options: scripts/write_options.py -->\n", "<!-- end of options -->\n"


def schema_with_options(text: str) -> str:
    """The JSON Schema *text* of settings files, its properties for options written anew."""
    schema: dict[str, Any] = json.loads(text)
    kept = ("settings", "allPolicies", "policies")
    own = {key: value for key, value in schema["properties"].items() if key in kept}
    first = {"settings": own.pop("settings")}
    schema["properties"] = {**first, **dict(_properties()), **own}
    return json.dumps(schema, indent=2) + "\n"


def _properties() -> Iterator[tuple[str, Any]]:
    for each in options():
        described = {"description": each.help, **each.kind.schema()}
        if isinstance(each.default, bool | int | str):
            described["default"] = each.default
        yield each.key, described


def text_with_table(text: str) -> str:
    """The page *text* with the table of options between its two marks written anew."""
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    rows = "".join(f"{_row(each)}\n" for each in options())
    head = "| flag | variable | key | default | |\n|---|---|---|---|---|\n"
    return f"{before}{_BEGIN}{head}{rows}{_END}{after}"


def _row(option: Option) -> str:
    value = "" if isinstance(option.kind, Flag) else f" {option.kind.metavar}"
    flag = "PATH..." if option.name == "paths" else f"{option.flag}{value}"
    default = "" if option.default in ((), None) else f"`{shown_value(option.default)}`"
    words = f"`{flag}` | `{option.variable}` | `{option.key}` | {default} | {option.help}"
    return f"| {_escaped(words)} |"


def _escaped(words: str) -> str:
    """A bar inside a cell would end it."""
    flag, _, rest = words.partition("` | ")
    return flag.replace("|", "\\|") + "` | " + rest
