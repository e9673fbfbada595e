"""Rule files of gitleaks: what a rule finds, and what an allowlist lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from policyd.detectors import Evidence, Scanner
from policyd.detectors.gitleaks import RuleFile, parse_rules

PUBLISHED = Path(__file__).parents[2] / ".." / "shared" / "corpora" / "gitleaks" / "gitleaks.toml"


def rule_file(text: str) -> RuleFile:
    parsed = parse_rules(text.encode())
    assert isinstance(parsed, RuleFile), parsed
    return parsed


def found(rules: str, text: str) -> list[str]:
    return [text[m.start : m.end] for m in Scanner(rule_file(rules).detectors).find(text)]


RULE = """
[[rules]]
id = "acme"
regex = '''(?i)acme[ =]+(k[0-9]+)(-x)?'''
"""


@pytest.mark.parametrize(
    ("more", "text", "expected"),
    [
        ("", "acme = k12", ["k12"]),
        ("secretGroup = 2", "acme = k12-x", ["-x"]),
        ("entropy = 2", "acme = k11 acme = k1234", ["k1234"]),
        ("keywords = ['prod']", "acme = k12", []),
        ("keywords = ['prod']", "PROD acme = k12", ["k12"]),
        ("allowlist = {regexes = ['^k1']}", "acme = k12 acme = k2", ["k2"]),
        ("allowlists = [{stopwords = ['K1', 'k(']}]", "acme = k12 acme = k2", ["k2"]),
        ("allowlists = [{regexTarget = 'match', regexes = ['^ACME ']}]", "ACME k1 acme=k2", ["k2"]),
        (
            "allowlists = [{regexTarget = 'line', regexes = ['demo']}]",
            "a\nacme k1 demo\nacme k2\ndemo",
            ["k2"],
        ),
        (
            "allowlists = [{condition = 'AND', regexes = ['1'], stopwords = ['2']}]",
            "acme k1 acme k2 acme k12",
            ["k1", "k2"],
        ),
        ("allowlists = [{paths = ['.*']}]", "acme k1", ["k1"]),
        ("allowlists = [{condition = 'AND', paths = ['.*'], regexes = ['1']}]", "acme k1", ["k1"]),
        ("allowlists = [{regexes = ['(?=1)']}]", "acme k1", ["k1"]),
    ],
)
def test_a_rule_means_what_it_means_there(more: str, text: str, expected: list[str]) -> None:
    assert found(RULE + more, text) == expected


def test_an_allowlist_of_the_file_is_one_of_every_rule() -> None:
    assert found("[allowlist]\nregexes = ['^k1$']\n" + RULE, "acme k1 acme k2") == ["k2"]


def test_rules_that_cannot_be_taken_are_named() -> None:
    rules = """
    [[rules]]
    id = "path"
    path = "x"
    [[rules]]
    id = "ahead"
    regex = "(?=a)b"
    [[rules]]
    id = "group"
    regex = "ab"
    secretGroup = 1
    [[rules]]
    id = "generic-one"
    regex = "ab"
    """
    parsed = rule_file(rules)
    assert parsed.refused == ("ahead", "group")
    (only,) = parsed.detectors
    assert (only.name, only.evidence) == ("gitleaks-generic-one", Evidence.GENERIC)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the published rules are not here")
def test_the_published_rules_load_whole() -> None:
    parsed = parse_rules(PUBLISHED.read_bytes())
    assert isinstance(parsed, RuleFile)
    assert (len(parsed.detectors), parsed.refused) == (221, ())
    text = "key = AK" + "IA" + "QYLPMN5HHHFPZAM2"
    matches = Scanner(parsed.detectors).find(text)
    assert [match.detector for match in matches] == ["gitleaks-aws-access-token"]
