"""WHAT HAPPENED: which APIs of CUDA a program used, from which line of whose code, and what answered each.

Loaded only where TORCHADA_LOG or TORCHADA_REPORT asks for it. Then, and only then, `observe` puts a recording function around what
the areas put in place; `sites` finds out who called, `recorder` counts, and at the end of each process `summary` and `report` tell.
"""
