"""What `policyd serve` is told: by flags, by variables, and by the file `policyd.yaml`."""

from __future__ import annotations

from policyd.settings.file import (
    NAMES,
    SettingsWatch,
    check_settings_name,
    is_settings,
    parse_settings,
    said_in,
)
from policyd.settings.overrides import override_policies
from policyd.settings.table import (
    Exposure,
    LogFormat,
    LogLevel,
    Option,
    Settings,
    access_flaw,
    options,
)
from policyd.settings.values import Said, Variables, contradictions, read_variables, settle

__all__ = [
    "NAMES",
    "Exposure",
    "LogFormat",
    "LogLevel",
    "Option",
    "Said",
    "Settings",
    "SettingsWatch",
    "Variables",
    "access_flaw",
    "check_settings_name",
    "contradictions",
    "is_settings",
    "options",
    "override_policies",
    "parse_settings",
    "read_variables",
    "said_in",
    "settle",
]
