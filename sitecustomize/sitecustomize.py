"""For places where .pth files are not read: put this file's folder on PYTHONPATH.

It installs the hook and then runs the user's own sitecustomize, which this file would otherwise hide.
"""

import sys


def _run_the_users_own():
    import os
    from importlib.machinery import PathFinder

    # Behind us on sys.path, never before: two copies of this file would otherwise call each other for ever.
    folders = [os.path.realpath(entry) for entry in sys.path]
    here = os.path.dirname(os.path.realpath(__file__))
    behind = folders.index(here) + 1 if here in folders else 0
    elsewhere = [entry for entry, folder in zip(sys.path[behind:], folders[behind:]) if folder != here]
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
