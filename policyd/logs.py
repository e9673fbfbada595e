"""The log on standard error: lines for people, or one JSON object a line.

Knows how a record is written.  Knows no message, and nothing of who logs.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

_TEXT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
"""What every record has; whatever else there is was given as `extra`."""


class JsonFormatter(logging.Formatter):
    """One record as one JSON object on one line, ASCII only.

    `time` (RFC 3339, UTC), `level`, `logger`, `message`, what the record was given as `extra`,
    and `exception` where there is one.  Where `diagnostics` are given, the message is its
    first line, because the others are their text.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        fields = {key: value for key, value in vars(record).items() if key not in _OWN}
        message = record.getMessage()
        if "diagnostics" in fields:
            message = message.partition("\n")[0]
        written: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
        }
        if record.exc_info:
            written["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return json.dumps({**written, **fields, **written}, default=str)


def set_up_logging(level: str, *, as_json: bool) -> None:
    """Log to stderr from *level* on, warnings of Python as well.

    Never to stdout: in stdio mode that belongs to JSON-RPC.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else logging.Formatter(_TEXT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.captureWarnings(True)
