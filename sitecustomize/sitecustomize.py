"""For places where .pth files are not read: put this file's folder on PYTHONPATH.

It installs the hook and then runs the user's own sitecustomize, which this file would otherwise hide.
"""

import sys


def _run_the_users_own():
    import os
    from importlib.machinery import PathFinder

    # Folders of other copies of this file that brought us here; without them two copies would call each other for ever.
    tried = {os.path.dirname(os.path.realpath(__file__)), *globals().get("_torchada_tried", ())}
    spec = PathFinder.find_spec("sitecustomize", [entry for entry in sys.path if os.path.realpath(entry) not in tried])
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # site.py and later imports see the user's module, as without us
    module._torchada_tried = tried
    try:
        spec.loader.exec_module(module)
    finally:
        del module._torchada_tried


try:
    from _torchada_startup import install
except ImportError as error:
    sys.stderr.write(f"torchada: sitecustomize found no torchada to start: {error}\n")
else:
    install()
_run_the_users_own()
