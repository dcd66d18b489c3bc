"""The log of the porting tools: everything that is logged in the process goes to the standard output."""

from __future__ import annotations

import logging
import sys


def create_logger() -> logging.Logger:
    """The root logger, with warnings of Python in it, from the level INFO on."""
    logging.captureWarnings(True)
    handler = logging.StreamHandler(sys.stdout)
    handler.setLevel(logging.INFO)
    text = "%(asctime)s | %(module)s | %(thread)d | %(levelname)s : %(message)s"
    handler.setFormatter(logging.Formatter(text, "%Y-%m-%d %H:%M:%S"))
    logger = logging.getLogger()
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return logger


LOGGER = create_logger()
