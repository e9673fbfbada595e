"""Every option of `policyd serve`, declared once.

`Settings` is the table: the flags of the command line, the variables, the keys of
`policyd.yaml`, its JSON Schema and the table in the documentation all derive from its fields.
Knows no file, no environment and no command line.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from policyd.settings.kinds import Address, Choice, File, Flag, Many, OptionKind, Text, Whole
from policyd.wire.dialect import Dialect


class Exposure(StrEnum):
    """As what policies are listed.

    policies: one interceptor for each.
    bundle: one validator and one mutator, each of which runs all policies of its kind.
    """

    POLICIES = "policies"
    BUNDLE = "bundle"


class LogLevel(StrEnum):
    """How much is told on stderr."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How the log is written: for people, or as one JSON object a line."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class About:
    """What belongs to an option beside its name, its type and its default.

    help: one sentence.  instead_of: the option that has no meaning beside this one; of the two,
    the one that was said in the stronger place counts.
    """

    kind: OptionKind
    help: str
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What `policyd serve` was told, by flags, variables and `policyd.yaml` together."""

    paths: Annotated[
        tuple[Path, ...], About(Many(File("PATH")), "Serve the policies at or below this path.")
    ] = ()
    http: Annotated[
        tuple[str, int], About(Address(), "Serve streamable HTTP at this address, path /mcp.")
    ] = ("127.0.0.1", 8765)
    stdio: Annotated[
        bool, About(Flag(), "Serve the standard input and output instead.", instead_of="http")
    ] = False
    dialect: Annotated[
        Dialect,
        About(Choice(Dialect), "What every SDK decodes, or exactly the shape of the SEP."),
    ] = Dialect.UNIVERSAL
    expose: Annotated[
        Exposure,
        About(
            Choice(Exposure),
            "One interceptor for each policy, or one validator and one mutator for all.",
        ),
    ] = Exposure.POLICIES
    host_names: Annotated[
        tuple[str, ...],
        About(
            Many(Text("NAME")),
            "A further host name that HTTP requests may use; loopback names always may.",
        ),
    ] = ()
    token_file: Annotated[
        Path | None,
        About(File("FILE"), "Callers must send a token of this file: one a line, `NAME: TOKEN`."),
    ] = None
    jwks: Annotated[
        str | None,
        About(
            Text("FILE|URL"),
            "Callers must send a JWT that is signed with a key of this JWK Set.",
            instead_of="token_file",
        ),
    ] = None
    jwt_audience: Annotated[
        str | None, About(Text("AUDIENCE"), "The audience that a JWT must be for.")
    ] = None
    jwt_issuer: Annotated[
        str | None, About(Text("ISSUER"), "The issuer that a JWT must be from.")
    ] = None
    tls_cert: Annotated[
        Path | None, About(File("FILE"), "The server's certificate, PEM, for HTTPS.")
    ] = None
    tls_key: Annotated[
        Path | None, About(File("FILE"), "The private key of the certificate, PEM.")
    ] = None
    tls_client_ca: Annotated[
        Path | None,
        About(File("FILE"), "Callers must have a certificate that one of these CAs has signed."),
    ] = None
    insecure: Annotated[
        bool, About(Flag(), "Let everybody call who can reach an address beyond this machine.")
    ] = False
    max_concurrency: Annotated[
        int, About(Whole(1, 100_000), "Requests at once; further ones are answered 503.")
    ] = 256
    max_rate: Annotated[
        int,
        About(Whole(0, 1_000_000), "Requests a second of one client; 0 for as many as it likes."),
    ] = 0
    allow_empty: Annotated[bool, About(Flag(), "Accept paths that hold no policy at all.")] = False
    log_level: Annotated[LogLevel, About(Choice(LogLevel), "How much is told on stderr.")] = (
        LogLevel.INFO
    )
    log_format: Annotated[
        LogFormat, About(Choice(LogFormat), "Lines for people, or one JSON object a line.")
    ] = LogFormat.TEXT


def access_flaw(settings: Settings) -> str | None:
    """What is wrong with how callers are told apart, or None.

    An address that other machines can reach needs to know who calls, or to be told that it
    need not.
    """
    if settings.jwks is not None and settings.jwt_audience is None:
        return "`--jwks` needs `--jwt-audience`: a token that is meant for others must not count"
    if settings.jwks is None and (settings.jwt_audience or settings.jwt_issuer):
        return "`--jwt-audience` and `--jwt-issuer` go with `--jwks` only"
    if (settings.tls_cert is None) is not (settings.tls_key is None):
        return "`--tls-cert` and `--tls-key` go together"
    if settings.tls_client_ca is not None and settings.tls_cert is None:
        return "`--tls-client-ca` needs `--tls-cert` and `--tls-key`"
    known = (settings.token_file, settings.jwks, settings.tls_client_ca)
    if settings.stdio or settings.insecure or any(known) or _is_loopback(settings.http[0]):
        return None
    return (
        f"`{settings.http[0]}` can be reached from other machines: say who may call with "
        "`--token-file`, `--jwks` or `--tls-client-ca`, or let everybody call with `--insecure`"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table.  `name` is that of the field."""

    name: str
    kind: OptionKind
    default: Any
    help: str
    instead_of: str | None = None

    @property
    def flag(self) -> str:
        """As on the command line: `--log-level`.  One that repeats is in the singular."""
        name = self.name.removesuffix("s") if isinstance(self.kind, Many) else self.name
        return f"--{name.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """As in the environment: `POLICYD_LOG_LEVEL`."""
        return f"{PREFIX}{self.name.upper()}"

    @property
    def key(self) -> str:
        """As in `policyd.yaml`: `logLevel`."""
        first, *rest = self.name.split("_")
        return first + "".join(word.title() for word in rest)


PREFIX = "POLICYD_"
"""How the variables begin."""


@cache
def options() -> tuple[Option, ...]:
    """The rows of the table, in the order in which people read them."""
    hints = get_type_hints(Settings, include_extras=True)
    rows = []
    for each in fields(Settings):
        about: About = hints[each.name].__metadata__[0]
        rows.append(Option(each.name, about.kind, each.default, about.help, about.instead_of))
    return tuple(rows)
