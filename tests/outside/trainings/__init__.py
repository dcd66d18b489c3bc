"""Trainings in frameworks that others wrote, unchanged, whose losses are held to a control on the CPU."""
