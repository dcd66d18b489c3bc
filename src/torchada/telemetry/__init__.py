"""What happened: which APIs of CUDA a program used, from which line of whose code, and how each was answered.

Loaded only if TORCHADA_LOG or TORCHADA_REPORT is set. Only then `observe` puts a recording function around each replacement of
the areas; `sites` finds the caller, `recorder` counts, and at the end of each process `summary` and `report` write the result.
"""
