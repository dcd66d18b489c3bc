"""What is built once on the user's machine and executed ever after: where it is kept, and whether it is still what was stored.

Shared by torchada (overrides of operators, the folder that builds take for CUDA) and musasim (its C++ part, its toolkit), which may
not know each other; so it lies beside both and knows neither. Standard library alone, because the stand-ins for nvcc and mcc and
the import of the simulator use it.
"""
