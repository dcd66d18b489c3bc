"""What pyproject.toml cannot say: the optional C extensions, and the readme as package indexes show it."""

import os
import re
from pathlib import Path

from setuptools import Extension, setup

NATIVE = "src/torchada/redirect/native"
REPOSITORY = "https://github.com/MooreThreads/torchada/blob/main/"
# Set by the build backend for `--config-setting pure=true`: a wheel for any processor, which translates device strings in Python.
PURE = "TORCHADA_BUILD_PURE" in os.environ


def extension(name: str, *sources: str, depends: tuple[str, ...] = ()) -> Extension:
    return Extension(
        f"torchada.redirect.native.{name}",
        [f"{NATIVE}/{source}" for source in sources],
        depends=[f"{NATIVE}/{header}" for header in depends],
        # -fexceptions: what PyTorch throws for a bad device string passes through the parser's C code.
        # -g0 and a build-id made from the contents: the same sources give the same bytes, in whatever folder they are built.
        extra_compile_args=["-fexceptions", "-fvisibility=hidden", "-O2", "-g0", f"-ffile-prefix-map={os.getcwd()}=."],
        extra_link_args=["-Wl,--build-id=sha1"],
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        py_limited_api=True,
        optional=True,  # without a compiler the installation goes on, without the extensions
    )


EXTENSIONS = [
    extension("_device_parser", "device_parser.c", "linked_function.c", depends=("linked_function.h",)),
    extension("_device_views", "device_views.c"),
    extension("_error_texts", "error_texts.c", "linked_function.c", depends=("linked_function.h",)),
    extension("_search", "search.c"),
]


def readme() -> str:
    """README.md with absolute links: an index knows nothing of the files beside it."""
    text = Path("README.md").read_text(encoding="utf-8")
    return re.sub(r"\]\((?!\w+:|#)", f"]({REPOSITORY}", text)


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=[] if PURE else EXTENSIONS,
    options={} if PURE else {"bdist_wheel": {"py_limited_api": "cp310"}},
)
