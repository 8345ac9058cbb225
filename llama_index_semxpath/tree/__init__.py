"""Typed trees of documents, records and memory."""
