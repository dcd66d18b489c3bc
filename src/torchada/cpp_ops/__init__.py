"""C++ overrides of operators of PyTorch for the backend's device: found, compiled once, and registered as patches of an area.

`sources` says which files there are, `compiler` makes a library of each in the private cache, `library` is one of them loaded, and
`overrides` puts that together for the area `cpp_ops`. docs/how-to/cpp-overrides.md tells how to add one.
"""
