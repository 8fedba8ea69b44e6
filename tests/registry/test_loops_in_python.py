"""Every loop runs as plain Python, where a debugger can step through it and an index out of bounds raises."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("fit_in_python.py")


def test_every_estimator_fits_without_numba():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 100
