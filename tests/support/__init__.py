"""Helpers shared by tests: fresh interpreters, ranks, device code, programs, and what they are compared with."""
