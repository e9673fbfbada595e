"""Settings files: their shape, what they say, and what of them counts while a server runs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from policyd.diagnostics import Report
from policyd.settings import SettingsWatch, parse_settings, said_in
from policyd.source import SourceFile


def told(text: str) -> list[tuple[str, str, str | None]]:
    """What is wrong with a settings file: `line:column code`, the text, and the help."""
    report = Report()
    document = parse_settings(SourceFile("policyd.yaml", text.encode()), report)
    assert (document is None) == report.failed
    return [(f"{d.span.line}:{d.span.column} {d.code}", d.text, d.help) for d in report.diagnostics]


def test_a_file_says_what_its_options_are() -> None:
    text = "settings: v1\npaths: [p, /q]\nhttp: h:1\nlogLevel: error\nallowEmpty: true\nx-a: 1\n"
    document = parse_settings(SourceFile("etc/policyd.yaml", text.encode()), Report())
    assert document is not None
    assert said_in(document) == {
        "paths": (Path("etc/p"), Path("/q")),
        "http": ("h", 1),
        "log_level": "error",
        "allow_empty": True,
    }


@pytest.mark.parametrize(
    ("text", "where", "help"),
    [
        ("", "1:1 empty-file", "write `settings: v1`, or remove the file"),
        ("http: h:1\n", "1:1 missing-field", "the version of this format: write `settings: v1`"),
        ("settings: v2\n", "1:11 unknown-version", None),
        (
            "policyd: v1\nhttp: h:1\n",
            "1:1 not-settings",
            "settings begin with `settings: v1`; `--settings none` reads no settings",
        ),
        ("settings: v1\nhtpp: h:1\n", "2:1 unknown-field", "did you mean `http`?"),
        ("settings: v1\nlog-level: info\n", "2:1 unknown-field", "did you mean `logLevel`?"),
        (
            "settings: v1\nmode: audit\n",
            "2:1 unknown-field",
            "`mode` stands inside `allPolicies`, or inside `policies` below the name of one",
        ),
        (
            "settings: v1\nallPolicies: {match: {phase: request}}\n",
            "2:15 unknown-field",
            "`match` stands inside `policies`, below the name of one",
        ),
        ("settings: v1\nlogLevel: loud\n", "2:11 unknown-value", None),
        (
            "settings: v1\nhttp: 80\n",
            "2:7 wrong-type",
            "an address is HOST:PORT, such as `127.0.0.1:8765`",
        ),
        ("settings: v1\nhttp: host\n", "2:7 bad-value", None),
        ("settings: v1\nhttp: h:1\nhttp: h:2\n", "3:1 duplicate-key", None),
        ("settings: v1\nstdio: true\nhttp: h:1\n", "2:1 conflicting-fields", "leave one out"),
        ("settings: v1\nhostNames: []\n", "2:1 empty-value", None),
        ("settings: v1\npolicies: {a: {}}\n", "2:12 empty-value", None),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, where: str, help: str | None) -> None:
    ((place, _, advice),) = told(text)
    assert place == where
    assert help is None or advice == help


def test_a_generation_depends_on_the_overrides_alone(caplog: pytest.LogCaptureFixture) -> None:
    watch = SettingsWatch()

    def digest(text: str) -> bytes:
        return watch.digest(SourceFile("policyd.yaml", f"settings: v1\n{text}".encode()))

    with caplog.at_level(logging.WARNING):
        assert digest("http: h:1\n") == b""
        assert (
            digest("http: h:1\nallPolicies: {mode: audit}\n")
            == b'{"allPolicies": {"mode": "audit"}}'
        )
        assert digest("# two\nallPolicies:\n  mode: audit\nhttp: h:1\n") == (
            b'{"allPolicies": {"mode": "audit"}}'
        )
        assert caplog.messages == []
        assert digest("http: h:2\nstdio: false\n") == b""
        assert digest("http: h:2\nstdio: false\n") == b""
    assert caplog.messages == [
        "policyd.yaml: `http`, `stdio` changed, which counts after a restart"
    ]


def test_while_a_file_is_wrong_a_generation_depends_on_all_of_it() -> None:
    wrong = SourceFile("policyd.yaml", b"settings: v1\nhttp: [\n")
    assert SettingsWatch().digest(wrong) == wrong.content
