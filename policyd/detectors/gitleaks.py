"""Rule files of gitleaks (https://github.com/gitleaks/gitleaks), as they are.

A rule becomes the detector `gitleaks-ID` of the group `gitleaks`.  Of a rule, `regex`,
`secretGroup`, `entropy`, `keywords` and allowlists are meant; what asks for the path or the
commit of a file says nothing of a payload, which has neither.  Knows no policy file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from policyd.detectors.custom import Declaration, declared, literals
from policyd.detectors.detector import Around, Detector, Evidence
from policyd.pattern import Pattern, compile_pattern

GROUP = "gitleaks"
"""The group of all detectors that come from a rule file."""

_LINE = 1000  # code points of a line that are looked at, before and after a candidate
_MATCH = 256  # the same of a match


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What came of a rule file.

    refused: the ids of the rules that RE2 cannot take.
    """

    detectors: tuple[Detector, ...]
    refused: tuple[str, ...]


def parse_rules(content: bytes) -> RuleFile | str:
    """The detectors of a rule file, or why it cannot be read."""
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:
        return f"it is not TOML: {str(error).lower()}"
    rules = data.get("rules")
    if not isinstance(rules, list) or not all(_is_rule(rule) for rule in rules):
        return "it holds no `[[rules]]` as gitleaks has them"
    shared = _allowlists(data)
    detectors: list[Detector] = []
    refused: list[str] = []
    for rule in rules:
        if "regex" not in rule:
            continue  # it is about the path of a file
        made = _detector(rule, shared)
        if made is None:
            refused.append(rule["id"])
        else:
            detectors.append(made)
    return RuleFile(tuple(detectors), tuple(refused))


def _is_rule(rule: Any) -> bool:
    if not isinstance(rule, dict) or not isinstance(rule.get("id"), str):
        return False
    return all(isinstance(rule[name], kind) for name, kind in _FIELDS.items() if name in rule)


_FIELDS: Mapping[str, Any] = {
    "regex": str,
    "secretGroup": int,
    "entropy": int | float,
    "keywords": list,
}


def _detector(rule: Mapping[str, Any], shared: list[Mapping[str, Any]]) -> Detector | None:
    pattern = compile_pattern(str(rule["regex"]))
    if not isinstance(pattern, Pattern):
        return None
    # without `secretGroup` the secret is the first group, or the match of a rule without one
    group = int(rule.get("secretGroup", 0)) or min(pattern.groups, 1)
    if group > pattern.groups:
        return None
    allows = [allow for each in (*shared, *_allowlists(rule)) for allow in _allow(each, pattern)]
    declaration = Declaration(
        name=f"{GROUP}-{rule['id']}",
        groups=(GROUP,),
        pattern=pattern,
        group=group,
        keywords=tuple(map(str, rule.get("keywords", ()))),
        entropy=float(rule["entropy"]) if rule.get("entropy") else None,
    )
    made = declared(declaration, around=_unless(allows))
    return replace(made, evidence=Evidence.GENERIC) if "generic" in rule["id"] else made


def _unless(allows: list[Around]) -> Around:
    return lambda text, start, end: not any(allow(text, start, end) for allow in allows)


def _allowlists(owner: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All allowlists of a rule or of the file; older files have one `allowlist`."""
    found = [owner.get("allowlist"), *_listed(owner.get("allowlists"))]
    return [each for each in found if isinstance(each, dict)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _allow(allowlist: Mapping[str, Any], rule: Pattern) -> Iterator[Around]:
    """What lets a candidate pass as no secret."""
    every = str(allowlist.get("condition", "OR")).upper() in ("AND", "&&")
    if every and ("paths" in allowlist or "commits" in allowlist):
        return  # it never holds: a payload has no path
    target = _TARGETS.get(str(allowlist.get("regexTarget", "")), _secret)
    tests = list(_tests(allowlist, target(rule)))
    if tests:
        quantifier = all if every else any
        yield lambda text, start, end: quantifier(test(text, start, end) for test in tests)


def _tests(allowlist: Mapping[str, Any], target: _Target) -> Iterator[Around]:
    patterns = [compile_pattern(str(text)) for text in _listed(allowlist.get("regexes"))]
    regexes = [pattern for pattern in patterns if isinstance(pattern, Pattern)]
    if regexes:
        yield lambda text, start, end: _any_in(regexes, target(text, start, end))
    words = literals(tuple(map(str, _listed(allowlist.get("stopwords")))))
    if words is not None:
        yield lambda text, start, end: words.search(text[start:end])


def _any_in(patterns: Iterable[Pattern], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


_Target = Callable[[str, int, int], str]


def _secret(rule: Pattern) -> _Target:
    return lambda text, start, end: text[start:end]


def _line(rule: Pattern) -> _Target:
    def target(text: str, start: int, end: int) -> str:
        first = text.rfind("\n", max(start - _LINE, 0), start)
        last = text.find("\n", end, end + _LINE)
        return text[max(first + 1, start - _LINE) : end + _LINE if last < 0 else last]

    return target


def _match(rule: Pattern) -> _Target:
    """The match of the whole rule in which the secret is."""

    def target(text: str, start: int, end: int) -> str:
        secret, around = text[start:end], text[max(start - _MATCH, 0) : end + _MATCH]
        matches = (match.groups[0] for match in rule.iter_groups(around))
        return next((match for match in matches if secret in match), secret)

    return target


_TARGETS: Mapping[str, Callable[[Pattern], _Target]] = {"line": _line, "match": _match}
