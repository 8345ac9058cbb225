"""How results, trees and plans look in a terminal and in Jupyter."""

from llama_index_semxpath.display.html import (
    answer_html,
    matches_html,
    pre_html,
    result_html,
    store_html,
    table_html,
    tree_html,
)
from llama_index_semxpath.display.style import Style
from llama_index_semxpath.display.text import match_lines, matches_text, tree_lines, where
from llama_index_semxpath.display.tree import TreeView

__all__ = [
    "Style",
    "TreeView",
    "answer_html",
    "match_lines",
    "matches_html",
    "matches_text",
    "pre_html",
    "result_html",
    "store_html",
    "table_html",
    "tree_html",
    "tree_lines",
    "where",
]
