"""A caller's own judge of headings, such as an LLM, has the last word."""

from llama_index_semxpath.node_parser import ParseOptions, parse_bytes

TEXT = "1 Scope\n\nAll words.\n\nOdds and ends of it\n\nMore words.\n\n2 Parts\n\nBolts.\n"


def sections(options):
    nodes = parse_bytes(TEXT, "a.txt", options=options)
    return [(node.level, node.text) for node in nodes if node.kind == "Section"]


def test_the_hook_sees_lines_and_levels_and_settles_them():
    asked = []

    def hook(lines, levels):
        asked.append(list(zip(lines, levels, strict=True)))
        return [2 if line.startswith("Odds") else level for line, level in asked[-1]]

    assert sections(ParseOptions()) == [(1, "1 Scope"), (1, "2 Parts")]
    assert sections(ParseOptions(heading_hook=hook)) == [
        (1, "1 Scope"),
        (2, "Odds and ends of it"),
        (1, "2 Parts"),
    ]
    assert asked == [
        [
            ("1 Scope", 1),
            ("All words.", 0),
            ("Odds and ends of it", 0),
            ("More words.", 0),
            ("2 Parts", 1),
            ("Bolts.", 0),
        ]
    ]


def test_the_hook_may_refuse_a_heading():
    options = ParseOptions(heading_hook=lambda lines, levels: [0 for _ in lines])
    assert sections(options) == []
