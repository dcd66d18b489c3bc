"""For places where .pth files are not read: put this file's folder on PYTHONPATH.

It installs the hook and then runs the user's own sitecustomize, which this file would otherwise hide.
"""

import sys


def _run_the_users_own():
    import os
    from importlib.machinery import PathFinder

    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module  # site.py and later imports see the user's module, as without us
    spec.loader.exec_module(module)


try:
    from torchada._startup import install
except ImportError as error:
    sys.stderr.write(f"torchada: sitecustomize found no torchada to start: {error}\n")
else:
    install()
_run_the_users_own()
