"""The line of a key is the one that it stands on, whatever stands around it."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavedex.pipelines.toml_lines import lines_of


def paths_of(data, above=()):
    """All keys and tables that TOML finds in a text; what is in a list has no path."""
    found = set()
    for key, value in data.items():
        found.add((*above, key))
        if isinstance(value, dict):
            found |= paths_of(value, (*above, key))
    return found


CASES = {
    "nothing": ("", {}),
    "only a comment": ("# a = 1\n\n", {}),
    "keys before a table": ("a = 1\n\nb = 2", {"a": 1, "b": 3}),
    "a table": ("\n[t]\na = 1\n", {"t": 2, "t.a": 3}),
    "spaces and comments": (" [ t ] # [u]\n\ta  =  1 # b = 2\n", {"t": 1, "t.a": 2}),
    "dotted keys": ("a.b . c = 1\na.d = 2\n", {"a": 1, "a.b": 1, "a.b.c": 1, "a.d": 2}),
    "a table in a table": ("[a.b]\nc = 1\n[a]\nd = 1\n", {"a": 3, "a.b": 1, "a.b.c": 2, "a.d": 4}),
    "quoted keys": ('"a#" = 1\n\'b = [\' = 2\n"\\u0063" = 3\n', {"a#": 1, "b = [": 2, "c": 3}),
    "an empty key": ("'' = 1\n", {"": 1}),
    "inline tables": (
        "t = { a = 1, b = { c = '}', d.e = ']' } }\nz = {}\n",
        {"t": 1, "t.a": 1, "t.b": 1, "t.b.c": 1, "t.b.d": 1, "t.b.d.e": 1, "z": 2},
    ),
    "a long string": ('s = """\na = 1\n[t]\n"""\nb = 2\n', {"s": 1, "b": 5}),
    "a long literal string": ("s = '''\na = 1\n\"\"\"\n'''\nb = 2\n", {"s": 1, "b": 5}),
    "escaped quotes": ('s = """\n\\"""\na = 1\n\\\\"""\nb = 2\n', {"s": 1, "b": 5}),
    "quotes at the end": ('s = """x"""""\nb = 2\n', {"s": 1, "b": 2}),
    "literal quotes at the end": ("s = '''x'''''\nb = 2\n", {"s": 1, "b": 2}),
    "empty strings": ('a = ""\nb = \'\'\nc = """"""\nd = 1\n', {"a": 1, "b": 2, "c": 3, "d": 4}),
    "a quote in a string": ('a = "\\" # \\\\"\nb = "#"\nc = 1', {"a": 1, "b": 2, "c": 3}),
    "an array": ("a = [\n 1, # ]\n 'b = 2',\n]\nb = 1\n", {"a": 1, "b": 5}),
    "arrays in arrays": ('a = [[\n"]"],\n[{b = "}"}]]\nc = 1\n', {"a": 1, "c": 4}),
    "a long string in an array": ('a = ["""\n]\nb = 1\n"""]\nc = 1\n', {"a": 1, "c": 5}),
    "an array in an inline table": (
        "t = {a = [\n1], b = 2}\nc = 1",
        {"t": 1, "t.a": 1, "t.b": 2, "c": 3},
    ),
    "an array of tables": (
        "[[a]]\nb = 1\n[a.c]\nd = 1\n[[a]]\n[e]\nf = 1\n",
        {"a": 1, "e": 6, "e.f": 7},
    ),
    "dates": ("a = 1979-05-27 07:32:00 # b\nc = 07:32:00\n", {"a": 1, "c": 2}),
    "lines that end as on Windows": (
        "a = 1\r\ns = '''\r\nx = 1'''\r\nb = 2\r\n",
        {"a": 1, "s": 2, "b": 4},
    ),
    "signs that other programs end lines with": ("a = '\u2028\x85'\nb = 1\n", {"a": 1, "b": 2}),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_a_key_is_found_on_its_line(text, expected):
    found = lines_of(text)
    assert {".".join(path): line for path, line in found.items()} == expected
    assert set(found) == paths_of(tomllib.loads(text))


# -- drawn texts, of which the lines are known because they were written one by one ----------------

TRAPS = st.sampled_from(
    ["a = 1", "[t]", "'", '"', "''", "# no", "]", "}", "{", "[[t]]", "x.y = '''", "", ",", "="]
)
NAMES = st.text("abc-_1", min_size=1, max_size=3)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def keys(draw):
    """A key as it is written, and the name that it has."""
    if draw(st.booleans()):
        return (name := draw(NAMES)), name
    name = draw(st.sampled_from(["a.b", "a b", "[x]", "#", "=", "'", "é", ""]))
    return (quoted(name) if draw(st.booleans()) or "'" in name else f"'{name}'"), name


@st.composite
def values(draw, depth=0):
    """A value as it is written."""
    kinds = ["number", "text", "long", "literal", "array"]
    kind = draw(st.sampled_from(kinds if depth < 2 else kinds[:4]))
    if kind == "number":
        return draw(st.sampled_from(["1", "-2.5", "true", "1979-05-27 07:32:00", "inf"]))
    if kind == "text":
        return quoted(draw(TRAPS))
    if kind == "array":
        items = draw(st.lists(values(depth + 1), max_size=3))
        between = draw(st.sampled_from([", ", ",\n", " # ] '\n, "]))
        return "[" + draw(st.sampled_from(["", "\n", "# [\n"])) + between.join(items) + "]"
    inside = draw(st.lists(TRAPS, max_size=4))
    if kind == "literal":
        return "'''" + "\n".join(text.replace("'''", "") for text in inside) + "\n'''"
    return '"""' + "\n".join(quoted(text)[1:-1] for text in inside) + '\n"""'


@st.composite
def documents(draw):
    """A text, and the lines of its keys as they were written."""
    text, lines = "", {}

    def write(piece):
        nonlocal text
        text += piece

    def pairs(above, ending):
        for written, name in draw(st.lists(keys(), max_size=4, unique_by=lambda key: key[1])):
            write(draw(st.sampled_from(["", "\n", "# x = 1\n"])) if ending == "\n" else "")
            lines[(*above, name)] = text.count("\n") + 1
            write(f"{written} = ")
            if draw(st.integers(0, 4)):
                write(draw(values()))
            else:
                write("{ ")
                pairs((*above, name), ", ")
                text_end(", ")
                write(" }")
            write(ending)

    def text_end(ending):
        nonlocal text
        text = text.removesuffix(ending)

    pairs((), "\n")
    for written, name in draw(st.lists(keys(), max_size=3, unique_by=lambda key: key[1])):
        if (name,) in lines:
            continue
        lines[(name,)] = text.count("\n") + 1
        write(f"[{written}]{draw(st.sampled_from(['', ' # [y]', '  ']))}\n")
        pairs((name,), "\n")
    return text, lines


@given(documents())
def test_every_key_of_any_text_is_found_on_the_line_it_was_written_on(document):
    text, lines = document
    assert paths_of(tomllib.loads(text)) == set(lines)
    assert lines_of(text) == lines
    assert lines_of(text.replace("\n", "\r\n")) == lines
