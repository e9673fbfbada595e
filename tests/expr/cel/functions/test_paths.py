from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.expr.cel.function import NOT_LITERAL
from policyd.expr.cel.functions import FUNCTIONS
from policyd.expression import Budget

Call = Callable[..., Any]
TRICKS = Path(__file__).parents[3] / "testdata" / "tricks" / "paths.json"


def tricks() -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(TRICKS.read_text("utf-8"))["tricks"]
    return found


@pytest.mark.parametrize("trick", tricks(), ids=lambda trick: repr(trick["path"]))
def test_a_path_is_within_or_outside_or_in_doubt(call: Call, trick: dict[str, str]) -> None:
    answers = {
        "within": call("path.within", trick["path"], "/srv/data"),
        "outside": call("path.outside", trick["path"], "/srv/data"),
    }
    assert [name for name, holds in answers.items() if holds] == (
        [] if trick["is"] == "doubtful" else [trick["is"]]
    )


@pytest.mark.parametrize(
    ("path", "root", "outside"),
    [
        ("/etc/passwd", "/etc", False),
        ("/ETC/passwd", "/etc", False),
        ("/etc./passwd", "/etc", False),
        ("/etc::$DATA/x", "/etc", False),
        ("/\uff45tc/passwd", "/etc", False),
        ("/srv/..%2fetc/passwd", "/etc", False),
        ("etc/passwd", "/etc", False),
        ("/srv/a", ["/etc", "/proc"], True),
        ("/proc/self", ["/etc", "/proc"], False),
        ("/a", [], True),
        ("/", "/etc", True),
        ("/etc", "/", False),
        ("src/a", "build", True),
        ("src/../build/a", "build", False),
        ("../src/a", "build", False),
        ("src/a", "../build", False),
        ("/etcetera", "/etc", True),
        ("/" + "\u0301" * 300, "/etc", True),
        ("/...", "/..a", True),
    ],
)
def test_outside_is_what_no_file_system_finds_below_the_root(
    call: Call, path: str, root: Any, outside: bool
) -> None:
    assert call("path.outside", path, root) is outside


@given(st.text(alphabet="ab./\\%2e5cf:\x00", max_size=14), st.sampled_from(["/a", "a", "/a/b"]))
def test_no_path_is_both_within_and_outside(path: str, root: str) -> None:
    budget = Budget(10**6, float("inf"))
    answers = [FUNCTIONS[n].call(budget, path, root) for n in ("path.within", "path.outside")]
    assert answers != [True, True]


@pytest.mark.parametrize(
    "path",
    [
        "/srv/data",
        "/srv/data/",
        "/srv/data/a.txt",
        "/srv//data/./a/../b",
        "/srv/data/a%20b",
        "/srv/data/100%",
        "/srv/data/100%25",
        "/srv/data/a%2fb",
        "/srv/data/a\\b",
        "/srv/data/..a",
        "/srv/data/...",
        "/srv/data/x:y",
        "/srv/data/😀",
        "/srv/data/\ud800",
        "/../srv/data/a",
        "//srv/data/a",
        "file:///srv/data/a",
        "FILE://LocalHost/srv/data/a",
        "file:/srv/data/a",
        "file:///srv/%64ata/a%20b",
    ],
)
def test_a_path_below_the_root_is_within(call: Call, path: str) -> None:
    assert call("path.within", path, "/srv/data") is True


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "srv/data/a",
        "~/data",
        " /srv/data/a",
        "/srv",
        "/srv/data-private/x",
        "/srv/dat",
        "/SRV/DATA/a",
        "/srv/data/../../etc/passwd",
        "/srv/data/..",
        "/srv/data/a/../..",
        "/srv/data/..%2f..%2fetc",
        "/srv/data/%2e%2e/x",
        "/srv/data/%252e%252e/x",
        "/srv/data/%25252e%25252e%25252fx",
        "/srv/data/..\\x",
        "/srv/data/..%5c..%5cetc",
        "/srv/data\\..\\..\\etc",
        "/srv\\data\\a",
        "\\srv\\data\\a",
        "\\\\srv\\data\\a",
        "C:\\srv\\data\\a",
        "/srv/%64ata/a",
        "/srv/data/\x00x",
        "/srv/data/%00x",
        "/srv/data/a\nb",
        "/srv/data/\x7f",
        "/srv/data/\x9b",
        "/srv/data/%c0%ae%c0%ae/x",
        "/srv/data/%ff",
        "/srv/data/%\ud800",
        "/srv/data/" + "%" + "25" * 20 + "2e",
        "/srv/data/" + "a" * 40_000,
        "http://host/srv/data/a",
        "data:/srv/data/a",
        "file://host/srv/data/a",
        "file:srv/data/a",
        "file:///srv/data/../x",
        "file:///srv/data/%2e%2e/x",
        "file:///srv/data/a?/../../../etc",
        "file:///srv/data/a#x",
        "file:///srv/data/%00",
    ],
)
def test_any_other_path_is_not(call: Call, path: str) -> None:
    assert call("path.within", path, "/srv/data") is False


@pytest.mark.parametrize(
    ("path", "root", "within"),
    [
        ("/anything", "/", True),
        ("/..", "/", True),
        ("a", "/", False),
        ("/srv/my data/a", "/srv/my data", True),
        ("/srv/my%20data/a", "/srv/my data", False),
        ("file:///srv/my%20data/a", "/srv/my data", True),
        ("/srv/my data/a", "file:///srv/my%20data", True),
        ("/srv/data/a", "/srv/x/../data/", True),
        ("/b/x", ["/a", "/b"], True),
        ("/c/x", ["/a", "/b"], False),
        ("/a/x", [], False),
        ("src/a", "src", True),
        ("src/../a", "src", False),
        ("./src/./a", "src", True),
        ("a", ".", True),
        ("../a", ".", False),
        ("/a", ".", False),
        ("../a", "..", True),
        ("../../a", "..", False),
    ],
)
def test_roots_are_paths_uris_or_lists_of_them(
    call: Call, path: str, root: Any, within: bool
) -> None:
    assert call("path.within", path, root) is within


@pytest.mark.parametrize("name", ["path.within", "path.outside"])
@pytest.mark.parametrize("root", ["", "~", "http://host/", "/a\x00", "file:a", ["/a", ""]])
def test_a_root_that_is_no_path_is_refused(refuse: Call, root: Any, name: str) -> None:
    assert refuse(name, "/a", root) == f"`{name}`: the root is not a POSIX path"
    check = FUNCTIONS[name].literal
    assert check is not None
    assert check((NOT_LITERAL, root)) == f"`{name}`: the root is not a POSIX path"


@pytest.mark.parametrize("name", ["path.within", "path.outside"])
@pytest.mark.parametrize(
    "root", ["/etc/*", "/srv/**", "/a/?", "$HOME/x", "/home/$USER", ["/a", "/b/*"]]
)
def test_a_root_that_is_a_pattern_would_guard_nothing(refuse: Call, root: Any, name: str) -> None:
    assert refuse(name, "/a", root).startswith(f"`{name}`: a root ")
    check = FUNCTIONS[name].literal
    assert check is not None
    assert str(check((NOT_LITERAL, root))).startswith(f"`{name}`: a root ")


def test_only_texts_are_paths(refuse: Call) -> None:
    assert refuse("path.within", 1, "/a") == "`path.within` does not take int and string"
    assert refuse("path.within", "/a", 1) == "`path.within` does not take string and int"
    assert refuse("path.within", "/a", [1]) == "`path.within` does not take string and int"
    assert refuse("path.normalize", 1) == "`path.normalize` does not take int"


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a//b/./c/../d/", "/a/b/d"),
        ("/", "/"),
        ("/..", "/"),
        ("", None),
        (".", "."),
        ("a/..", "."),
        ("../a/../..", "../.."),
        ("\\a\\..\\b", "/b"),
        ("/a/%252e%252e/b", "/b"),
        ("file:///a/b%20c", "/a/b c"),
        ("100%", "100%"),
    ],
)
def test_normalizing_leaves_one_spelling(
    call: Call, refuse: Call, path: str, normal: str | None
) -> None:
    if normal is None:
        assert refuse("path.normalize", path) == "the path is empty"
    else:
        assert call("path.normalize", path) == normal


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("http://a/", "the text is a URI, but no `file:` URI"),
        ("file:///a?b", "the `file:` URI has a query or a fragment"),
        ("file://host/a", "the `file:` URI names another machine"),
        ("file:a", "the `file:` URI has no absolute path"),
        ("/%ff", "the percent-encoding is not UTF-8"),
        ("/a\n", "the path has a control character"),
        ("/" + "a" * 32_768, "the path is too long"),
        ("/%" + "25" * 20 + "2e", "the path is percent-encoded too often"),
    ],
)
def test_what_cannot_be_normalized_is_refused(refuse: Call, path: str, reason: str) -> None:
    assert refuse("path.normalize", path) == reason


@given(st.text(alphabet="ab./\\%2e5cf:\x00", max_size=14))
def test_what_is_within_is_within_when_normalized(path: str) -> None:
    budget = Budget(10**6, float("inf"))
    within = FUNCTIONS["path.within"].call
    if within(budget, f"/a/{path}", "/a"):
        normal = FUNCTIONS["path.normalize"].call(budget, f"/a/{path}")
        assert normal == "/a" or normal.startswith("/a/")
        assert ".." not in normal.split("/")
        assert FUNCTIONS["path.normalize"].call(budget, normal) == normal
