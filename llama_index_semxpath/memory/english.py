"""Statements about people in English."""

# ruff: noqa: E501 - a rule of a table reads best on one line

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from llama_index_semxpath.memory.facts import AttributeSpec, Fact, FactSchema, folded

_SUPPOSED = re.compile(
    r"\b(?:if|unless|would|could|might|maybe|perhaps|suppose|imagine|pretend|wish|hope|wonder"
    r"|let's|shall|should i)\b",
    re.IGNORECASE,
)
#: Who is spoken of: "I", a name, or a name's or the speaker's something ("Pia's dog").
_SUBJECT = (
    r"(?P<s>\bI\b|\b[Mm]y (?:wife|husband|partner|son|daughter|brother|sister|mother|father|mom|mum|dad"
    r"|boss|manager|dog|cat|friend)\b|\b[A-Z][\w\-]*(?: [A-Z][\w\-]*){0,2}(?:['’]s [a-z]+)?)"
)
_BE = r"(?:['’]m|['’]s|['’]re| am| is| are| was)"
_ADVERB = (
    r"(?:(?: (?:really|also|now|currently|still|just|absolutely|actually|recently|always|usually"
    r"|normally|generally|mostly|often|only|have|has|'ve))|['’]ve)*"
)
_NOT = r"(?P<not> (?:don['’]?t|do not|does(?:n['’]?t| not)|no longer|never|did(?:n['’]?t| not)))?"
_END = r"(?=\s*(?:[.,;:!?()]|$|\s(?:and|but|or|so|because|since|which|who|though|although|while|now|then|anymore|any more|these days|for|with my|not|never)\b))"
_VALUE = r"(?P<v>[^\s.,;:!?()][^,;:!?()\n]{0,80}?)" + _END
_PROPER = r"(?P<v>[A-Z][\w'’&.\-]*(?: (?:of|the|de|la|van|and|&)? ?[A-Z][\w'’&\-]*){0,3})"
_CONDITION = re.compile(
    r"\s(?P<c>(?:on|for|when|during|if|in the|at) [^,;:!?()]{2,60}|(?:whenever|while) [^,;:!?()]{2,60})$"
)
#: "…, but aisle seats on short ones": a value that shares the verb of the clause before it.
_SHARED = re.compile(r"(?P<v>[\w' \-]{2,40}?) (?P<c>(?:on|for|when|during|in) [\w' \-]{2,40})")
_SMALL = re.compile(
    r"^(?:that|to|when|what|how|not|very|so|really|going|too|quite|just|like|always|never|as|because|been|being)\b|^\w+ing\b"
)
_DETERMINER = re.compile(r"^(?:a|an|the|my|some|our)\s+", re.IGNORECASE)
_LEADING = re.compile(
    r"^(?:well|hi|hello|hey|oh|yes|yeah|no|and|but|so|also|btw|ok|okay|actually|by the way)[,!.:]?\s+",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    [
        "i",
        "it",
        "this",
        "that",
        "there",
        "he",
        "she",
        "they",
        "we",
        "you",
        "the",
        "a",
        "an",
        "my",
        "our",
        "his",
        "her",
        "their",
        "what",
        "who",
        "when",
        "where",
        "why",
        "how",
        "here",
        "everyone",
        "nobody",
        "someone",
        "if",
        "but",
        "and",
        "so",
        "then",
        "also",
        "today",
        "yesterday",
        "tomorrow",
    ]
)


def _rule(attribute: str, pattern: str, value: str = "v") -> tuple[str, re.Pattern[str], str]:
    return attribute, re.compile(pattern), value


_RULES: Sequence[tuple[str, re.Pattern[str], str]] = (
    _rule("name", rf"\b[Mm]y (?:full )?name(?: is|['’]s) {_PROPER}"),
    _rule("name", rf"\b(?:[Pp]lease )?[Cc]all me {_PROPER}"),
    _rule("name", rf"\bI{_BE} (?:called|named) {_PROPER}"),
    _rule("age", rf"{_SUBJECT}{_BE} (?P<v>\d{{1,3}})(?: years? old\b|{_END})"),
    _rule("birthday", rf"{_SUBJECT}(?: was| were) born (?:on|in) (?P<v>[^,;.!?]*\d[^;.!?]{{0,12}}?){_END}"),
    _rule("origin", rf"{_SUBJECT}{_BE}(?: originally)? from {_PROPER}"),
    _rule("lives_in", rf"{_SUBJECT}{_ADVERB}{_NOT}{_ADVERB} (?:live[sd]?|reside[sd]?) in {_PROPER}"),
    _rule("lives_in", rf"{_SUBJECT}{_BE}{_ADVERB} (?:living|based) in {_PROPER}"),
    _rule("lives_in", rf"{_SUBJECT}{_ADVERB} (?:moved|relocated)(?: (?:back|over))?(?: from [^,;.!?]{{1,40}}?)? to {_PROPER}"),
    _rule("works_for", rf"{_SUBJECT}{_ADVERB}{_NOT}{_ADVERB} works? (?:for|at) {_PROPER}"),
    _rule("works_for", rf"{_SUBJECT}{_BE}{_ADVERB} (?:working|employed) (?:for|at|by) {_PROPER}"),
    _rule("works_for", rf"{_SUBJECT}{_ADVERB} (?:joined|started at) {_PROPER}"),
    _rule("job", rf"{_SUBJECT}{_ADVERB} works? as (?:a |an |the )?{_VALUE}"),
    _rule("office_in", rf"{_SUBJECT}{_ADVERB} (?:has|have) an? office in {_PROPER}"),
    _rule("commutes_by", rf"{_SUBJECT}{_ADVERB}{_NOT}{_ADVERB} (?:takes?|rides?) (?P<v>(?:the |a |my )?[\w ]{{2,30}}?) to (?:work|the office)\b"),
    _rule("commutes_by", rf"{_SUBJECT}{_ADVERB}{_NOT}{_ADVERB} (?P<way>cycles?|bikes?|drives?|walks?|runs?) to (?:work|the office)\b", "way"),
    _rule("commutes_by", rf"{_SUBJECT}{_ADVERB} (?:commutes?|goes|go|gets?) to (?:work|the office) (?:by|on) (?P<v>[\w ]{{2,30}}?){_END}"),
    _rule("allergic_to", rf"{_SUBJECT}{_BE}{_ADVERB} allergic to {_VALUE}"),
    _rule("diet", rf"{_SUBJECT}{_BE}{_ADVERB} (?:a |an )?(?P<v>vegetarian|vegan|pescatarian|lactose[- ]intolerant|gluten[- ]free)\b"),
    _rule("avoids", rf"{_SUBJECT} (?:don['’]?t|do not|doesn['’]?t|does not|never|can['’]?t|cannot) (?:eat|drink) {_VALUE}"),
    _rule("speaks", rf"{_SUBJECT}{_ADVERB} speaks? (?P<v>[A-Z][a-z]+(?:(?:, | and |, and )[A-Z][a-z]+)*)"),
    _rule("dislikes", rf"{_SUBJECT}{_ADVERB}(?: do| does| did)?(?: not|n['’]t) (?:like|enjoy|love|want) {_VALUE}"),
    _rule("dislikes", rf"{_SUBJECT}{_ADVERB} (?:dislikes?|hates?|detests?|can['’]?t stand|cannot stand) {_VALUE}"),
    _rule("likes", rf"{_SUBJECT}{_ADVERB} (?:likes?|loves?|enjoys?|adores?|{_BE[3:-1]} (?:fond of|a fan of|into|keen on)) {_VALUE}"),
    _rule("likes", rf"{_SUBJECT}{_BE}{_ADVERB} (?:fond of|a (?:big |huge )?fan of|into|keen on) {_VALUE}"),
    _rule("prefers", rf"{_SUBJECT}{_ADVERB} prefers? {_VALUE}"),
    _rule("prefers", rf"{_SUBJECT} (?:always|usually|normally|generally) (?:takes?|books?|chooses?|choose|wants?|sits? (?:in|on|at)|orders?|drinks?|eats?|flies|fly|stays? (?:at|in)) {_VALUE}"),
    _rule("has", rf"{_SUBJECT}{_ADVERB} (?:has|have|own|owns|got) (?P<v>(?:an?|two|three|four|five|\d+) (?!office in)[^,;:.!?()]{{2,60}}?){_END}"),
    _rule("decided", rf"\b(?:[Ww]e|I) (?:have )?(?:decided|agreed) (?:to|that|on) {_VALUE}"),
    _rule("plans", rf"{_SUBJECT}{_ADVERB} (?:plans?|intends?|{_BE[3:-1]} planning) to {_VALUE}"),
    _rule("is_a", rf"{_SUBJECT}{_BE}{_ADVERB} an? (?!big|huge|bit|little|lot|few|fan|vegetarian|vegan|pescatarian)(?P<v>[a-z][^,;:.!?()]{{2,40}}?){_END}"),
)  # fmt: skip
_NOTE = re.compile(
    r"^(?:[Pp]lease )?(?:[Rr]emember|[Nn]ote|[Dd]on['’]t forget)(?: that)?:? (?P<v>.{3,300}?)[.!]?$"
)
#: "Ann and Bob live in Rome": each of them does.
_TOGETHER = re.compile(
    r"(?P<names>(?:[A-Z][\w\-]*|I)(?:, (?:[A-Z][\w\-]*|I))*,? and (?:[A-Z][\w\-]*|I)) (?P<rest>[a-z].+)"
)
#: Values that point to something said before.
_POINTERS = frozenset(
    ["it", "this", "that", "them", "those", "these", "him", "her", "you", "one", "ones", "so"]
)
_WAYS = {"cycle": "bicycle", "bike": "bicycle", "drive": "car", "walk": "on foot", "run": "on foot"}


def is_supposed(sentence: str) -> bool:
    """Whether a sentence supposes, wishes or proposes.

    Example:
        >>> is_supposed("I would like to live in Oslo"), is_supposed("I live in Oslo")
        (True, False)
    """
    return _SUPPOSED.search(sentence) is not None and not sentence.startswith("Remember")


def facts_of(sentence: str, schema: FactSchema) -> Iterator[Fact]:
    """The facts of one English sentence.

    Example:
        >>> [(f.subject, f.attribute, f.value) for f in
        ...  facts_of("Pia moved from Oslo to Turin", FactSchema())]
        [('Pia', 'lives_in', 'Turin')]
        >>> [(f.value, f.condition) for f in
        ...  facts_of("I always take the aisle seat on short flights.", FactSchema())]
        [('aisle seat', 'on short flights')]
    """
    sentence = _LEADING.sub("", sentence)
    note = _NOTE.match(sentence)
    if note:
        inner = list(facts_of(note["v"][:1].upper() + note["v"][1:], schema))
        yield from inner or [Fact("user", "note", note["v"])]
        return
    together = _TOGETHER.match(sentence)
    if together:
        for name in re.split(r", (?:and )?| and ", together["names"]):
            yield from facts_of(f"{name} {together['rest']}", schema)
        return
    taken: list[tuple[int, int]] = []
    for match, spec in _labelled(sentence, schema):
        taken.append(match.span("v"))
        if (fact := _fact(match, spec, match["v"])) is not None:
            yield fact
    subject = ""
    preference: Fact | None = None
    for clause, begin in _clauses(sentence):
        start = begin
        if subject and not re.match(_SUBJECT, clause):
            clause, start = f"{subject} {clause}", start - len(subject) - 1
        first = re.match(_SUBJECT, clause)
        if first and folded(first["s"]) not in _NO_NAMES - {"i"}:
            subject = first["s"]
        said = list(_of_clause(clause, start, schema, taken))
        other = _SHARED.fullmatch(sentence[begin:].strip(" .")) if not said else None
        if other and preference:
            said = [replace(preference, value=_bare(other["v"]), condition=other["c"])]
        preference = next((fact for fact in said if fact.kind == "Preference"), None)
        yield from said


def _of_clause(
    clause: str, start: int, schema: FactSchema, taken: list[tuple[int, int]]
) -> Iterator[Fact]:
    for attribute, pattern, value in _RULES:
        for match in pattern.finditer(clause):
            span = match.start(value) + start, match.end(value) + start
            if any(span[0] < end and begin < span[1] for begin, end in taken):
                continue
            fact = _fact(match, schema.spec(attribute), match[value])
            if fact is not None:
                taken.append(span)
                yield fact


def _labelled(sentence: str, schema: FactSchema) -> Iterator[tuple[re.Match[str], AttributeSpec]]:
    """ "My <label> is …" for labels of the schema, favourites, and short labels of any kind."""
    for match in _labels(schema).finditer(sentence):
        spec = schema.named(match["l"])
        if spec is not None and _fits(spec, match["v"]):
            yield match, spec
    for match in _GENERIC.finditer(sentence):
        label, value = match["l"].strip(), match["v"]
        if schema.named(label) is None and not _SMALL.match(value) and label not in _NO_LABELS:
            name = re.sub(r"^favou?rite ", "favourite ", label).replace(" ", "_").replace("-", "_")
            yield match, AttributeSpec(name, single=True)


_NO_LABELS = frozenset(
    [
        "day",
        "week",
        "point",
        "question",
        "problem",
        "plan",
        "idea",
        "weekend",
        "life",
        "bad",
        "guess",
        "opinion",
    ]
)
_GENERIC = re.compile(
    r"\b(?:(?P<s>[A-Z][\w\-]*(?: [A-Z][\w\-]*){0,2})['’]s|[Mm]y|[Oo]ur) (?P<l>(?:favou?rite )?[a-z][a-z\-]*(?: [a-z\-]+){0,2}?)"
    rf"(?: is|['’]s| was)(?: now| currently| called)? (?P<v>[^\s.,;:!?()][^,;:!?()\n]{{0,60}}?){_END}"
)


@lru_cache(maxsize=16)
def _labels(schema: FactSchema) -> re.Pattern[str]:
    labels = "|".join(re.escape(label) for label in schema.labels() if label.isascii())
    return re.compile(
        r"(?:\b(?:(?P<s>[A-Z][\w\-]*(?: [A-Z][\w\-]*){0,2})['’]s|[Mm]y|[Oo]ur) |^|[,;] (?:and )?)(?P<l>(?:"
        + labels
        + r"))(?: is| are|['’]s|:)(?: now| currently| called)? ?(?P<v>[^\s,;!?()][^,;!?\n]{0,80}?)"
        + r"(?=\s*(?:[,;!?\n]|\.(?:\s|$)|$|\s(?:and|but|or|so|because)\b))",
        re.IGNORECASE,
    )


def _fits(spec: AttributeSpec, value: str) -> bool:
    if spec.pattern:
        return re.fullmatch(spec.pattern, value.strip()) is not None
    return not _SMALL.match(value)


def _fact(match: re.Match[str], spec: AttributeSpec, value: str) -> Fact | None:
    groups = match.groupdict()
    subject = (groups.get("s") or "I").strip()
    if folded(subject) in _NO_NAMES - {"i"}:
        return None
    condition = ""
    if spec.kind == "Preference" and (found := _CONDITION.search(value)):
        value, condition = value[: found.start()], found["c"]
    value = _WAYS.get(value.lower().removesuffix("s"), value) if groups.get("way") else value
    value = _bare(value)
    if not value or value.lower() in _POINTERS:
        return None
    return Fact(
        subject=_person(subject),
        attribute=spec.name,
        value=value,
        kind=spec.kind,
        condition=condition,
        negated=bool(groups.get("not")),
    )


def _bare(value: str) -> str:
    return _DETERMINER.sub("", value.strip()).rstrip(" .")


def _person(subject: str) -> str:
    if subject == "I":
        return "user"
    return re.sub(r"^[Mm]y ", "user's ", subject)


def _clauses(sentence: str) -> Iterator[tuple[str, int]]:
    """Clauses with their offsets; a clause without a subject shares the one before it."""
    start = 0
    for cut in re.finditer(
        r"\s*[,;]\s*(?:and |but )?|\s+(?:and|but)\s+(?=(?:I|[a-z]+s?)\b)", sentence
    ):
        yield sentence[start : cut.start()], start
        start = cut.end()
    yield sentence[start:], start
