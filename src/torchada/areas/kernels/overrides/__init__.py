"""C++ overrides of operators of PyTorch for the backend's device: found, compiled once, and registered as patches of an area.

`sources` finds the files, `compiler` makes a library of each in the private cache, `library` loads one, and `overrides` puts them
together for the area `cpp_ops`. docs/how-to/cpp-overrides.md describes how to add one.
"""
