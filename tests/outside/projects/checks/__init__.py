"""Comparisons with plain references, for projects whose own tests need what this machine lacks. Each prints its count as JSON."""
