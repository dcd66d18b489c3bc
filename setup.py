"""The optional C extension; everything else is in pyproject.toml. Without a compiler the install goes on, without it."""

from setuptools import Extension, setup

NATIVE = "src/torchada/redirect/native"

setup(
    ext_modules=[
        Extension(
            "torchada.redirect.native._device_parser",
            [f"{NATIVE}/device_parser.c", f"{NATIVE}/linked_function.c"],
            depends=[f"{NATIVE}/linked_function.h"],
            # What PyTorch throws for a bad device string passes through this C code.
            extra_compile_args=["-fexceptions", "-fvisibility=hidden", "-O2"],
            define_macros=[("Py_LIMITED_API", "0x030A0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
