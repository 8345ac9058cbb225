"""Statements about people in Chinese."""

# ruff: noqa: E501 - a rule of a table reads best on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from llama_index_semxpath.memory.facts import AttributeSpec, Fact, FactSchema

_SUPPOSED = re.compile(
    "如果|假如|要是|假设|也许|可能会|或许|希望|想象|是不是|能否|能不能|请问|难道"
)
_VALUE = r"(?P<v>[^，,。；;！!？?：:\s][^，,。；;！!？?\n]{0,60}?)"
_END = r"(?=\s*(?:[，,。；;！!？?\n]|$))"
#: Who is spoken of; a name is short and stands at the start of its clause.
_SUBJECT = r"(?P<s>我们|我|本人|[\u4e00-\u9fff]{2,4}?|[A-Z][\w\-]*(?: [A-Z][\w\-]*){0,2})"
_ADVERB = "(?:现在|目前|最近|一直|平时|通常|也|都|已经|还|仍然|其实|特别|非常|很|最|比较|更|挺|刚)*"
_NOT = "(?P<not>不再|没有再|已经不)?"
_LABEL = "(?:是|为|叫|在|：|:)"
_NO_SUBJECTS = frozenset(
    [
        "今天",
        "昨天",
        "明天",
        "这个",
        "那个",
        "这是",
        "他们",
        "她们",
        "大家",
        "如果",
        "因为",
        "所以",
        "但是",
        "什么",
        "现在",
        "目前",
        "请",
        "请你",
    ]
)

_RULES: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (attribute, re.compile(pattern + _END))
    for attribute, pattern in (
        ("name", r"^(?:你好|您好)?(?P<s>我|本人)(?:的名字)?(?:叫做?|名叫|是叫)(?P<v>[\u4e00-\u9fff·]{2,8}|[A-Za-z][A-Za-z .\-]{0,40})"),
        ("age", rf"^{_SUBJECT}(?:今年)?(?P<v>\d{{1,3}})岁了?"),
        ("lives_in", rf"^{_SUBJECT}{_ADVERB}{_NOT}(?:居住|定居|住)(?:在|于){_VALUE}"),
        ("lives_in", rf"^{_SUBJECT}{_ADVERB}(?:从[^，,。；;]{{1,12}}?)?(?:搬家?|迁)(?:到|去|至)了?{_VALUE}(?:了|住)?"),
        ("origin", rf"^{_SUBJECT}{_ADVERB}(?:来自|老家在|家乡在){_VALUE}"),
        ("commutes_by", rf"^{_SUBJECT}{_ADVERB}(?:坐|乘|搭)(?P<v>地铁|公交车?|火车|班车|出租车|轮渡|高铁)(?:去)?(?:上班|通勤)"),
        ("commutes_by", rf"^{_SUBJECT}{_ADVERB}(?P<v>骑车|骑自行车|开车|步行|走路)(?:去)?(?:上班|通勤)"),
        ("works_for", rf"^{_SUBJECT}{_ADVERB}{_NOT}(?:就职于|任职于|供职于){_VALUE}"),
        ("works_for", rf"^{_SUBJECT}{_ADVERB}{_NOT}在{_VALUE}(?:工作|上班|任职|就职)了?"),
        ("works_for", rf"^{_SUBJECT}{_ADVERB}(?:加入|入职)了?{_VALUE}"),
        ("department", rf"^{_SUBJECT}是(?P<v>[\u4e00-\u9fffA-Za-z]{{2,10}}(?:部|中心|团队|组))的(?:员工)?"),
        ("allergic_to", rf"^{_SUBJECT}{_ADVERB}对{_VALUE}过敏"),
        ("diet", rf"^{_SUBJECT}{_ADVERB}(?:是|吃)(?P<v>素食者?|素|清真|纯素)"),
        ("avoids", rf"^{_SUBJECT}{_ADVERB}(?:从不|不能|不)(?:吃|喝){_VALUE}"),
        ("dislikes", rf"^{_SUBJECT}{_ADVERB}(?:(?:不太|不怎么|不)(?:喜欢|爱)|讨厌|受不了|反感){_VALUE}"),
        ("prefers", rf"^{_SUBJECT}(?:(?P<c>[^，,。；;我]{{2,16}}?(?:时|的时候|期间|时候))，?)?{_ADVERB}(?:偏好|偏爱|习惯|倾向于?|总是选|一般选|通常选|喜欢选)(?:坐|住|用|吃|喝)?{_VALUE}"),
        ("likes", rf"^{_SUBJECT}{_ADVERB}(?:喜欢|爱|热爱|钟爱){_VALUE}"),
        ("speaks", rf"^{_SUBJECT}{_ADVERB}会说{_VALUE}"),
        ("has", rf"^{_SUBJECT}{_ADVERB}有(?P<v>[一两二三四五六七八九十\d]+[个只条辆位台套间][^，,。；;！!？?]{{1,30}}?)"),
        ("decided", rf"^{_SUBJECT}{_ADVERB}(?:决定|商定|同意){_VALUE}"),
        ("plans", rf"^{_SUBJECT}{_ADVERB}(?:打算|计划|准备){_VALUE}"),
        ("is_a", rf"^{_SUBJECT}{_ADVERB}是(?:一名|一位|一个|个|名){_VALUE}"),
    )
)  # fmt: skip
_NOTE = re.compile(r"^(?:请|麻烦)?(?:记住|记得|记一下|别忘了)[：:，,]?(?P<v>.{2,200}?)[。！!]?$")
_FAVOURITE = re.compile(rf"^{_SUBJECT}最喜欢的(?P<l>[^，,。；;是]{{1,8}})是{_VALUE}{_END}")
_GENERIC = re.compile(
    rf"^(?P<s>我们?|本人|[\u4e00-\u9fff]{{2,4}}?|[A-Z][\w\-]*)的(?P<l>[^，,。；;是为在的]{{1,8}}){_LABEL}{_VALUE}{_END}"
)
_COND_FIRST = re.compile(r"^(?P<c>[^，,。；;我]{2,16}?(?:时|的时候|期间|时候))[，,]?(?=我)")


def is_supposed(sentence: str) -> bool:
    """Whether a sentence supposes or wishes.

    Example:
        >>> is_supposed("如果我住在上海"), is_supposed("我住在上海")
        (True, False)
    """
    return _SUPPOSED.search(sentence) is not None


def facts_of(sentence: str, schema: FactSchema) -> Iterator[Fact]:
    """The facts of one Chinese sentence; clauses share the subject of the one before them.

    Example:
        >>> [(f.subject, f.attribute, f.value) for f in
        ...  facts_of("我在财务部工作，邮箱是li@example.com，不喜欢香菜。", FactSchema())]
        [('user', 'works_for', '财务部'), ('user', 'email', 'li@example.com'), ('user', 'dislikes', '香菜')]
    """
    note = _NOTE.match(sentence)
    if note:
        yield from list(facts_of(note["v"], schema)) or [Fact("user", "note", note["v"])]
        return
    condition = ""
    first = _COND_FIRST.match(sentence)
    if first:
        condition, sentence = first["c"], sentence[first.end() :]
    subject = ""
    for clause in re.split(r"[，,；;。！!\n]|(?<=\S)\s{2,}", sentence):
        clause = re.sub(
            r"^(?:你好|您好|嗨|对了|另外|还有|而且|并且|但是?|不过|然后|请注意)", "", clause.strip()
        )
        for fact, who in _of_clause(clause, subject, condition, schema):
            subject = who
            yield fact


def _of_clause(
    clause: str, subject: str, condition: str, schema: FactSchema
) -> Iterator[tuple[Fact, str]]:
    whole = clause
    if subject and not clause.startswith((subject, "我", "本人")):
        whole = subject + clause
    labelled = _by_label(clause, subject, schema) or _by_label(whole, subject, schema)
    if labelled is not None:
        yield labelled
        return
    for text in dict.fromkeys((whole, clause)):
        for attribute, pattern in _RULES:
            match = pattern.match(text)
            if match and _is_subject(match["s"]):
                spec = schema.spec(attribute)
                yield _fact(match, spec, match["v"], condition), match["s"]
                return


def _is_subject(name: str) -> bool:
    """Whether a name can be somebody: the speaker, or a name without pronoun and negation."""
    if name in ("我", "我们", "本人"):
        return True
    return name not in _NO_SUBJECTS and not any(char in name for char in "我你您他她它这那不没别")


def _by_label(clause: str, subject: str, schema: FactSchema) -> tuple[Fact, str] | None:
    favourite = _FAVOURITE.match(clause)
    if favourite:
        return _fact(
            favourite, AttributeSpec("favourite_" + favourite["l"]), favourite["v"]
        ), favourite["s"]
    match = _labels(schema).match(clause)
    if match and (match["s"] or subject):
        spec = schema.named(match["l"])
        value = match["v"].strip()
        if (
            spec
            and (not spec.pattern or re.fullmatch(spec.pattern, value))
            and _is_subject(match["s"] or subject)
        ):
            return _fact(match, spec, value, subject=match["s"] or subject), match["s"] or subject
    match = _GENERIC.match(clause)
    if match and _is_subject(match["s"]) and schema.named(match["l"]) is None:
        return _fact(match, AttributeSpec(match["l"]), match["v"]), match["s"]
    return None


@lru_cache(maxsize=16)
def _labels(schema: FactSchema) -> re.Pattern[str]:
    labels = "|".join(re.escape(label) for label in schema.labels() if not label.isascii())
    return re.compile(
        rf"^(?:(?P<s>我们?|本人|[\u4e00-\u9fff]{{2,4}}?|[A-Z][\w\-]*)的?)??(?P<l>{labels})"
        rf"(?:(?:现在)?(?:已经)?(?:改成了?|换成了?|变成了?|是|为|叫|：|:))?\s*{_VALUE}{_END}"
    )


def _fact(
    match: re.Match[str], spec: AttributeSpec, value: str, condition: str = "", subject: str = ""
) -> Fact:
    groups = match.groupdict()
    who = subject or groups.get("s") or "我"
    value = value.strip()
    value = value.removesuffix("了") if groups.get("not") or spec.kind == "Preference" else value
    return Fact(
        subject="user" if who in ("我", "本人") else who,
        attribute=spec.name,
        value=value,
        kind=spec.kind,
        condition=groups.get("c") or (condition if spec.kind == "Preference" else ""),
        negated=bool(groups.get("not")),
    )
