"""YAML as people mean it: PyYAML with the scalars of YAML 1.2's core schema, and dates.

YAML 1.1 reads ``yes`` and ``no`` as booleans, ``007`` as octal and ``12:30`` as the number 750; a
reader of a document sees words, a code and a time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_TAG = "tag:yaml.org,2002:"
#: What plain scalars mean, by their first characters; everything else is a string.
_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:[0-9]*\.[0-9]+|(?:0|[1-9][0-9]*)\.?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    (
        "timestamp",
        r"\d{4}-\d\d?-\d\d?(?:(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?"
        r"(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)?",
        "0123456789",
    ),
    ("merge", r"<<", "<"),
)


@cache
def yaml_loader() -> Any:
    """The class to give to PyYAML as ``Loader``; it makes plain data only.

    Example:
        >>> import yaml
        >>> yaml.load("[007, yes, 12:30, 1.5, 2024-05-01]", Loader=yaml_loader())
        ['007', 'yes', '12:30', 1.5, datetime.date(2024, 5, 1)]
    """
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("PlainLoader", (base,), {"yaml_implicit_resolvers": {}})
    for name, pattern, first in _SCALARS:
        loader.add_implicit_resolver(_TAG + name, re.compile(rf"(?:{pattern})\Z"), list(first))
    return loader
