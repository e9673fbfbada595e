"""The log as JSON."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from policyd.logs import JsonFormatter


def line(record: logging.LogRecord) -> dict[str, Any]:
    written = JsonFormatter().format(record)
    assert "\n" not in written
    assert written.isascii()
    value: dict[str, Any] = json.loads(written)
    return value


def made(message: str, *args: object, **fields: object) -> logging.LogRecord:
    record = logging.makeLogRecord({"name": "a.b", "msg": message, "args": args, **fields})
    record.created, record.levelno, record.levelname = 0.25, logging.WARNING, "WARNING"
    return record


PLAIN = {"time": "1970-01-01T00:00:00.250+00:00", "level": "warning", "logger": "a.b"}


@pytest.mark.parametrize(
    ("record", "rest"),
    [
        (made("ü %s\nb", 1), {"message": "ü 1\nb"}),
        (made("a", policy="p", n={1}), {"message": "a", "policy": "p", "n": "{1}"}),
        (made("a\nb", diagnostics=[]), {"message": "a", "diagnostics": []}),
        (made("a", color_message="c", level="mine"), {"message": "a"}),
    ],
)
def test_a_record_is_one_line_with_its_fields(
    record: logging.LogRecord, rest: dict[str, Any]
) -> None:
    assert line(record) == {**PLAIN, **rest}


def test_an_exception_is_a_field() -> None:
    try:
        raise ValueError("x")
    except ValueError:
        record = made("a", exc_info=sys.exc_info())
    assert line(record)["exception"].splitlines()[-1] == "ValueError: x"


@pytest.mark.parametrize("as_json", [True, False])
def test_every_logger_and_warning_goes_to_stderr(as_json: bool) -> None:
    script = (
        "import logging, warnings; from policyd.logs import set_up_logging\n"
        f"set_up_logging('info', as_json={as_json})\n"
        "logging.getLogger('uvicorn.error').info('one')\n"
        "warnings.warn('two'); logging.debug('three')\n"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == ""
    assert ("one" in ended.stderr, "two" in ended.stderr, "three" in ended.stderr) == (1, 1, 0)
    if as_json:
        loggers = [json.loads(text)["logger"] for text in ended.stderr.splitlines()]
        assert loggers == ["uvicorn.error", "py.warnings"]
