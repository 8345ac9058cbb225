"""The forms of statement that the package sends, and which published cases exercise each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_S = re.IGNORECASE | re.DOTALL
#: Form -> what marks it in a text; in the order in which a statement of ours is matched.
FORMS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, _S)
    for name, pattern in {
        "SHOW SPACES": r"^\s*SHOW SPACES",
        "SHOW TAGS": r"^\s*SHOW TAGS",
        "CREATE SPACE": r"^\s*CREATE (a )?SPACE",
        "USE": r"^\s*USE ",
        "DESCRIBE SPACE": r"^\s*DESC(RIBE)? SPACE",
        "CREATE TAG": r"^\s*CREATE TAG (?!INDEX)",
        "CREATE EDGE": r"^\s*CREATE EDGE (?!INDEX)",
        "CREATE TAG INDEX": r"^\s*CREATE TAG INDEX",
        "CREATE EDGE INDEX": r"^\s*CREATE EDGE INDEX",
        "DESCRIBE TAG": r"^\s*DESC(RIBE)? TAG",
        "ALTER TAG ADD": r"^\s*ALTER TAG \S+ ADD",
        "INSERT VERTEX": r"^\s*INSERT VERTEX",
        "INSERT EDGE": r"^\s*INSERT EDGE",
        "DELETE VERTEX WITH EDGE": r"^\s*DELETE VERTEX .* WITH EDGE",
        "DELETE EDGE": r"^\s*DELETE EDGE",
        "FETCH PROP ON tag": r"^\s*FETCH PROP ON (?![^;|]*->)",
        "GO … | ORDER BY … | LIMIT": r"^\s*GO [^;]*\|\s*ORDER BY [^;]*\|\s*LIMIT",
        "GO … REVERSELY": r"^\s*GO .* REVERSELY",
        "GO … BIDIRECT": r"^\s*GO .* BIDIRECT",
        "GO … WHERE": r"^\s*GO .* WHERE",
        "GO … YIELD DISTINCT": r"^\s*GO .* YIELD DISTINCT",
        "GO": r"^\s*GO ",
        "LOOKUP … | ORDER BY … | LIMIT": r"^\s*LOOKUP [^;]*\|\s*ORDER BY [^;]*\|\s*LIMIT",
        "LOOKUP … WHERE": r"^\s*LOOKUP .* WHERE",
        "LOOKUP … | YIELD count": r"^\s*(LOOKUP|GO|YIELD) .*\|\s*YIELD [^|;]*COUNT\(",
        "LOOKUP": r"^\s*LOOKUP ",
        "MATCH … WHERE … ORDER BY … LIMIT": r"^\s*MATCH\b.*ORDER BY .*LIMIT",
        "MATCH … WHERE": r"^\s*MATCH\b.* WHERE",
        "MATCH": r"^\s*MATCH\b",
        "YIELD (the client's ping)": r"^\s*YIELD ",
    }.items()
}


def form_of(statement: str) -> str:
    """The form of a statement that the package sent; ``""`` for one that has none."""
    return next((name for name, pattern in FORMS.items() if pattern.search(statement)), "")


def forms_in(text: str) -> set[str]:
    """All forms that the statements of a published case exercise."""
    statements = [part for part in text.split(";") if part.strip()]
    return {
        name for name, pattern in FORMS.items() if any(pattern.search(part) for part in statements)
    }


def table(forms_of_passed: Iterable[set[str]]) -> Counter[str]:
    """How many passed scenarios exercise each form."""
    counts = Counter(name for found in forms_of_passed for name in found)
    return Counter({name: counts[name] for name in FORMS})
