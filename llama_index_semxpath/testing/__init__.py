"""Conformance suites that authors of other stores and engines can run."""
