"""`torchada run` puts an nvidia-smi in front that answers for the MUSA devices."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.once
RUN = ["-m", "torchada", "run"]
ASK = """
import subprocess
print(subprocess.run("nvidia-smi --query-gpu=index,name,memory.total --format=csv,noheader", shell=True, text=True,
                     stdout=subprocess.PIPE).stdout)
"""


@pytest.mark.full
def test_a_program_gets_the_simulated_devices(musa: Any) -> None:
    told = musa.run([*RUN, "--simulate", "-c", ASK]).stdout.split("\n")
    assert told[:2] == [f"{index}, MTT S5000 (simulated), 16384 MiB" for index in range(2)]


def test_where_nothing_is_redirected_path_stays(plain: Any) -> None:
    code = "import os; print(os.environ['PATH'])"
    own = plain.run(code).stdout
    assert plain.run([*RUN, "--platform", "cpu", "-c", code]).stdout == own
    assert plain.run([*RUN, "--on", "cpu", "-c", code]).stdout == own
