"""Bundles: what is read, what is not, and what makes two of them the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd import source as source_module
from policyd.diagnostics import Diagnostic, Level, Span
from policyd.source import MAX_FILE_BYTES, Bundle, DirectorySource, SourceFile, make_bundle
from policyd.source.survey import Entry, Problem, read_content


def write(root: Path, *names: str) -> None:
    """Files that hold their own names."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def read(*paths: Path | str) -> Bundle:
    return DirectorySource(paths).read()


def names(bundle: Bundle, root: Path) -> list[str]:
    return [os.path.relpath(file.name, root) for file in bundle.files]


def told(bundle: Bundle, root: Path) -> list[str]:
    return [str(diagnostic).removeprefix(f"{root}/") for diagnostic in bundle.diagnostics]


# What is read


def test_a_directory_is_read_with_all_that_is_below_it(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", "a.yml", "team/c.yaml", "team/deep/er/d.yaml", "e.yaml/f.yaml")
    bundle = read(tmp_path)
    wanted = ["a.yml", "b.yaml", "e.yaml/f.yaml", "team/c.yaml", "team/deep/er/d.yaml"]
    assert bundle.files == tuple(SourceFile(f"{tmp_path}/{name}", name.encode()) for name in wanted)
    assert (bundle.diagnostics, bundle.name) == ((), str(tmp_path))


def test_what_editors_tests_and_mounts_leave_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "a_test.yaml", "a_test.yml", ".a.yaml", ".a.yaml.swp", "a.yaml~")
    write(tmp_path, "a.yaml.tmp", "4913", "README.md", "a.json", "A.YAML", ".git/b.yaml")
    write(tmp_path, "..v1/a.yaml", "yaml")
    assert names(read(tmp_path), tmp_path) == ["a.yaml"]


def test_a_path_that_is_given_itself_may_have_any_name_but_that_of_a_case_file(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.conf", ".b.yaml", "c_test.yaml", ".dir/d.yaml")
    paths = [tmp_path / name for name in ("a.conf", ".b.yaml", "c_test.yaml", ".dir")]
    assert names(read(*paths), tmp_path) == [".b.yaml", ".dir/d.yaml", "a.conf"]


def test_names_are_shown_as_the_paths_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "policies/a.yaml")
    monkeypatch.chdir(tmp_path)
    for given_path, shown in {
        "policies": "policies/a.yaml",
        "policies/": "policies/a.yaml",
        "./policies": "policies/a.yaml",
        ".": "policies/a.yaml",
        "policies/a.yaml": "policies/a.yaml",
        "../" + tmp_path.name: f"../{tmp_path.name}/policies/a.yaml",
    }.items():
        assert [file.name for file in read(given_path).files] == [shown]


def test_odd_names_can_be_printed(tmp_path: Path) -> None:
    write(tmp_path, "a\nb.yaml", "é\x1b.yaml")
    (tmp_path / os.fsdecode(b"\xff.yaml")).write_text("x")
    assert names(read(tmp_path), tmp_path) == [r"\xff.yaml", r"a\nb.yaml", r"é\x1b.yaml"]


def test_each_real_file_is_read_once_under_its_first_name(tmp_path: Path) -> None:
    write(tmp_path, "z/real.yaml", "other/o.yaml")
    (tmp_path / "link.yaml").symlink_to("z/real.yaml")
    (tmp_path / "again.yaml").symlink_to(tmp_path / "link.yaml")
    (tmp_path / "team").symlink_to("other")
    bundle = read(tmp_path, tmp_path / "z", tmp_path / "z/real.yaml")
    assert names(bundle, tmp_path) == ["again.yaml", "other/o.yaml"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    write(tmp_path, "a/p.yaml")
    (tmp_path / "a/self").symlink_to(".")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to("a")
    assert names(read(tmp_path), tmp_path) == ["a/p.yaml"]


def mount(root: Path, version: str, text: str, file: str = "p.yaml") -> None:
    """Do what the kubelet does when a ConfigMap changes."""
    root.mkdir(exist_ok=True)
    (root / version).mkdir()
    (root / version / file).write_text(text)
    (root / "..data_tmp").symlink_to(version)
    (root / "..data_tmp").rename(root / "..data")
    if not (root / file).is_symlink():
        (root / file).symlink_to(f"..data/{file}")
    for old in root.glob("..v*"):
        if old.name != version:
            shutil.rmtree(old)


def test_a_config_map_is_read_once_through_its_visible_names(tmp_path: Path) -> None:
    mount(tmp_path, "..v1", "one")
    assert read(tmp_path).files == (SourceFile(f"{tmp_path}/p.yaml", b"one"),)
    mount(tmp_path, "..v2", "two")
    assert read(tmp_path).files == (SourceFile(f"{tmp_path}/p.yaml", b"two"),)


# What cannot be read


def test_whatever_cannot_be_read_is_a_diagnostic(tmp_path: Path) -> None:
    write(tmp_path, "good.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "broken.yaml").symlink_to("nothing")
    (tmp_path / "circle.yaml").symlink_to("circle.yaml")
    (tmp_path / "team").symlink_to("unmounted")
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    (tmp_path / "large.yaml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    (tmp_path / "limit.yaml").write_bytes(b"#" * MAX_FILE_BYTES)
    (tmp_path / "notes.txt").symlink_to("nothing")
    bundle = read(tmp_path, tmp_path / "missing", tmp_path / "good.yaml/x", "a\0b")
    assert names(bundle, tmp_path) == ["good.yaml", "limit.yaml"]
    assert told(bundle, tmp_path) == [
        "broken.yaml:1:1: error[unreadable-file]: no such file or directory",
        "circle.yaml:1:1: error[unreadable-file]: too many levels of symbolic links",
        "device.yaml:1:1: error[unreadable-file]: this is not a regular file",
        "good.yaml/x:1:1: error[missing-path]: not a directory",
        f"large.yaml:1:1: error[too-large]: the file is larger than {MAX_FILE_BYTES} bytes",
        "missing:1:1: error[missing-path]: no such file or directory",
        "pipe.yaml:1:1: error[unreadable-file]: this is not a regular file",
        "team:1:1: error[unreadable-file]: no such file or directory",
        r"a\x00b:1:1: error[missing-path]: this is not a path",
    ]


@pytest.fixture
def forbidden() -> Iterator[Path]:
    """Files that may not be read, by whoever runs this; root is somebody else meanwhile."""
    with TemporaryDirectory() as directory:
        root = Path(directory)
        write(root, "a.yaml", "b.yaml", "team/c.yaml")
        root.chmod(0o755)
        (root / "b.yaml").chmod(0)
        (root / "team").chmod(0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        yield root
        os.seteuid(user)
        (root / "team").chmod(0o755)


def test_what_may_not_be_read_is_a_diagnostic(forbidden: Path) -> None:
    bundle = read(forbidden)
    assert names(bundle, forbidden) == ["a.yaml"]
    assert told(bundle, forbidden) == [
        "b.yaml:1:1: error[unreadable-file]: permission denied",
        "team:1:1: error[unreadable-directory]: permission denied",
    ]


def test_a_search_through_too_many_names_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policyd.source.survey.MAX_ENTRIES", 3)
    write(tmp_path, "a/1.yaml", "a/2.yaml", "b/3.yaml")
    assert told(read(tmp_path), tmp_path) == [
        "a:1:1: error[too-many-files]: there are more than 3 files here"
    ]


def test_what_became_unreadable_after_it_was_found_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opened, it would wait for a writer
    (tmp_path / "grown").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    assert read_content(Entry("", "", str(tmp_path / "pipe"))) == b""
    problem = Problem("unreadable-file", "no such file or directory")
    assert read_content(Entry("", "", str(tmp_path / "gone"))) == problem
    grown = read_content(Entry("", "", str(tmp_path / "grown")))
    assert isinstance(grown, Problem)
    assert grown.code == "too-large"


Interference = Callable[[int], None]


@pytest.fixture
def interfere(monkeypatch: pytest.MonkeyPatch) -> Callable[[Interference], None]:
    """Let something happen after each reading of a file; it is told how many there were."""

    def install(action: Interference) -> None:
        count = 0

        def interrupted(entry: Entry) -> bytes | Problem:
            nonlocal count
            content = read_content(entry)
            count += 1
            action(count)
            return content

        monkeypatch.setattr(source_module, "read_content", interrupted)

    return install


def test_files_that_change_while_they_are_read_are_read_again(
    tmp_path: Path, interfere: Callable[[Interference], None]
) -> None:
    write(tmp_path, "a.yaml", "b.yaml")

    def swap(count: int) -> None:
        if count == 1:  # a.yaml was read, b.yaml was not
            (tmp_path / "a.yaml").write_text("new a")
            (tmp_path / "b.yaml").write_text("new b")

    interfere(swap)
    bundle = read(tmp_path)
    assert [file.content for file in bundle.files] == [b"new a", b"new b"]
    assert bundle.diagnostics == ()


def test_files_that_never_stand_still_are_refused(
    tmp_path: Path, interfere: Callable[[Interference], None]
) -> None:
    write(tmp_path, "a.yaml")

    def scribble(count: int) -> None:
        (tmp_path / "a.yaml").write_text("x" * count)

    interfere(scribble)
    assert read(tmp_path).diagnostics == (
        Diagnostic(
            Level.ERROR,
            "unsteady-files",
            Span(str(tmp_path), 1, 1, 1, 1),
            "the files change while they are read",
        ),
    )


# Revisions

CONTENTS = st.dictionaries(
    st.sampled_from(["a.yaml", "b.yml", "d/c.yaml", "d/e/f.yaml", "g.yaml"]),
    st.binary(max_size=4),
    min_size=1,
)


def place(files: dict[str, bytes], root: Path) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@settings(max_examples=40, deadline=None)
@given(CONTENTS, CONTENTS)
def test_the_revision_tells_contents_and_names_and_nothing_else(
    one: dict[str, bytes], other: dict[str, bytes]
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        left = read(place(one, Path(first) / "x"))
        right = read(place(dict(reversed(other.items())), Path(second) / "y/z"))
        assert (left.revision == right.revision) is (one == other)
        assert len(left.revision) == 64


def test_the_order_of_the_paths_makes_no_difference(tmp_path: Path) -> None:
    write(tmp_path, "a/p.yaml", "a/sub/q.yaml", "b/p.yaml")
    paths = [tmp_path / "a", tmp_path / "b", tmp_path / "a/sub", tmp_path / "missing"]
    assert read(*paths).revision == read(*reversed(paths)).revision
    assert read(*paths).files == read(*reversed(paths)).files


def test_what_cannot_be_read_is_part_of_the_revision(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml")
    alone = read(tmp_path).revision
    (tmp_path / "b.yaml").symlink_to("nothing")
    broken = read(tmp_path).revision
    (tmp_path / "b.yaml").unlink()
    os.mkfifo(tmp_path / "b.yaml")
    assert len({alone, broken, read(tmp_path).revision}) == 3
    assert read(tmp_path, tmp_path / "missing").revision != alone


def test_touching_a_file_makes_no_new_revision(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml")
    before = read(tmp_path)
    (tmp_path / "new").write_text("a.yaml")
    (tmp_path / "new").rename(tmp_path / "a.yaml")
    os.utime(tmp_path / "a.yaml", (1, 1))
    assert read(tmp_path) == before


# Bundles that were never on disk


def test_a_bundle_can_be_made_of_texts() -> None:
    bundle = make_bundle({"b.yaml": "é", "a.yaml": b"\xff"}, "tests")
    assert bundle.files == (SourceFile("a.yaml", b"\xff"), SourceFile("b.yaml", "é".encode()))
    assert (bundle.diagnostics, bundle.name) == ((), "tests")
    assert bundle.texts() == {"a.yaml": "\ufffd", "b.yaml": "é"}
    assert make_bundle({"a": "b"}).revision != make_bundle({"ab": ""}).revision
    assert make_bundle({}).files == ()
