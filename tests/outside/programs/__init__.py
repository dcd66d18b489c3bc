"""Suites of CUDA programs that others wrote: each is ported, built, run with small arguments, and judged (`../README.md`)."""
