"""The table of options, and everything that derives from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policyd.settings import Option, options
from policyd.settings.describe import schema_with_options, text_with_table
from policyd.settings.kinds import Flag, Many, Text

ROOT = Path(__file__).parents[2]
HINT = "run scripts/write_options.py"


def test_the_schema_has_every_option_and_no_other() -> None:
    text = (ROOT / "schemas/settings.v1.schema.json").read_text()
    assert schema_with_options(text) == text, HINT
    keys = set(json.loads(text)["properties"]) - {"settings", "allPolicies", "policies"}
    assert keys == {option.key for option in options()}


def test_the_page_has_every_option() -> None:
    text = (ROOT / "docs/serving.md").read_text()
    assert text_with_table(text) == text, HINT


@pytest.mark.parametrize("option", options(), ids=lambda option: option.name)
def test_an_option_is_called_alike_everywhere(option: Option) -> None:
    assert option.flag.removeprefix("--").replace("-", "_").upper() in option.variable
    assert option.key.lower() == option.name.replace("_", "")
    assert option.help.endswith(".")
    assert ". " not in option.help


@pytest.mark.parametrize("option", options(), ids=lambda option: option.name)
def test_no_variable_is_one_that_kubernetes_sets(option: Option) -> None:
    assert not option.name.startswith(("port", "service"))


def test_the_three_names_derive_from_the_field() -> None:
    one = Option("log_level", Text(), "", "")
    assert (one.flag, one.variable, one.key) == ("--log-level", "POLICYD_LOG_LEVEL", "logLevel")
    many = Option("host_names", Many(Text()), (), "")
    assert (many.flag, many.variable, many.key) == (
        "--host-name",
        "POLICYD_HOST_NAMES",
        "hostNames",
    )


@pytest.mark.parametrize("option", options(), ids=lambda option: option.name)
def test_a_flag_is_off_unless_it_is_asked_for(option: Option) -> None:
    assert not isinstance(option.kind, Flag) or option.default is False
