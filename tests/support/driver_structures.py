"""Structures that functions of the driver share: where memory lies, and who may use it."""

from __future__ import annotations

import ctypes


class Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Access(ctypes.Structure):
    _fields_ = (("location", Location), ("flags", ctypes.c_int))
