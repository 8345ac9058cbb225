"""Engines that run queries over a tree, and the scorers that grade by meaning."""
