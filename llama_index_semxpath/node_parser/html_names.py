"""Names of the elements of HTML."""

from __future__ import annotations

_NAMES = (
    "a abbr acronym address applet area article aside audio b base basefont bdi bdo big "
    "blockquote body br button canvas caption center cite code col colgroup data datalist dd "
    "del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer form "
    "frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd "
    "label legend li link main map mark math menu meta meter nav noframes noscript object ol "
    "optgroup option output p param picture pre progress q rp rt ruby s samp script search "
    "section select slot small source span strike strong style sub summary sup svg table tbody "
    "td template textarea tfoot th thead time title tr track tt u ul var video wbr"
)
#: Every element name of the HTML Living Standard and of HTML 4, in lower case.
HTML_NAMES = frozenset(_NAMES.split())
