"""Contracts of import-linter that may name modules before they are there, so that the plan is written down whole."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import ContractCheck
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.imports import ModuleExpression


class ForbiddenWhereBuilt(ForbiddenContract):
    """`forbidden`, over those of its modules that exist; a name that never comes to exist forbids nothing."""

    type_name = "forbidden_where_built"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check the rooms that are there."""
        self.source_modules = _built(graph, self.source_modules)  # type: ignore[assignment]
        self.forbidden_modules = _built(graph, self.forbidden_modules)  # type: ignore[assignment]
        return super().check(graph, verbose)


class ProtectedWhereBuilt(ProtectedContract):
    """`protected`, over those of its modules that exist or are imported by anything at all."""

    type_name = "protected_where_built"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check the modules and importers that are there."""
        self.protected_modules = sorted(_built(graph, self.protected_modules), key=str)  # type: ignore[assignment]
        self.allowed_importers = sorted(_built(graph, self.allowed_importers), key=str)  # type: ignore[assignment]
        return super().check(graph, verbose)


def _built(graph: ImportGraph, expressions: object) -> set[ModuleExpression]:
    assert isinstance(expressions, set | list)
    return {each for each in expressions if each.has_wildcard_expression() or each.expression in graph.modules}
