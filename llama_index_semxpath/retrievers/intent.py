"""What kind of question is asked, and how far each route is trusted with it. Rules only, no model.

Every rule names a sign a person would name too ("it quotes a title", "it compares two things"), so
that the reasons can be shown. English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

IntentKind = Literal[
    "lookup", "filter", "relation", "concept", "procedure", "comparison", "summary", "mixed"
]
Route = Literal["structured", "tree", "graph", "semantic"]
ROUTES: tuple[Route, ...] = get_args(Route)

#: Weight of each route by intent. Keyword evidence in context (``tree``) carries most questions: a
#: general embedding ranks topics well and facts poorly (docs/quality.md has the figures).
WEIGHTS: dict[IntentKind, dict[Route, float]] = {
    "lookup": {"structured": 1.0, "tree": 0.4, "graph": 0.0, "semantic": 0.0},
    "filter": {"structured": 1.0, "tree": 0.4, "graph": 0.0, "semantic": 0.0},
    "relation": {"structured": 0.5, "tree": 0.7, "graph": 1.0, "semantic": 0.0},
    "concept": {"structured": 0.0, "tree": 1.0, "graph": 0.0, "semantic": 0.0},
    "procedure": {"structured": 0.0, "tree": 1.0, "graph": 0.0, "semantic": 0.0},
    "comparison": {"structured": 0.2, "tree": 1.0, "graph": 0.0, "semantic": 0.0},
    "summary": {"structured": 0.2, "tree": 1.0, "graph": 0.0, "semantic": 0.0},
    "mixed": {"structured": 1.0, "tree": 0.8, "graph": 0.2, "semantic": 0.0},
}


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question asks for.

    Args:
        kind: Class of the question.
        weights: Trust in each route, 0 (not asked) to 1.
        reasons: The signs that led here, in plain words.
        quoted: Words that the question quotes.
    """

    kind: IntentKind
    weights: dict[Route, float]
    reasons: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()

    @property
    def routes(self) -> list[Route]:
        """Routes with any weight, the most trusted first."""
        kept = [route for route in ROUTES if self.weights.get(route, 0.0) > 0.0]
        return sorted(kept, key=lambda route: -self.weights[route])


@dataclass(slots=True)
class Signs:
    """Signs found in a question, gathered before they are weighed."""

    reasons: list[str] = field(default_factory=list)
    place: bool = False
    condition: bool = False
    relation: bool = False
    comparison: bool = False
    summary: bool = False
    procedure: bool = False
    topic: bool = False


_CJK_NUMBER = "〇零一二三四五六七八九十百千两0-9"
_QUERY = re.compile(
    r"^\s*\(*\s*(?:/{1,2}\s*[\w*`@.]|(?:count|top|group|sort|sum|avg|id|threshold)\s*\(.*/)"
)
_PLACE = re.compile(
    rf"第\s*[{_CJK_NUMBER}]+\s*(?:编|篇|章|节|節|条|條|款|项|項|目|页|頁|部分|回|卷)"
    r"|(?:附录|附錄|附件|附表|表|图|圖)\s*[A-Z0-9一二三四五六七八九十]+"
    r"|[§¶]\s*\d+(?:\.\d+)*"
    r"|\b(?:sections?|sec\.|chapters?|ch\.|articles?|art\.|clauses?|paragraphs?|parts?|"
    r"appendix|annex|tables?|figures?|fig\.|steps?|pages?)\s+(?:\d+(?:\.\d+)*|[IVXLC]+|[A-Z])\b"
    r"|(?<![\w.])\d+(?:\.\d+){1,5}(?=\s+(?:say|cover|of|in)\b)",
    re.IGNORECASE,
)
_NAMED_PLACE = re.compile(
    r"\bthe\s+((?:[\w'-]+\s+){1,5}?)(guide|manual|chapter|section|appendix|handbook|policy|page|"
    r"table|glossary|faq|document|readme|changelog)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"《([^《》\n]{1,80})》|“([^“”\n]{1,80})”|「([^「」\n]{1,80})」|『([^『』\n]{1,80})』"
    r"|\"([^\"\n]{1,80})\"|(?<![\w])'([^'\n]{2,80})'(?!\w)|`([^`\n]{1,80})`"
)
_COMPARE_VALUE = re.compile(
    r"\b(?:over|above|more than|less than|under|below|at least|at most|fewer than|greater than|"
    r"exceed(?:s|ing)?|up to|no more than|between|before|after|since|until)\s+"
    r"(?:[A-Z]{3}\s*)?[$€£¥]?\s*\d[\d,.]*"
    r"|(?:大于|小于|超过|高于|低于|不少于|不超过|至少|至多|多于|少于|早于|晚于)\s*[\d一二三四五六七八九十百千万]"
    r"|\d[\d,.]*\s*(?:万|元|天|年|月|日|%|％)?\s*(?:以上|以下|以内|之后|之前|以后|以前)"
    r"|[<>≤≥]=?\s*\d",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"^\s*(?:list|show|find|give|enumerate|count)\b(?:\s+me)?\s+(?:all|every|each|the)\b"
    r"|\bhow many\b|"
    r"^\s*(?:列出|找出|显示|统计)|(?:所有|全部|每个|每一)的?|多少(?:个|条|份|项|次|章|节)|有哪几",
    re.IGNORECASE,
)
_RELATION = re.compile(
    r"\b(?:who\s+(?:is|are|was|signed|owns|approved|manages|reports|leads|"
    r"wrote|founded|acquired)|report(?:s)?\s+to|"
    r"relat(?:ed|ion|ionship)s?\s+(?:to|between|of|with)|connected\s+(?:to|with)|"
    r"linked\s+(?:to|with)|"
    r"depends?\s+on|belongs?\s+to|works?\s+(?:for|with|under)|subsidiar(?:y|ies)\s+of|part\s+of)\b"
    r"|(?:谁(?:是|负责|签署|批准|管理)|隶属|汇报给|上级|下属|所属|关系|关联|依赖于|属于)",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:compare[ds]?|comparison|versus|vs\.?|difference\s+between|differ(?:s|ent)?\s+from|"
    r"(?:better|worse|more|less|larger|higher|earlier|later|longer|cheaper|faster)\s+than|"
    r"respectively|"
    r"which\s+(?:\w+\s+){1,4}(?:more|less|earlier|later|higher|larger|better|longer))\b"
    r"|比较|对比|相比|区别|不同之处|差异|分别|哪(?:个|家|种|一).{0,20}更|与.{1,30}相比",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\b(?:summari[sz]e|summary|overview|outline|main\s+(?:points|ideas)|"
    r"key\s+(?:points|takeaways)|"
    r"in\s+short|tl;?dr|what\s+(?:is|does)\s+(?:this|the)\s+"
    r"(?:document|handbook|manual|report)\s+(?:about|cover))\b"
    r"|总结|概述|概括|摘要|综述|简述|主要内容|大意|要点",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"\bhow\s+(?:do|can|should|would|to|does\s+one)\b|\bsteps?\s+(?:to|for)\b|"
    r"\bset\s*up\b|\bwhat\s+(?:should|must)\s+I\s+do\b"
    r"|\bprocedure\s+for\b|怎么|怎样|如何|步骤|流程|办理|怎么办",
    re.IGNORECASE,
)
_TOPIC_WORD = re.compile(r"[A-Za-z]{4,}|[\u3400-\u9fff]{2,}")


def read_intent(question: str, names: Iterable[str] = ()) -> Intent:
    """Classes a question by its signs.

    Args:
        question: What a person asks, or a SemXPath query.
        names: Names of the live schema (kinds, attributes) that count as fields when the question
            uses them.

    Returns:
        Kind, weights by route and the reasons.

    Example:
        >>> read_intent("第三章第五条说了什么").kind, read_intent("how do I change the oil").kind
        ('lookup', 'procedure')
        >>> read_intent("//Section[1]").reasons
        ('it is a SemXPath query',)
    """
    if looks_like_query(question):
        weights: dict[Route, float] = dict.fromkeys(ROUTES, 0.0)
        weights["structured"] = 1.0
        return Intent("lookup", weights, ("it is a SemXPath query",))
    quoted = quoted_words(question)
    signs = _signs(question, quoted, names)
    kind = _kind(signs)
    weights = dict(WEIGHTS[kind])
    if kind in ("comparison", "summary", "procedure") and (signs.place or signs.condition):
        weights["structured"] = 0.6
    reasons = tuple(signs.reasons) or ("it names no place, field or relation, so meaning decides",)
    return Intent(kind, weights, reasons, quoted)


def looks_like_query(text: str) -> bool:
    """Whether a text is meant as a SemXPath query rather than a sentence.

    Example:
        >>> looks_like_query('//section[@title="Oil"]'), looks_like_query("/etc or not?")
        (True, False)
    """
    if _QUERY.match(text) is None:
        return False
    # A path in a sentence ("/etc or not?") is followed by plain words; a query is not.
    bare = re.sub(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]", "", text)
    return re.search(r"[?？。]\s*$|\w\s+(?!and\b|or\b|div\b|mod\b|in\b)[a-z]{2,}\b", bare) is None


def quoted_words(question: str) -> tuple[str, ...]:
    """Words between quotation marks, Chinese book-title marks or back-quotes, in order.

    Example:
        >>> quoted_words("《员工手册》里的“年假”")
        ('员工手册', '年假')
    """
    return tuple(next(filter(None, match.groups())) for match in _QUOTED.finditer(question))


def _signs(question: str, quoted: tuple[str, ...], names: Iterable[str]) -> Signs:
    signs = Signs()

    def note(pattern: re.Pattern[str], reason: str) -> bool:
        match = pattern.search(question)
        if match is not None:
            signs.reasons.append(f"{reason}: “{match.group(0).strip()}”")
        return match is not None

    signs.place = note(_PLACE, "it names a place") or note(
        _NAMED_PLACE, "it names a document or part"
    )
    if quoted:
        signs.place = True
        signs.reasons.append(f"it quotes “{quoted[0]}”")
    signs.condition = note(_COMPARE_VALUE, "it sets a bound") or note(
        _LISTING, "it asks for a list or count"
    )
    used = [name for name in names if len(name) >= 2 and _uses(question, name)]
    if used:
        signs.condition = True
        signs.reasons.append("it uses names of the schema: " + ", ".join(sorted(used)[:4]))
    signs.relation = note(_RELATION, "it asks for a relation")
    signs.comparison = note(_COMPARISON, "it compares")
    signs.summary = note(_SUMMARY, "it asks for a summary")
    signs.procedure = note(_PROCEDURE, "it asks how to do something")
    rest = _PLACE.sub(" ", question)
    signs.topic = len(_TOPIC_WORD.findall(rest)) >= 4
    return signs


def _kind(signs: Signs) -> IntentKind:
    if signs.comparison:
        return "comparison"
    if signs.summary:
        return "summary"
    if signs.relation:
        return "mixed" if signs.place or signs.condition else "relation"
    if signs.place or signs.condition:
        if signs.procedure or (signs.place and signs.condition and signs.topic):
            return "mixed"
        return "lookup" if signs.place else "filter"
    return "procedure" if signs.procedure else "concept"


def _uses(question: str, name: str) -> bool:
    if re.fullmatch(r"[\x00-\x7f]+", name):
        return (
            re.search(rf"(?<![\w]){re.escape(name)}s?(?![\w])", question, re.IGNORECASE) is not None
        )
    return name in question
