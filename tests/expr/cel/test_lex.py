from __future__ import annotations

import pytest

from policyd.expr.cel.lex import MAX_DEPTH, MAX_FLAWS, MAX_LENGTH, Lexer, Word
from policyd.expression import Flaw


def words(text: str) -> list[Word]:
    lexer = Lexer(text)
    lexer.run()
    assert not lexer.flaws
    return lexer.words


def flaws(text: str) -> list[Flaw]:
    lexer = Lexer(text)
    lexer.run()
    return lexer.flaws


def test_words_know_their_places_in_code_points() -> None:
    assert words("😀".join(["'", "'"]) + " in\n a.b // c") == [
        Word("STRING_LIT", "'😀'", 0, "😀"),
        Word("in", "in", 4),
        Word("IDENT", "a", 8),
        Word(".", ".", 9),
        Word("IDENT", "b", 10),
    ]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("a -1", ["IDENT", "-", "INT_LIT"]),
        ("(a) -1", ["(", "IDENT", ")", "-", "INT_LIT"]),
        ("a[0] -1.5", ["IDENT", "[", "INT_LIT", "]", "-", "FLOAT_LIT"]),
        ("{} -.5", ["{", "}", "-", "FLOAT_LIT"]),
        ("'a' -1u", ["STRING_LIT", "-", "UINT_LIT"]),
        ("-1", ["INT_LIT"]),
        ("a - -1", ["IDENT", "-", "INT_LIT"]),
        ("a in -1", ["IDENT", "in", "INT_LIT"]),
        ("f(-1, -2)", ["IDENT", "(", "INT_LIT", ",", "INT_LIT", ")"]),
        ("- 1", ["-", "INT_LIT"]),
        ("-a", ["-", "IDENT"]),
        ("--1", ["-", "INT_LIT"]),
        ("inner", ["IDENT"]),
        ("true false null nullable", ["BOOL_LIT", "BOOL_LIT", "NULL_LIT", "IDENT"]),
        ("a<=b", ["IDENT", "<=", "IDENT"]),
        ("a<-1", ["IDENT", "<", "INT_LIT"]),
        ("!!a", ["!", "!", "IDENT"]),
        ("b'' B\"\" br'' r'' R\"\"", ["BYTES_LIT"] * 3 + ["STRING_LIT"] * 2),
        ("''''''", ["STRING_LIT"]),
    ],
)
def test_a_minus_belongs_to_a_number_only_where_a_value_may_start(
    text: str, types: list[str]
) -> None:
    assert [word.type for word in words(text)] == types


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("[1,]", ["[", "INT_LIT", "]"]),
        ("{1:2,}", ["{", "INT_LIT", ":", "INT_LIT", "}"]),
        ("[,]", ["[", ",", "]"]),
        ("[1,,]", ["[", "INT_LIT", ",", ",", "]"]),
        ("f(1,)", ["IDENT", "(", "INT_LIT", ",", ")"]),
    ],
)
def test_one_comma_may_follow_the_last_element(text: str, types: list[str]) -> None:
    assert [word.type for word in words(text)] == types


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("1.5e-3", 0.0015),
        (".5", 0.5),
        ("2E2", 200.0),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551615U", 2**64 - 1),
        ("0xFFu", 255),
        ("1e400", float("inf")),
        (r"'\a\b\f\n\r\t\v\\\'\"\`\?'", "\a\b\f\n\r\t\v\\'\"`?"),
        (r"'\x41\X42\u0043\U00000044\105'", "ABCDE"),
        (r"b'\x41\X42\105'", b"ABE"),
        ("b'é'", "é".encode()),
        (r"b'a\n\\'", b"a\n\\"),
        ("br'\\x41'", b"\\x41"),
        (r"'\U0001F600'", "😀"),
        ("r'a\\'", "a\\"),
        ('r"\\""', None),
        ("'''a\r\nb\rc'''", "a\nb\nc"),
        ("'''\\n\r\n'''", "\n\n"),
        ("r'''a\r\n\\'''", "a\n\\"),
        ("'''a''b'''", "a''b"),
        ("'''a\\'''b'''", "a'''b"),
        ('"""a\\\\"""', "a\\"),
        ("'\ud800'", "\ud800"),
    ],
)
def test_a_literal_stands_for_its_value(text: str, value: object) -> None:
    if value is None:
        assert [flaw.text for flaw in flaws(text)] == ["this string does not end"]
    else:
        assert [word.value for word in words(text)] == [value]


@pytest.mark.parametrize(
    ("text", "problem", "at", "help"),
    [
        ("a = b", "`=` means nothing here", "=", "write `==` to compare"),
        ("a === b", "`===` means nothing here", "===", "write `==`"),
        ("a => b", "`=>` means nothing here", "=>", "write `>=`"),
        ("a =< b", "`=<` means nothing here", "=<", "write `<=`"),
        ("a & b", "`&` means nothing here", "&", "write `&&` for and"),
        ("a | b", "`|` means nothing here", "|", "write `||` for or"),
        ("a # b", "`#` means nothing here", "#", "a comment starts with `//`"),
        ("a;", "`;` means nothing here", ";", "an expression is one value, without `;`"),
        ("${a}", "`$` means nothing here", "$", "names are written without `$`"),
        ("a @ b", "`@` means nothing here", "@", None),
        ("é", "`é` means nothing here", "é", None),
        ("a\u200bb", "`U+200B` means nothing here", "\u200b", None),
        (
            "a.`b:c`",
            "``` means nothing here",
            "`",
            "write `['...']` for a key with other characters than letters, digits, blanks, _ . / -",
        ),
        (
            "a == \u201cb",
            "`\u201c` means nothing here",
            "\u201c",
            "strings are written with straight quotes, ' or \"",
        ),
        (
            "a ~ 'b'",
            "`~` means nothing here",
            "~",
            "write `text.matches('...')` to test a pattern",
        ),
        (
            "a\\b",
            "`\\` means nothing here",
            "\\",
            "a backslash belongs inside of a string",
        ),
        ("1abc", "`1abc` is not a number", "1abc", None),
        ("0x", "`0x` is not a number", "0x", None),
        ("1.5u", "`1.5u` is not a number", "1.5u", None),
        ("1.5.5", None, None, None),
        (
            "9223372036854775808",
            "`9223372036854775808` is too large",
            "9223372036854775808",
            "an int lies between -9223372036854775808 and 9223372036854775807",
        ),
        (
            "9" * 30,
            f"`{'9' * 24}...` is too large",
            "9" * 30,
            "an int lies between -9223372036854775808 and 9223372036854775807",
        ),
        ("-1u", "`-1u` is no uint", "-1u", "a uint lies between 0 and 18446744073709551615"),
        (
            "18446744073709551616u",
            "`18446744073709551616u` is no uint",
            "18446744073709551616u",
            "a uint lies between 0 and 18446744073709551615",
        ),
        (
            r"a.matches('\d+')",
            r"`\d` is no escape",
            r"\d",
            r"write `\\d`, or a raw string such as r'...', where `\` is only itself",
        ),
        (
            r"'ab\x4'",
            r"`\x` is no escape",
            r"\x",
            r"write `\\x`, or a raw string such as r'...', where `\` is only itself",
        ),
        (
            r"b'\u0041'",
            r"`\u0041` is no escape",
            r"\u0041",
            r"write `\\u0041`, or a raw string such as r'...', where `\` is only itself",
        ),
        (
            "'''\\\n'''",
            "`\\` is no escape",
            "\\\n",
            r"write `\\`, or a raw string such as r'...', where `\` is only itself",
        ),
        (r"'\ud800'", r"`\ud800` is no character", r"\ud800", None),
        (r"'\U00110000'", r"`\U00110000` is no character", r"\U00110000", None),
        (
            "a == 'it's'",
            "this string does not end",
            "'",
            "close it with '; a quote inside of a string is written \\'",
        ),
        (
            "'a\nb'",
            "this string does not end",
            "'",
            "a string ends on its line; one of several lines is written '''...'''",
        ),
        (
            "r'''a",
            "this string does not end",
            "r''",
            "close it with '''; a quote inside of a string is written \\'",
        ),
        ("(a", "`(` is not closed", "(", "add the missing `)`"),
        ("f([a)", "`)` closes nothing", ")", "`[` is open here"),
        ("a]", "`]` closes nothing", "]", "nothing is open here"),
    ],
)
def test_a_slip_in_a_word_is_pointed_at(
    text: str, problem: str | None, at: str | None, help: str | None
) -> None:
    if problem is None:
        assert flaws(text) == []
        return
    found = next(f for f in flaws(text) if f.text == problem)
    assert found == Flaw("cel-syntax", problem, found.offset, found.length, help)
    assert text[found.offset : found.offset + found.length] == at


def test_all_slips_of_a_text_are_told() -> None:
    assert [(f.text, f.offset) for f in flaws("a = 1 & b # c")] == [
        ("`=` means nothing here", 2),
        ("`&` means nothing here", 6),
        ("`#` means nothing here", 10),
    ]


@pytest.mark.parametrize("char", ["\x00", "\x08", "\x0b", "\x0c", "\x1b", "\x7f", "\x85"])
def test_a_control_character_is_refused_even_in_a_string(char: str) -> None:
    assert flaws(f"'a{char}'") == [
        Flaw(
            "control-character",
            f"the control character U+{ord(char):04X} is in the expression",
            2,
            1,
            "write the YAML string in single quotes, so that `\\` stays a backslash",
        )
    ]


def test_a_text_over_the_limit_is_not_read() -> None:
    assert words("a" * MAX_LENGTH) == [Word("IDENT", "a" * MAX_LENGTH, 0)]
    assert flaws("a" * (MAX_LENGTH + 1)) == [
        Flaw(
            "cel-too-long",
            "an expression has at most 4096 characters",
            MAX_LENGTH,
            1,
            "split it into several rules or variables",
        )
    ]


def test_brackets_nest_to_a_limit() -> None:
    assert words("(" * MAX_DEPTH + ")" * MAX_DEPTH)
    assert flaws("(" * 4000) == [
        Flaw(
            "cel-too-deep",
            "brackets nest at most 200 deep",
            MAX_DEPTH,
            1,
            "split it into several rules or variables",
        )
    ]


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("'" + "\\\\" * 2040, []),
        ('"' * 3 + '\\"' * 2040, []),
        ("r'" + "\\" * 4093 + "'", ["STRING_LIT"]),
        ("'" * 3 + "''a" * 1360, []),
        ("-" * 4096, ["-"] * 4096),
        ("." * 4096, ["."] * 4096),
        ("/" * 4096, []),
    ],
)
def test_texts_that_make_a_backtracking_pattern_hang_are_read(text: str, types: list[str]) -> None:
    lexer = Lexer(text)
    lexer.run()
    assert [word.type for word in lexer.words] == types


def test_a_text_in_another_language_does_not_drown_the_reader_in_flaws() -> None:
    assert len(flaws("größer als überall, ähnlich wie früher, öfter üblich, ß ß ß ß")) == MAX_FLAWS
