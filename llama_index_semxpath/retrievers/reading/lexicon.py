"""Closed classes of words that give a question its shape, English and Chinese."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
"""
ORDINALS = {word: place for place, word in enumerate(_ORDINALS.split(), 1)}
_CARDINALS = """
one two three four five six seven eight nine ten eleven twelve
"""
CARDINALS = {word: place for place, word in enumerate(_CARDINALS.split(), 1)}
EVERY = _set(
    """
    every each all any
    """
)
NEGATIONS = _set(
    """
    not isn't aren't wasn't weren't don't doesn't didn't haven't hasn't no non never without
    """
)
EXCEPT = (
    "everything except",
    "all but",
    "everything but",
    "except for",
    "except",
    "apart from",
    "other than",
)
HAVE = _set(
    """
    have has had having include includes including contain contains containing with hold holds
    """
)
INSIDE = _set(
    """
    in of on from within during inside for under at
    """
)
BEFORE = ("right before", "just before", "immediately before", "before")
AFTER = ("right after", "just after", "immediately after", "after")
WH = _set(
    """
    what which where when who whose whom how
    """
)
#: Heads that stand for whatever the tree lists.
THINGS = _set(
    """
    item items thing things everything something anything activity activities entry entries
    event events element elements stop stops stuff records record
    """
)
#: Words for the whole tree, when it has no title that says so.
WHOLE = _set(
    """
    trip plan list document documents corpus schedule itinerary file record store whole entire
    """
)
#: Words that only carry the sentence.
FILLER = _set(
    """
    a an the is are was were be been being do does did will would shall should can could may
    might must i you we he she it they me my our your their his her its us them this that
    these those there here and or to please show list find give get tell display return see
    view look planned plan scheduled happen happens happening happened come comes coming go
    going goes take takes place very entire whole complete just only also so then than as by
    about regarding concerning related if any yet still already currently now today need needs
    want wants like belong belongs let know named called titled serve serves right
    """
)

ZH_EVERY = ("每一个", "每个", "每一", "所有的", "所有", "全部的", "全部", "各个", "每")
ZH_NOT = ("不是", "没有", "并非", "尚未", "还没", "未", "非", "不")
ZH_THINGS = ("项目列表", "条目", "事项", "活动", "安排", "内容", "东西", "行程")
_ZH_FILLER = """
请列出 请问 列出 显示 找出 查找 查询 给出 给我 告诉我 哪些 哪个 哪几个 什么 是什么
有什么 有哪些 有 是 在 的 了 里面 里 中 内 吗 呢 我们 我 要 都 请 和 与 及
或者 或 那些 这些 为 等 以及 状态 一共 分别 今年 生效 个
"""
ZH_FILLER = tuple(_ZH_FILLER.split())
