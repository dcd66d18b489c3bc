"""A package with two extensions."""
