"""Grades nodes for ``=~`` and ``bm25()``: each phrase once a node, by the dataset's scorers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from llama_index_semxpath.engines.base import Dataset, Scope, Scorer, SearchRequest, Targets
from llama_index_semxpath.engines.leaves import OWN_TEXT
from llama_index_semxpath.engines.sets import NodeSet, ValueSet, flags, group_starts
from llama_index_semxpath.engines.values import Scores, Strings, Value
from llama_index_semxpath.errors import (
    QueryCapabilityError,
    QueryTypeError,
    ScorerError,
    SemXPathError,
)
from llama_index_semxpath.tree.columns import Floats, Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast

if TYPE_CHECKING:
    from llama_index_semxpath.engines.evaluate import Evaluator

#: Most subtrees that a search is restricted to, and most nodes it returns.
_SEARCH_ROOTS = 1_000
_SEARCH_LIMIT = 16_384


class Grader:
    """Grades for one run; what was graded once is not graded again.

    Args:
        dataset: Scorers and keywords.
        table: The tree as the reader sees it.
        query: The query text, for errors.
    """

    def __init__(self, dataset: Dataset, table: TreeTable, query: str) -> None:
        self.dataset = dataset
        self.table = table
        self.query = query
        self.known: dict[tuple[str, str | None, str], Floats] = {}

    def meaning(self, subject: Value, phrase: Value, count: int, expr: ast.Binary) -> Scores:
        """``subject =~ phrase`` in every context: the best of a set, 0 for an empty one."""
        scorer = self.dataset.scorer
        if scorer is None:
            raise QueryCapabilityError(
                "grading by meaning needs embeddings, which this index does not have",
                query=self.query,
                offset=expr.span[0],
                hint="build the index with an embedding model, or use bm25() or contains()",
            )
        return Scores(self._checked(scorer, subject, phrase, count, expr))

    def keywords(self, subject: Value, phrase: Value, count: int, expr: ast.Expr) -> Scores:
        """``bm25(subject, phrase)`` in every context."""
        from llama_index_semxpath.engines.bm25 import KeywordScorer

        scorer = KeywordScorer.of(self.dataset, self.table)
        return Scores(self._checked(scorer, subject, phrase, count, expr))

    def _checked(
        self, scorer: Scorer, subject: Value, phrase: Value, count: int, expr: ast.Expr
    ) -> Floats:
        if not isinstance(phrase, Strings):
            raise self._error("a phrase must be a string", expr)
        if not isinstance(subject, NodeSet | ValueSet):
            raise self._error("only nodes and attributes can be graded", expr)
        # `check` lets only literals and parameters be phrases: one for all contexts.
        return self._best(scorer, phrase.texts()[0], subject, count)

    def _best(self, scorer: Scorer, phrase: str, subject: NodeSet | ValueSet, count: int) -> Floats:
        if isinstance(subject, NodeSet):
            grades = self._graded(scorer, phrase, subject.rows, None)
        else:
            grades = np.zeros(len(subject.rows))
            for column, places in subject.parts():
                if len(places):
                    field = None if column is None or column.name == OWN_TEXT else column.name
                    grades[places] = self._graded(scorer, phrase, subject.rows[places], field)
        if subject.owner is None:
            return np.array([grades.max() if len(grades) else 0.0])
        if len(subject.owner) == count and bool((np.diff(subject.owner) == 1).all()):
            return grades
        best = np.zeros(count)
        starts = group_starts(subject.owner)
        if len(starts):
            best[subject.owner[starts]] = np.maximum.reduceat(grades, starts)
        return best

    def _graded(self, scorer: Scorer, phrase: str, rows: Rows, field: str | None) -> Floats:
        """Scores of rows, computed where they are not known yet."""
        key = (phrase, field, scorer.name)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = np.full(len(self.table), np.nan)
        missing = np.isnan(known[rows])
        if missing.any():
            wanted = rows if missing.all() else np.unique(rows[missing])
            if missing.all() and len(wanted) > 1 and not bool((np.diff(wanted) > 0).all()):
                wanted = np.unique(wanted)
            known[wanted] = checked_grades(scorer, phrase, Targets(self.table, wanted, field))
        grades: Floats = known[rows]
        return grades

    def searched(
        self, evaluator: Evaluator, expr: ast.Expr, rows: Rows, origin: NodeSet, step: ast.Step
    ) -> tuple[Mask, Floats] | None:
        """A filter ``[. =~ "…"]`` over very many nodes, through the scorer's index.

        Returns ``None`` where the filter is another, the nodes are few, or there is no index.
        """
        scorer = self.dataset.scorer
        phrase = _plain_phrase(expr, evaluator)
        if scorer is None or phrase is None or evaluator.passing <= 0:
            return None
        limit = self.dataset.exact_limit
        if len(rows) <= limit:
            if type(scorer).search is not Scorer.search:
                exact = f"exact, all {len(rows):,} (search only above {limit:,})"
                evaluator.recorder.method(expr, exact)
            return None
        scope = self._scope(origin, step)
        request = SearchRequest(scope, evaluator.passing, _SEARCH_LIMIT)
        try:
            found = scorer.search(phrase, request)
        except SemXPathError:
            raise
        except Exception as error:
            raise ScorerError("the vector search failed", where=str(error)) from error
        log = scope.log
        if found is None or log.is_cut:
            cut = f"more than {_SEARCH_LIMIT:,} are near"
            reason = cut if log.is_cut else "no index to search"
            evaluator.recorder.method(expr, f"exact, all {len(rows):,} ({reason})")
            return None
        places = [self.table.position(node_id) for node_id in found[0]]
        scores = np.zeros(len(self.table))
        for place, score in zip(places, found[1].tolist(), strict=True):
            # A hit outside the reader's tree is as good as none.
            if place is not None:
                scores[place] = score
        grades = scores[rows]
        self.known[(phrase, None, scorer.name)] = np.where(scores > 0, scores, np.nan)
        kept = grades >= evaluator.passing
        method = f"{log.method or 'approximate search'}, {int(kept.sum()):,} of {len(rows):,}"
        evaluator.recorder.method(expr, method, log.engine, log.pushed)
        return kept, grades

    def _scope(self, origin: NodeSet, step: ast.Step) -> Scope:
        base = self.table.base_rows
        rows = origin.rows if base is None else base[origin.rows]
        whole = getattr(self.table, "base", self.table)
        roots = None
        if step.axis in ("child", "descendant", "descendant-or-self") and not (rows == 0).any():
            ends = whole.end[rows]
            outer = np.concatenate([[True], rows[1:] >= np.maximum.accumulate(ends)[:-1]])
            roots = rows[outer] if outer.sum() <= _SEARCH_ROOTS else None
        kinds = (step.test.name,) if step.test.type == "name" else ()
        visible = None if base is None else flags(base, len(whole))
        return Scope(whole, roots, kinds, visible)

    def why(self, rows: Rows) -> dict[str, Floats]:
        """For each phrase the grades of rows, NaN where one was not asked about."""
        found = {}
        for (phrase, field, scorer), known in self.known.items():
            grades = known[rows]
            if not np.isnan(grades).all():
                name = "bm25" if scorer.startswith("bm25") else "=~"
                subject = "." if field is None else f"@{field}"
                found[f'{subject} {name} "{phrase}"'] = grades
        return found

    def _error(self, message: str, expr: ast.Expr) -> QueryTypeError:
        return QueryTypeError(message, query=self.query, offset=expr.span[0])


def checked_grades(scorer: Scorer, phrase: str, targets: Targets) -> Floats:
    """A scorer's grades, or one clear error.

    Raises:
        ScorerError: It failed, or gave something that is no list of scores in [0, 1].
    """
    try:
        grades = np.asarray(scorer.grade(phrase, targets), dtype=np.float64)
    except SemXPathError:
        raise
    except Exception as error:
        raise ScorerError(
            f"scorer {scorer.name} failed on '{phrase[:60]}'",
            where=f"{type(error).__name__}: {error}",
            hint="no result is returned; mend the scorer or its model and ask again",
        ) from error
    if grades.shape != (len(targets),) or np.isnan(grades).any():
        raise ScorerError(
            f"scorer {scorer.name} gave {grades.size} scores for {len(targets)} targets"
            if grades.shape != (len(targets),)
            else f"scorer {scorer.name} gave a score that is not a number"
        )
    return np.clip(grades, 0.0, 1.0)


def _plain_phrase(expr: ast.Expr, evaluator: Evaluator) -> str | None:
    """The phrase of ``. =~ "…"``, when a filter is just that."""
    if not isinstance(expr, ast.Binary) or expr.op != "=~":
        return None
    left = expr.left
    if not isinstance(left, ast.Path) or left.start is not None or len(left.steps) != 1:
        return None
    step = left.steps[0]
    if step.axis != "self" or step.test.type != "any-node" or step.filters:
        return None
    if isinstance(expr.right, ast.Str):
        return expr.right.value
    if isinstance(expr.right, ast.Param):
        given = evaluator.params.get(expr.right.name)
        return given if isinstance(given, str) else None
    return None
