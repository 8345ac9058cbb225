"""Retrievers over one index: by structure, words, meaning and relations, and all of them fused."""
