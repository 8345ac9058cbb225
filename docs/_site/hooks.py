"""Builds what the site has beyond its pages: API pages of all public names, links out of docs/.

A package is public when its ``__init__`` has ``__all__``; every name in it gets its docstring on
the page of its package, so that no public name can be missing.
"""

from __future__ import annotations

import inspect
import logging
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

LOG = logging.getLogger("mkdocs.hooks.api")
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "llama_index_semxpath"
#: Modules without a package of their own that people import from.
MODULES = ("errors", "testing.engine_suite", "testing.projection_suite")
INTRODUCTIONS = {
    PACKAGE: "What `import llama_index_semxpath` gives. The rooms below have pages of their own.",
}
# A link out of docs/ leads to a file of the repository, which the site does not hold.
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """Puts the API pages, and pages that the navigation forgot, into it."""
    listed = set(_listed(config["nav"]))
    docs = ROOT / "docs"
    pages = sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))
    rest = [page for page in pages if page not in listed]
    if rest:
        config["nav"].append({"More": rest})
    for part in config["nav"]:
        if "API" in part:
            part["API"] += [f"api/{module}.md" for module in _api_pages()]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds a page for each public package and an overview."""
    pages = _api_pages()
    for module, text in pages.items():
        files.append(File.generated(config, f"api/{module}.md", content=text))
    lines = [f"- [`{module}`]({module}.md)" for module in pages]
    overview = "# Overview\n\nEvery public name, from its docstring.\n\n" + "\n".join(lines) + "\n"
    files.append(File.generated(config, "api/overview.md", content=overview))
    return files


@cache
def _api_pages() -> dict[str, str]:
    """Page by module. A name that several export is described once, where it is most at home."""
    homes: dict[str, str] = {}
    pages = {}
    for name in MODULES:
        module = f"{PACKAGE}.{name}"
        pages[module] = f"# `{module}`\n\n::: {module}\n"
    inits = (ROOT / PACKAGE).rglob("__init__.py")
    modules = [".".join(init.parent.relative_to(ROOT).parts) for init in inits]
    for module in sorted(modules, key=lambda one: (-one.count("."), one)):
        names = public_names(module)
        if not names:
            continue
        parts = [f"# `{module}`", INTRODUCTIONS.get(module) or _about(module)]
        for path in names:
            home = path.rpartition(".")[0]
            page = home if home in pages else homes.setdefault(path, module)
            short = path.rpartition(".")[2]
            seen = page != module
            parts.append(f"- `{short}`: see [`{page}`]({page}.md)" if seen else f"::: {path}")
        pages[module] = "\n\n".join(parts) + "\n"
    return dict(sorted(pages.items()))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to files outside docs/ become their names."""
    return OUTSIDE.sub(r"\1 (`\2` in the repository)", markdown)


def public_names(room: str) -> list[str]:
    """Names in a package's ``__all__``, as the dotted paths of what they stand for."""
    module = import_module(room)
    found = []
    for name in sorted(getattr(module, "__all__", ())):
        try:
            thing = getattr(module, name)
        except ImportError as error:
            LOG.warning("%s.%s does not load: %s", room, name, error)
            continue
        home = getattr(thing, "__module__", "") or ""
        known = home.startswith(PACKAGE) and getattr(thing, "__name__", None) == name
        found.append(f"{home if known else room}.{name}")
    return [path for path in found if not path.rpartition(".")[2].startswith("_")]


def _about(module: str) -> str:
    return inspect.getdoc(import_module(module)) or ""


def _listed(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav or []
    return [page for part in parts for page in _listed(part)]
