"""Caches of what is built once on the user's machine and then executed: where it is kept, and whether it is still what was stored.

Shared by torchada (overrides of operators, the folder that builds take for CUDA) and musasim (its C++ part, its toolkit). These two
may not import each other, so this package lies beside both and imports neither. It uses only the standard library, because the
stand-ins for nvcc and mcc and the import of the simulator need it.

PYTEST_DONT_REWRITE: pytest would warn in every run that this module was imported before it.
"""
