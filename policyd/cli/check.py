"""`policyd check`: what is wrong with policies, and with `--prove` what no case shows of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.cli.exits import Exit
from policyd.cli.policies import (
    allow_empty_option,
    compile_paths,
    format_option,
    load_evidence,
    paths_argument,
)
from policyd.cli.render import BAD, GOOD, WARNING, Format, counted, examples, say, say_diagnostics
from policyd.cli.settings import settings_option
from policyd.compiler import Compilation, read_policies
from policyd.diagnostics import Diagnostic, Level, Report
from policyd.source import Bundle
from policyd.testing import CaseFile, Proof
from policyd.testing import prove as find_proof


@click.command(
    "check",
    short_help="Compile policies and say what is wrong with them.",
    epilog=examples(
        "policyd check policies/",
        "policyd check --prove --format github policies/",
    ),
)
@paths_argument
@settings_option
@format_option(Format.TEXT, Format.JSON, Format.GITHUB)
@click.option("--strict", is_flag=True, help="Let warnings fail the check, too.")
@click.option("--prove", is_flag=True, help="Ask whether the cases prove every rule.")
@allow_empty_option
def command(
    paths: Sequence[Path],
    settings_path: Path | None,
    format: Format,
    strict: bool,
    prove: bool,
    allow_empty: bool,
) -> Exit:
    """Compile the policies at or below each PATH and say what is wrong with them.

    Every mistake of every file is told, each with its place and, where there is a guess, with
    what was probably meant. Nothing is served and no payload is needed: a policy set that
    passes here loads. The exit code is 3 when there is an error (or a warning, with --strict).

    With --prove, the case files beside the policies are run, too. A rule is proven when it fires
    in one case and does not in another, and when a case fails for each fault that is put into it
    on purpose: a comparison is flipped, a part of a condition is dropped, a list is cut to its
    first element, `tools` is widened, a severity is lowered, a detector, a rule or a step is taken
    out. What nobody would notice is told with its place; add a case, or take out what has no
    effect. The exit code is 4 when something is not proven.
    """
    bundle, compilation = compile_paths(paths, settings_path, allow_empty=allow_empty)
    texts = bundle.texts()
    proof = None
    diagnostics = compilation.diagnostics
    if prove and compilation.snapshot is not None:
        evidence = load_evidence(paths)
        texts.update(evidence.texts)
        diagnostics = (*diagnostics, *evidence.without(diagnostics))
        if not evidence.broken:
            proof = _prove(bundle, evidence.case_files)
    unproven = () if proof is None else proof.found.unproven
    say_diagnostics((*diagnostics, *unproven), texts, format)
    errors, warnings = _counts(diagnostics)
    if format is Format.TEXT:
        style = BAD if errors else WARNING if warnings else GOOD
        say(_summary(bundle, compilation, diagnostics), style)
    if format is Format.TEXT and proof is not None:
        _say_proof(proof)
    if errors > 0 or (strict and warnings > 0):
        return Exit.BROKEN_POLICIES
    return Exit.FAILED_TESTS if unproven else Exit.FINE


@dataclass(frozen=True, slots=True)
class _Timed:
    """A proof, and the seconds that it took."""

    found: Proof
    seconds: float


def _prove(bundle: Bundle, case_files: Sequence[CaseFile]) -> _Timed:
    started = time.monotonic()
    found = find_proof(read_policies(bundle, Report()), case_files)
    return _Timed(found, time.monotonic() - started)


def _say_proof(proof: _Timed) -> None:
    found = proof.found
    text = (
        f"{found.proven} of {counted(found.rules, 'rule')} proven, "
        f"{found.noticed} of {counted(found.faults, 'fault')} noticed ({proof.seconds:.1f} s)"
    )
    say(text, BAD if found.unproven else GOOD)
    for note in _notes(found):
        say(f"note: {note}", WARNING, err=True)


def _notes(found: Proof) -> Iterator[str]:
    if found.failing:
        yield f"{counted(found.failing, 'case')} failed, which proves nothing: run `policyd test`"
    if found.untried:
        yield f"{counted(found.untried, 'fault')} not tried: there are many in one expression"


def _counts(diagnostics: Sequence[Diagnostic]) -> tuple[int, int]:
    levels = [diagnostic.level for diagnostic in diagnostics]
    return levels.count(Level.ERROR), levels.count(Level.WARNING)


def _summary(bundle: Bundle, compilation: Compilation, diagnostics: Sequence[Diagnostic]) -> str:
    errors, warnings = _counts(diagnostics)
    told = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    files = counted(len(bundle.files), "file")
    snapshot = compilation.snapshot
    if snapshot is None:
        return f"{files}, {told}"
    # a policy with a priority for each phase is two interceptors at one place
    policies = counted(len({each.where for each in snapshot.interceptors}), "policy")
    return f"{policies} in {files}, {told} (generation {snapshot.generation})"
