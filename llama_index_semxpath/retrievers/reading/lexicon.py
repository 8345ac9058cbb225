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
    neither nor
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
#: Words of a bound on a number of things.
QUANTITIES = (
    (("more than", "over", "above", "超过", "多于"), ">"),
    (("at least", "no less than", "no fewer than", "至少", "不少于"), ">="),
    (("fewer than", "less than", "under", "少于", "不到"), "<"),
    (("at most", "no more than", "up to", "至多", "最多", "不超过"), "<="),
    (("exactly", "正好", "恰好"), "="),
)
#: Negations that say that there is none of what follows.
NONE_OF = frozenset({"no", "without", "没有", "neither", "nor"})
#: Verbs that a request begins with.
ORDERS = frozenset({"show", "list", "find", "give", "get", "tell", "display", "count", "view"})
#: Which from the end: “second to last”.
FROM_END = {
    ("second", "to", "last"): 2, ("third", "to", "last"): 3, ("fourth", "to", "last"): 4,
    ("next", "to", "last"): 2, ("second", "last"): 2, ("third", "last"): 3, ("penultimate",): 2,
    ("last", "but", "one"): 2, ("倒", "数", "第", "二"): 2, ("倒", "数", "第", "三"): 3,
    ("倒", "数", "第", "一"): 1,
}  # fmt: skip
BETWEEN = ("in between", "between", "介于")
#: Kinds of record and fields as people call them in the other language, or by another word.
ALSO_CALLED = (
    ("day", "天", "日"), ("week", "周", "星期"), ("restaurant", "餐厅", "饭店", "餐馆"),
    ("task", "to-do", "todo item", "任务", "待办事项"), ("project", "项目"),
    ("category", "类别", "分类", "类"), ("contract", "合同"),
    ("employee", "staff member", "员工", "职员"), ("department", "部门"), ("person", "人员"),
    ("order", "订单"), ("customer", "客户"), ("product", "产品"), ("meeting", "会议"),
    ("event", "事件"), ("course", "课程"), ("step", "步骤"), ("book", "图书", "书"),
    ("poi", "attraction", "sight", "place of interest", "景点"), ("plan", "计划"),
    ("policy", "制度", "政策"), ("note", "备注", "笔记"), ("team", "团队", "小组"),
    ("status", "state", "状态"), ("priority", "优先级"), ("name", "名称", "名字"),
    ("due date", "deadline", "截止日期", "到期日"), ("price", "cost", "价格", "费用"),
    ("amount", "金额"), ("date", "日期"), ("author", "作者"), ("owner", "负责人"),
)  # fmt: skip
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
    many much number count both either ones end next
    want wants like belong belongs let know named called titled serve serves right
    """
)

ZH_EVERY = ("每一个", "每个", "每一", "所有的", "所有", "全部的", "全部", "各个", "每")
ZH_NOT = ("不是", "没有", "并非", "尚未", "还没", "未", "非", "不")
ZH_THINGS = ("项目列表", "条目", "事项", "活动", "安排", "内容", "东西", "行程")
_ZH_FILLER = """
请列出 请问 列出 显示 找出 查找 查询 给出 给我 告诉我 哪些 哪个 哪几个 什么 是什么
有什么 有哪些 有 是 在 的 了 里面 里 中 内 吗 呢 我们 我 要 都 请 和 与 及
或者 或 那些 这些 为 等 一共有 一共 总共 共有 多少 几 家 做 做什么 名 位 我们的 处于 属于 的是
以及 状态 一共 分别 今年 生效 个
"""
ZH_FILLER = tuple(_ZH_FILLER.split())
