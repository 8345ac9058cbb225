"""Reading questions: the names of a tree, the places and conditions that a question states."""

from llama_index_semxpath.retrievers.reading.translate import QuestionReader, Reading

__all__ = ["QuestionReader", "Reading"]
