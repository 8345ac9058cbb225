"""Facts as agents keep them: subject, attribute, value, and how long and how surely they hold."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from llama_index_semxpath.memory.evidence import content_stems
from llama_index_semxpath.node_parser.values import parse_date, parse_quantity
from llama_index_semxpath.text import nfc

_EDGES = " \t\n.,;:!?。，；：！？、\"'“”‘’「」()（）"


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement.

    Args:
        subject: Whom or what it is about; ``user`` for whoever speaks without a name.
        attribute: What of it, such as ``lives_in``; see :class:`FactSchema`.
        value: The value as written.
        text: The sentence that says so.
        kind: Kind of the node that keeps it: ``Fact`` or ``Preference``.
        condition: When it holds, as written ("on long flights").
        negated: The statement ends the fact ("no longer works for Lumo").
        confidence: How sure it is, in (0, 1].
        weight: How much its source counts, > 0.
        source: What said so: the id of a turn, or a name.
        valid_from: When it began to hold, or when it was said.
        valid_until: When it stopped, ``None`` while it holds.
        id: Id of the node that keeps it, ``""`` before it is kept.

    Example:
        >>> Fact("Pia", "lives_in", "Oslo").sentence()
        'Pia lives in Oslo'
    """

    subject: str
    attribute: str
    value: str
    text: str = ""
    kind: str = "Fact"
    condition: str = ""
    negated: bool = False
    confidence: float = 0.8
    weight: float = 1.0
    source: str = ""
    valid_from: dt.datetime | None = None
    valid_until: dt.datetime | None = None
    id: str = ""

    def sentence(self) -> str:
        """The sentence that said so, or one made of the parts."""
        return self.text or f"{self.subject} {self.attribute.replace('_', ' ')} {self.value}"


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """What is known of an attribute beforehand.

    Args:
        name: Its name.
        single: Whether a subject has one value of it at a time (an address, not a hobby).
        labels: What people call it, in any language; also found in "my <label> is …".
        opposite: The attribute that says the contrary of the same value (``likes``).
        kind: Kind of the node that keeps it.
        pattern: What a value looks like, as a regular expression over the whole value.
    """

    name: str
    single: bool = True
    labels: tuple[str, ...] = ()
    opposite: str = ""
    kind: str = "Fact"
    pattern: str = ""


def _spec(name: str, labels: str = "", *, single: bool = True, **more: str) -> AttributeSpec:
    return AttributeSpec(name, single, tuple(labels.split("|")) if labels else (), **more)


_PHONE = r"\+?[\d(][\d\s()\-–]{4,18}\d"
_EMAIL = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"

#: Attributes that assistants meet everywhere.
COMMON_ATTRIBUTES = (
    _spec("name", "name|full name|姓名|名字"),
    _spec(
        "phone",
        "phone|phone number|mobile|mobile number|cell|telephone"
        "|电话|电话号码|手机|手机号|手机号码|联系电话",
        pattern=_PHONE,
    ),
    _spec(
        "email",
        "email|e-mail|mail|email address|e-mail address|邮箱|电子邮箱|邮件地址|邮箱地址",
        pattern=_EMAIL,
    ),
    _spec("address", "address|home address|地址|住址|家庭住址|家庭地址"),
    _spec("birthday", "birthday|date of birth|生日|出生日期"),
    _spec("age", "age|年龄"),
    _spec("lives_in", "home town now|city|现居地|居住地"),
    _spec("origin", "hometown|home town|birthplace|家乡|老家|籍贯"),
    _spec("works_for", "employer|company|公司|单位|工作单位"),
    _spec("department", "department|team|部门|团队"),
    _spec("job", "job|job title|position|role|occupation|profession|职位|职务|岗位|职业"),
    _spec("manager", "manager|boss|supervisor|line manager|上级|领导|经理|主管|直属上级"),
    _spec("spouse", "wife|husband|spouse|partner|妻子|丈夫|爱人|太太|老公|老婆"),
    _spec("commutes_by", "way to work|commute|通勤方式"),
    _spec("diet", "diet|饮食"),
    _spec("timezone", "timezone|time zone|时区"),
    _spec("language", "native language|mother tongue|母语"),
    _spec("office_in", single=False),
    _spec("has", single=False),
    _spec("is_a", single=False),
    _spec("speaks", single=False),
    _spec("allergic_to", "allergy|过敏源", single=False),
    _spec("likes", single=False, opposite="dislikes", kind="Preference"),
    _spec("dislikes", single=False, opposite="likes", kind="Preference"),
    _spec("prefers", "preference|偏好", single=False, kind="Preference"),
    _spec("avoids", single=False, kind="Preference"),
    _spec("decided", single=False),
    _spec("note", single=False),
    _spec("plans", single=False),
)  # fmt: skip


@dataclass(frozen=True)
class FactSchema:
    """The attributes that are known, by name and by label.

    An attribute that is not declared has several values: then nothing is ever retired by mistake.

    Args:
        attributes: Declared attributes; a later one takes the place of an earlier of its name.

    Example:
        >>> schema = FactSchema.of(AttributeSpec("badge", labels=("badge number", "工号")))
        >>> schema.spec("badge").single, schema.named("工号").name, schema.spec("hobby").single
        (True, 'badge', False)
    """

    attributes: tuple[AttributeSpec, ...] = COMMON_ATTRIBUTES
    _by_name: Mapping[str, AttributeSpec] = field(init=False, repr=False, compare=False)
    _by_label: Mapping[str, AttributeSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {spec.name: spec for spec in self.attributes}
        labels = {label.casefold(): spec for spec in by_name.values() for label in spec.labels}
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_by_label", labels)

    @classmethod
    def of(cls, *attributes: AttributeSpec, single_valued: Sequence[str] = ()) -> FactSchema:
        """The common attributes and some of one's own.

        Args:
            attributes: Further attributes.
            single_valued: Names of further attributes that have one value at a time.
        """
        plain = tuple(AttributeSpec(name) for name in single_valued)
        return cls((*COMMON_ATTRIBUTES, *attributes, *plain))

    def spec(self, name: str) -> AttributeSpec:
        """What is known of an attribute."""
        return self._by_name.get(name) or AttributeSpec(name, single=name.startswith("favourite_"))

    def named(self, label: str) -> AttributeSpec | None:
        """The attribute that people call by a label."""
        return self._by_label.get(label.casefold())

    def labels(self) -> list[str]:
        """All labels, the longest first."""
        return sorted(self._by_label, key=len, reverse=True)


def same_subject(one: str, other: str) -> bool:
    """Whether two names of subjects are the same up to case, width and spaces.

    Example:
        >>> same_subject("Pia", "pia "), same_subject("Pia", "Pia's dog")
        (True, False)
    """
    return folded(one) == folded(other)


def same_value(one: str, other: str) -> bool:
    """Whether two values say the same: as dates, quantities, codes, or words in any order.

    Example:
        >>> same_value("the aisle seat", "aisle seats"), same_value("2031-01-02", "2 January 2031")
        (True, True)
        >>> same_value("138 1234 5678", "13812345678"), same_value("Oslo", "Turin")
        (True, False)
        >>> same_value("5 km", "5 miles")
        False
    """
    left, right = folded(one), folded(other)
    if left == right:
        return True
    dates = parse_date(left), parse_date(right)
    if dates[0] is not None and dates[1] is not None:
        return dates[0] == dates[1]
    amounts = parse_quantity(left), parse_quantity(right)
    if amounts[0] is not None and amounts[1] is not None:
        return amounts[0] == amounts[1]
    codes = [re.sub(r"[\s\-–()]", "", text) for text in (left, right)]
    if codes[0] == codes[1]:
        return True
    stems = [frozenset(content_stems(text)) for text in (left, right)]
    return bool(stems[0]) and stems[0] == stems[1]


def folded(text: str) -> str:
    """A text in the form in which values are compared.

    Example:
        >>> folded(" Ｏｓｌｏ. ")
        'oslo'
    """
    plain = unicodedata.normalize("NFKC", nfc(text)).casefold()
    return " ".join(plain.split()).strip(_EDGES)


def at_subject(fact: Fact, speaker: str) -> Fact:
    """The fact about a named speaker where it is about "user".

    Example:
        >>> at_subject(Fact("user", "likes", "tea"), "Rio").subject
        'Rio'
    """
    return replace(fact, subject=speaker) if fact.subject == "user" and speaker else fact
