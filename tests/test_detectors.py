from __future__ import annotations

import base64
import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.detectors import (
    DETECTORS,
    GROUPS,
    Detector,
    Evidence,
    Match,
    Scanner,
    resolve,
    scanner,
)
from policyd.detectors.credentials import MAX_JWT_HEADER
from policyd.detectors.detector import ALNUM, compiled, filler
from policyd.errors import EvaluationError
from policyd.expression import Budget

EVERYTHING = scanner(["all"])
DEFAULT = scanner(["secrets", "pii"])
BY_NAME = pytest.mark.parametrize("detector", DETECTORS.values(), ids=lambda d: d.name)

DASHES = "-" * 5
KEY_LINES = tuple(filler(str(number), 64, ALNUM + "+/") for number in range(3))
VISA = "4000 0012 3456 " + "7899"
GITHUB = DETECTORS["github-token"].sample()
JWT = DETECTORS["jwt"].sample()


PASSWORD = "q8Zr2" + "Lw9Xv"


def budget(steps: int) -> Budget:
    return Budget(steps, time.monotonic() + 600)


def taken(text: str, *names: str) -> list[str]:
    """What the named detectors take out of a text."""
    return [text[match.start : match.end] for match in scanner(names).find(text)]


def pem(label: str, body: str, end: bool = True) -> str:
    header = f"{DASHES}BEGIN {label}{DASHES}\n{body}"
    return f"{header}\n{DASHES}END {label}{DASHES}" if end else header


def secret_of(detector: Detector) -> str:
    """The part of the sample that is to be found."""
    (match,) = scanner([detector.name]).find(detector.sample())
    return detector.sample()[match.start : match.end]


# All detectors


@BY_NAME
def test_a_sample_is_found_once_and_under_its_own_name(detector: Detector) -> None:
    text = detector.sample()
    for finder in (scanner([detector.name]), EVERYTHING):
        (match,) = finder.find(text)
        assert match.detector == detector.name
        assert finder.found(text)
    assert text == detector.sample()


@BY_NAME
def test_its_own_look_alikes_are_left_alone(detector: Detector) -> None:
    assert detector.look_alikes
    for text in detector.look_alikes:
        assert scanner([detector.name]).find(text) == []
        assert DEFAULT.find(text) == []
        assert not DEFAULT.found(text)


@BY_NAME
def test_a_declaration_is_whole(detector: Detector) -> None:
    assert detector.name == detector.name.lower().replace("_", "-")
    assert detector.groups
    assert all(group in GROUPS for group in detector.groups)
    assert all(compiled(pattern).groups == 1 for pattern in detector.patterns)
    assert not any(compiled(pattern).matches_empty for pattern in detector.patterns)


@BY_NAME
@settings(max_examples=25)
@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_a_sample_is_covered_whatever_stands_around_it(
    detector: Detector, before: str, after: str
) -> None:
    text = f"{before}\n{detector.sample()}\n{after}"
    secret = secret_of(detector)
    start = text.index(secret, len(before))
    matches = scanner([detector.name]).find(text)
    assert any(match.start <= start and start + len(secret) <= match.end for match in matches)


@BY_NAME
def test_two_in_a_row_are_two(detector: Detector) -> None:
    text = f"{detector.sample()}\n{detector.sample()}"
    assert [match.detector for match in scanner([detector.name]).find(text)] == [detector.name] * 2


# Look-alikes

BENIGN = (
    "",
    "tabId: 1234567890",
    "note_id 1917043659912705296",
    "https://git.example/acme/site/issues/123#issuecomment-4345955198",
    "commit 3f1c9a0b7d2e4f5a6b7c8d9e0f1a2b3c4d5e6f70",
    "run 8f14e45f-ceea-467f-9d0c-1c2d3e4f5a6b",
    "run 40000012-3456-7899-" + "4000-001234567899",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "sha256:" + "0123456789abcdef" * 4,
    "const BRANCH_ALERT_KEY = 'brain-sync-wrong-branch';",
    "took 1785600000009 ms",
    "v10.15.7.12 at 192.0.2.10",
    "2024-01-02T03:04:05.123456789Z",
    "isbn 978-0-306-40615-7",
    "lat 48.8566140000000, lon 2.35222190000000",
    '{"type":"text","text":"hello","id":12345678901234567}',
    "4111 items, 4222 users, 4333 groups, 4444 roles",
    "the bearer of this letter is a friend",
    "basic understanding of arithmetic",
    "password: ********",
    "@types/node@18.2.0 and lodash@4.17.21",
    "see RFC 8259 and ISO 13616",
    "a\x00b" * 10,
)


@pytest.mark.parametrize("text", BENIGN)
def test_an_everyday_text_is_left_alone(text: str) -> None:
    sought = scanner(["secrets", "secrets.generic", "pii", "invisible"])
    assert sought.find(text) == []
    assert not sought.found(text)


# Credentials


@pytest.mark.parametrize(
    "label",
    [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "DSA PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ],
)
def test_a_key_block_of_any_kind_is_taken_whole(label: str) -> None:
    block = pem(label, "\n".join(KEY_LINES))
    assert taken(f"a {block} b {block} c", "private-key") == [block, block]


@pytest.mark.parametrize(
    "block",
    [
        pem("PRIVATE KEY", "\n".join(KEY_LINES)).replace("\n", "\\n"),
        pem("PRIVATE KEY", "\n".join(KEY_LINES)).replace("\n", "\\\\n"),
        pem("PRIVATE KEY", "\r\n".join(KEY_LINES)),
        pem(
            "RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n" + KEY_LINES[0]
        ),
        pem("PRIVATE KEY", "\n".join("> " + line for line in KEY_LINES)),
        pem("SSH2 ENCRYPTED PRIVATE KEY", KEY_LINES[0]).replace(DASHES, "----"),
        pem("SSH2 ENCRYPTED PRIVATE KEY", KEY_LINES[0])
        .replace(f"{DASHES}\n", " ----\n")
        .replace(f"\n{DASHES}", "\n---- ")
        .replace(f"{DASHES}BEGIN", "---- BEGIN")
        .replace(DASHES, " ----"),
        pem("PRIVATE KEY", "\n".join(KEY_LINES), end=False),
        pem("PRIVATE KEY", KEY_LINES[0][:20], end=False),
    ],
)
def test_a_key_block_is_found_in_any_writing(block: str) -> None:
    assert taken(f'{{"key": "{block}', "private-key") == [block]


def test_a_key_block_without_a_key_is_documentation() -> None:
    assert taken(pem("PRIVATE KEY", "...") + " and " + KEY_LINES[0], "private-key") == []


def jose(header: bytes, *rest: str) -> str:
    return ".".join((base64.urlsafe_b64encode(header).decode().rstrip("="), *rest))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (jose(b'{"alg":"none"}', "e30aa", ""), True),
        (jose(b'{ "typ":"JWT", "alg":"HS256"}', "eyJhIjoxfQ", "c2ln"), True),
        (jose(b'{\n "alg": "HS256"}', "eyJhIjoxfQ", "c2ln"), True),
        (jose(b'{\r\n "alg": "HS256"}', "eyJhIjoxfQ", "c2ln"), True),
        (jose(b'{"alg":"dir","enc":"A256GCM"}', "", "aXZpdml2", "Y2lwaGVy", "dGFnZw"), True),
        (jose(b'{"typ":"JWT","kid":"1"}', "eyJhIjoxfQ", "c2ln"), False),
        (jose(b'{"alg":256,"kid":"1"}', "eyJhIjoxfQ", "c2ln"), False),
        (jose(b'{"alg":"HS256","', "eyJhIjoxfQ", "c2ln"), False),
        (jose(b'{"\xff\xff\xff\xff\xff\xff', "eyJhIjoxfQ", "c2ln"), False),
        (jose(b'{"alg":"HS256","a":' + b"[" * 2000, "eyJhIjoxfQ", "c2ln"), False),
        (jose(b'{"alg":"HS256"' + b" " * MAX_JWT_HEADER + b"}", "eyJhIjoxfQ", "c2ln"), False),
    ],
)
def test_a_jwt_is_what_has_a_header_with_an_algorithm(text: str, found: bool) -> None:
    assert taken(f"token {text} ", "jwt") == ([text] if found else [])


AWS_SECRET = filler("a secret of aws", 40, ALNUM + "+/")
AWS_ID = DETECTORS["aws-access-key-id"].sample()


@pytest.mark.parametrize(
    "before",
    [
        "aws_secret_access_key = ",
        'AWS_SECRET_ACCESS_KEY="',
        '\\"SecretAccessKey\\": \\"',
        "Secret access key is: ",
        f"{AWS_ID},",
        f"{AWS_ID} : ",
    ],
)
def test_an_aws_secret_needs_a_word_beside_it(before: str) -> None:
    assert taken(f'{before}{AWS_SECRET}"', "aws-secret-access-key") == [AWS_SECRET]
    assert taken(f"{AWS_SECRET}", "aws-secret-access-key") == []
    assert taken(f"{before}{AWS_SECRET}A", "aws-secret-access-key") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x AK" + "IA" + "ABCDEFGHIJKLMNOP y", True),
        ("key_AS" + "IA" + "ABCDEFGHIJKLMNO7", True),
        ("A3" + "TX" + "ABCDEFGHIJKLMNO7", True),
        ("xAK" + "IA" + "ABCDEFGHIJKLMNO7", False),
        ("AK" + "IA" + "ABCDEFGHIJKLMNO78", False),
        ("AK" + "IA" + "ABCDEFGHIJKLMNOp", False),
    ],
)
def test_an_aws_key_id_is_twenty_capitals_and_digits(text: str, found: bool) -> None:
    assert bool(taken(text, "aws-access-key-id")) is found


@pytest.mark.parametrize(
    "prefix", ["gh" + "p_", "gh" + "o_", "gh" + "u_", "gh" + "s_", "gh" + "r_"]
)
@pytest.mark.parametrize("length", [20, 25, 36, 80])
def test_a_github_token_needs_no_checksum_and_no_exact_length(prefix: str, length: int) -> None:
    token = prefix + filler("x", length)
    assert taken(f"VALUES ('{token}')", "secrets") == [token]


def test_newer_github_tokens_are_taken_whole() -> None:
    fine_grained = "github" + "_pat_" + filler("a", 22) + "_" + filler("b", 59)
    of_an_app = "gh" + "s_123456_" + JWT
    assert taken(f"{fine_grained} {of_an_app}", "github-token") == [fine_grained, of_an_app]


@pytest.mark.parametrize(
    ("token", "name"),
    [
        ("xo" + "xp-1234567890-1234567890-abcdef", "slack-token"),
        ("xox" + "e.xo" + "xp-1-" + filler("s", 40), "slack-token"),
        ("xo" + "xd-" + filler("d", 30) + "%2B" + "1", "slack-token"),
        ("xa" + "pp-1-A0123456789-1234567890123-" + filler("x", 64), "slack-token"),
        ("r" + "k_live_" + filler("r", 16), "stripe-live-key"),
        ("gl" + "pat-" + filler("g", 27) + ".01.1a2b3c4d5", "gitlab-token"),
        ("s" + "k-" + filler("o", 48), "openai-key"),
        ("ya" + "29." + filler("y", 60), "google-oauth-secret"),
        ("S" + "K" + "9" + filler("t", 31, "0123456789abcdef"), "twilio-key"),
        ("S" + "K" + "0" + filler("t", 31, "0123456789abcdef"), "twilio-key"),
    ],
)
def test_the_other_forms_of_a_token_are_found_too(token: str, name: str) -> None:
    assert EVERYTHING.find(f"see {token}, please") == [Match(4, 4 + len(token), name)]


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("https://svc:p%40ss@db.example/x", ["svc:p%40ss"]),
        ("wss://user:p@ss@host.example/ws", ["user:p@ss"]),
        ("redis://:hunter2@cache:6379/0", [":hunter2"]),
        ("https://u:$ecret1@h.example", ["u:$ecret1"]),
        ("https://$USER:${PASS}@h.example", []),
        ("https://a:{secret}@h.example", []),
        ("https://a:[redacted]@h.example", []),
        ("https://a:%(pw)s@h.example", []),
        ("https://a:xxxx@h.example", []),
        ("https://a:sha256:" + "0" * 64 + "@h.example", []),
        ("https://git@h.example and https://h.example:80/@x", []),
    ],
)
def test_userinfo_with_a_password_is_taken_whole(text: str, secrets: list[str]) -> None:
    assert taken(text, "basic-auth-url") == secrets
    assert taken(text, "secrets", "pii") == secrets


def test_a_telegram_token_is_found_in_a_path() -> None:
    token = DETECTORS["telegram-bot-token"].sample()
    assert taken(f"https://api.telegram.example/bot{token}/send", "secrets") == [token]


def test_credentials_of_a_basic_header_are_found_by_what_they_decode_to() -> None:
    good = base64.b64encode(b"deploy-bot:" + GITHUB.encode()).decode()
    no_colon = base64.b64encode(b"nothing of the kind").decode()
    binary = base64.b64encode(bytes(range(128, 140))).decode()
    assert taken(f"Authorization: Basic {good}", "secrets") == [good]
    for other in (no_colon, binary, "abcdefghi"):
        assert taken(f"Authorization: Basic {other}", "secrets") == []


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("Authorization: Bearer abcdef0123456789ABCDEF==", ["abcdef0123456789ABCDEF=="]),
        ("bearer=a1b2c3d4e5f6a7b8c9d0", ["a1b2c3d4e5f6a7b8c9d0"]),
        ("Bearer aaaaaaaaaaaaaaa1", []),
        ("Bearer 12345678901234567890", []),
    ],
)
def test_a_bearer_token_looks_drawn_at_random(text: str, secrets: list[str]) -> None:
    assert taken(text, "bearer-token") == secrets


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        (f'{{"client_secret": "{PASSWORD}"}}', [PASSWORD]),
        (f'{{\\"password\\": \\"{PASSWORD}\\"}}', [PASSWORD]),
        (f"password: {PASSWORD.lower()}", [PASSWORD.lower()]),
        ("password: correct-horse-battery-1", []),
        ("DB_PASSWORD=hunter2hunter2", []),
        (f"DB_PASSWORD={PASSWORD}-x", [f"{PASSWORD}-x"]),
        (f"api_key: {PASSWORD}&page=2", [PASSWORD]),
        ("password: correcthorsebattery", []),
        ("password: 1234567890", []),
        ("password = base64.b64encode(x)", []),
        ("private_key: x25519.X25519PrivateKey", []),
        ("secret: ${SECRET_1_FROM_ENV}", []),
        ("secret = https://docs.example.com/a1B2", []),
        ("api_key=~/keys/Service-1.pem", []),
        ("password: aaaaaaaaaaaaaa1111", []),
        (f"password: a.1{PASSWORD}", [f"a.1{PASSWORD}"]),
    ],
)
def test_an_assignment_is_a_secret_only_if_its_value_looks_like_one(
    text: str, secrets: list[str]
) -> None:
    assert taken(text, "generic-secret") == secrets
    assert taken(text, "secrets", "pii") == []


# Personal data


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        (VISA.replace(" ", ""), [VISA.replace(" ", "")]),
        (VISA, [VISA]),
        (VISA.replace(" ", "-"), [VISA.replace(" ", "-")]),
        ("2221001234567" + "896", ["2221001234567" + "896"]),
        ("6200001234567890" + "128", ["6200001234567890" + "128"]),
        ("6200 0012 3456 7890 " + "128", ["6200 0012 3456 7890 " + "128"]),
        ("620000 1234567890" + "128", ["620000 1234567890" + "128"]),
        ("3700 001234 " + "56784", ["3700 001234 " + "56784"]),
        ("3000 000000 " + "0004", ["3000 000000 " + "0004"]),
        (f"({VISA})", [VISA]),
        (f"pay {VISA}, please", [VISA]),
        (f"1234 {VISA} 123 09/27", [VISA]),
        (f"4123 {VISA}", [VISA]),
        (f"{VISA} {VISA}", [VISA, VISA]),
        (VISA[:-1] + "8", []),
        ("178560000000" + "9", []),
        ("174791922056722" + "3", []),
        ("id=" + VISA.replace(" ", "") + "001", []),
        (VISA.replace(" ", "\n"), []),
        (VISA.replace(" ", "."), []),
        (VISA.replace(" ", "  "), []),
        (VISA.replace(" ", "-", 1), []),
        ("0." + VISA.replace(" ", ""), []),
        (VISA.replace(" ", "") + ".00", []),
        ("1-" + VISA.replace(" ", "-"), []),
        (VISA.replace(" ", "-") + "-1", []),
        ("x" + VISA.replace(" ", ""), []),
        ("400000123456" + "0", []),
        ("3530 1113 3330 " + "0000", ["3530 1113 3330 " + "0000"]),
        ("6011 0000 0000 " + "0004", ["6011 0000 0000 " + "0004"]),
        ("6440 0000 0000 " + "0005", ["6440 0000 0000 " + "0005"]),
        ("5000 0000 0000 " + "0009", []),
    ],
)
def test_a_card_has_a_layout_an_issuer_and_a_checksum(text: str, cards: list[str]) -> None:
    assert taken(text, "payment-card") == cards
    assert taken(text, "all") == cards


IBAN = "GB82 WEST 1234 5698 " + "7654 32"


@pytest.mark.parametrize(
    ("text", "ibans"),
    [
        (IBAN, [IBAN]),
        (IBAN.replace(" ", ""), [IBAN.replace(" ", "")]),
        (f"{IBAN} CODE 1234 AB", [IBAN]),
        (f"to {IBAN}, now", [IBAN]),
        (IBAN.replace("82", "83"), []),
        ("GB82" + "WEST" + "1234", []),
        ("XX" + IBAN[2:], []),
        ("X" + IBAN, []),
        (IBAN.replace(" ", "\n"), []),
    ],
)
def test_an_iban_has_a_country_a_length_and_a_checksum(text: str, ibans: list[str]) -> None:
    assert taken(text, "iban") == ibans


SSN = "219" + "-09-" + "9999"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (SSN, [SSN]),
        (f"({SSN})", [SSN]),
        (f"{SSN} {SSN}", [SSN, SSN]),
        (f"SSN {SSN} 4 items", [SSN]),
        (SSN.replace("-", " "), [SSN.replace("-", " ")]),
        ("ssn: " + SSN.replace("-", ""), [SSN.replace("-", "")]),
        ('{"customer_ssn": "' + SSN.replace("-", "") + '"}', [SSN.replace("-", "")]),
        ("Social Security number " + SSN.replace("-", ""), [SSN.replace("-", "")]),
        (SSN.replace("-", ""), []),
        ("ssn " + SSN.replace("-", "") + "1", []),
        ("ssn 000123456", []),
        (f"{SSN}-1", []),
        (f"1-{SSN}", []),
        ("7 219 09 9999 8", []),
    ],
)
def test_a_social_security_number_stands_alone_and_can_be_issued(
    text: str, numbers: list[str]
) -> None:
    assert taken(text, "us-ssn") == numbers


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("dana.olsen@example.com.", ["dana.olsen@example.com"]),
        (
            "contact@example.com support@example.org,admin@example.net",
            ["contact@example.com", "support@example.org", "admin@example.net"],
        ),
        ("see https://x.example/?u=dana@example.com, thanks", ["dana@example.com"]),
        ("mailto:dana+tag@mail.example.co.uk?x", ["dana+tag@mail.example.co.uk"]),
        ("<o'neil@example.ie>", ["o'neil@example.ie"]),
        ("jörg@bücher.example", ["jörg@bücher.example"]),
        ("联系dana@example.com吧", ["dana@example.com"]),
        ("\U0001f600\U0001f468\u200d\U0001f469 é dana@example.com א", ["dana@example.com"]),
        ("dana@163.example", ["dana@163.example"]),
        ("a" * 63 + "@example.com", ["a" * 63 + "@example.com"]),
        ("0" * 64 + "@example.com", []),
        ("dana@example", []),
        ("dana@example.c", []),
        ("https://svc:p%40ss@db.example/", []),
    ],
)
def test_an_address_is_taken_exactly(text: str, addresses: list[str]) -> None:
    assert taken(text, "email") == addresses


# Scanning


def test_overlapping_matches_become_one_that_covers_them_all() -> None:
    text = f"Authorization: Bearer {JWT}"
    assert EVERYTHING.find(text) == [Match(22, len(text), "jwt")]
    text = f"https://bot:{GITHUB}@github.com/acme/site"
    assert EVERYTHING.find(text) == [Match(8, 12 + len(GITHUB), "basic-auth-url")]
    text = f"password = {GITHUB}"
    assert EVERYTHING.find(text) == [Match(11, len(text), "github-token")]


def detector(name: str, pattern: str, evidence: Evidence = Evidence.SHAPE) -> Detector:
    return Detector(name, ("pii",), evidence, (pattern,), str)


@pytest.mark.parametrize(
    ("detectors", "match"),
    [
        # stronger evidence, then the longer match, then the one given first
        (
            [detector("a", "(abcdef)"), detector("b", "(efghijklmn)", Evidence.CHECKSUM)],
            Match(0, 14, "b"),
        ),
        (
            [detector("a", "(abcdef)", Evidence.CHECKSUM), detector("b", "(efghijklmn)")],
            Match(0, 14, "a"),
        ),
        ([detector("a", "(abcdef)"), detector("b", "(efghijklmn)")], Match(0, 14, "b")),
        ([detector("a", "(abcdef)"), detector("b", "(bcdefg)")], Match(0, 7, "a")),
        ([detector("b", "(bcdefg)"), detector("a", "(abcdef)")], Match(0, 7, "b")),
        ([detector("a", "(abcdefgh)"), detector("b", "(cde)")], Match(0, 8, "a")),
    ],
)
def test_the_strongest_match_gives_the_name(detectors: list[Detector], match: Match) -> None:
    assert Scanner(detectors).find("abcdefghijklmn") == [match]


def test_matches_that_touch_stay_apart() -> None:
    finder = Scanner([detector("a", "(abcd)"), detector("b", "(efgh)")])
    assert finder.find("abcdefgh") == [Match(0, 4, "a"), Match(4, 8, "b")]


def test_offsets_count_code_points() -> None:
    text = f"é\U0001f600 {GITHUB} \ud800 {GITHUB}"
    size = len(GITHUB)
    assert DEFAULT.find(text) == [
        Match(3, 3 + size, "github-token"),
        Match(6 + size, 6 + 2 * size, "github-token"),
    ]


@given(st.text(alphabet=st.characters(), max_size=80))
def test_any_text_can_be_scanned(text: str) -> None:
    matches = EVERYTHING.find(text)
    ends = [0, *(match.end for match in matches)]
    assert all(ends[i] <= match.start < match.end for i, match in enumerate(matches))
    assert ends[-1] <= len(text)
    assert EVERYTHING.found(text) == bool(matches)


PIECES = st.sampled_from([d.sample() for d in DETECTORS.values()] + list(BENIGN) + [" ", ".", "-"])


@given(st.lists(PIECES, max_size=6).map("".join))
def test_samples_run_together_can_be_scanned(text: str) -> None:
    matches = EVERYTHING.find(text)
    assert all(one.end <= other.start for one, other in pairwise(matches))
    assert EVERYTHING.found(text) == bool(matches)


@given(st.lists(st.lists(PIECES, max_size=3).map("".join) | st.text(max_size=8), max_size=8))
def test_texts_with_a_match_are_suspects_when_all_are_searched_at_once(texts: list[str]) -> None:
    suspects = EVERYTHING.suspects(texts)
    assert suspects == sorted(set(suspects) & set(range(len(texts))))
    assert {at for at, text in enumerate(texts) if EVERYTHING.found(text)} <= set(suspects)


@BY_NAME
def test_a_sample_among_clean_texts_is_the_suspect(detector: Detector) -> None:
    texts = ["", "clean", detector.sample(), "é", "text"]
    # the character before it may be asked for, and stands at the end of the text before
    assert {2} <= set(scanner([detector.name]).suspects(texts)) <= {1, 2}
    assert scanner([detector.name]).suspects(["a", "b"]) == []
    assert scanner([detector.name]).suspects([]) == []


def test_a_search_costs_a_step_for_each_candidate() -> None:
    text = " ".join([DETECTORS["email"].sample()] * 20)
    finder = scanner(["email"])
    assert len(finder.find(text, budget(20))) == 20
    for search in (finder.find, lambda text, limit: finder.suspects([text], limit)):
        with pytest.raises(EvaluationError):
            search(text, budget(19))
    assert finder.found(text, budget(1))
    with pytest.raises(EvaluationError):
        finder.found(text, budget(0))


PATTERNS = [
    compiled(pattern)
    for each in DETECTORS.values()
    if each.shortest == DETECTORS["email"].shortest
    for pattern in each.patterns
]


@given(st.text(alphabet="ab@.:/0123-", max_size=DETECTORS["email"].shortest - 1))
def test_nothing_shorter_than_the_shortest_is_ever_a_match(text: str) -> None:
    assert not any(pattern.spans(text, 1) for pattern in PATTERNS)


def test_the_shortest_match_is_as_long_as_said() -> None:
    assert EVERYTHING.find("a@b.cd") == [Match(0, DETECTORS["email"].shortest, "email")]
    assert EVERYTHING.find(chr(0x202E)) == [Match(0, 1, "bidi-control")]


def test_no_checks_no_refusal() -> None:
    assert Scanner([]).find("anything at all") == []


# Names


def test_groups_hold_the_names_of_detectors_in_one_order() -> None:
    order = list(DETECTORS)
    for names in GROUPS.values():
        assert names
        assert list(names) == sorted(names, key=order.index)
    assert GROUPS["all"] == tuple(DETECTORS)
    assert GROUPS["credentials"] == GROUPS["secrets"]
    tops = ("secrets", "secrets.generic", "pii", "network", "invisible")
    assert sorted(name for top in tops for name in GROUPS[top]) == sorted(DETECTORS)
    assert not set(GROUPS["secrets"]) & set(GROUPS["secrets.generic"])
    assert GROUPS["pii.us"] == ("us-ssn", "us-ein", "us-itin", "us-bank-account")
    assert GROUPS["network"] == ("ipv4", "ipv6", "mac-address")
    assert not set(GROUPS) & set(DETECTORS)


def test_names_resolve_in_the_order_of_the_table_and_once() -> None:
    names = [d.name for d in resolve(["mac-address", "network", "jwt", "ipv4", "mac-address"])]
    assert names == ["jwt", "ipv4", "ipv6", "mac-address"]
    assert resolve([]) == ()


@pytest.mark.parametrize("name", ["emial", "", "Secrets", "pii."])
def test_an_unknown_name_is_told(name: str) -> None:
    with pytest.raises(KeyError) as caught:
        resolve(["email", name])
    assert caught.value.args == (name,)


def test_one_scanner_serves_all_who_ask_for_the_same_detectors() -> None:
    assert scanner(["network"]) is scanner(["ipv6", "mac-address", "ipv4"])
    assert scanner(["pii"]) is not scanner(["email"])


def test_detectors_cannot_be_added_at_run_time() -> None:
    tables: tuple[Any, ...] = (DETECTORS, GROUPS)
    for table in tables:
        with pytest.raises(TypeError):
            table["new"] = ()


def test_a_sample_in_json_text_is_found_as_well() -> None:
    for each in DETECTORS.values():
        if "invisible" not in each.groups:  # an escape makes it visible
            assert EVERYTHING.found(json.dumps({"stdout": each.sample()})), each.name
