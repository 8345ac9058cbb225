"""Errors that a statement can end in, with the server's codes."""

from nebula3.common.ttypes import ErrorCode


class NebulaError(Exception):
    """An error response."""

    code = ErrorCode.E_EXECUTION_ERROR
    prefix = ""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(self.prefix + message)
        if code is not None:
            self.code = code


class NebulaSyntaxError(NebulaError):
    """The statement is not of a form that the emulator knows."""

    code = ErrorCode.E_SYNTAX_ERROR
    prefix = "SyntaxError: "


class NebulaSemanticError(NebulaError):
    """The statement names what is not there, or mixes types."""

    code = ErrorCode.E_SEMANTIC_ERROR
    prefix = "SemanticError: "


class NebulaExecutionError(NebulaError):
    """The statement failed while it ran."""
