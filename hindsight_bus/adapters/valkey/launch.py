"""Program that becomes the embedded server after tying its life to its parent's: ``launch.py PARENT COMMAND...``.

A program of its own, because a signal on the parent's death can only be asked for by the child, and code between fork
and exec is not safe in a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for SIGTERM on the parent's death where the system offers that, then become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            sys.exit("the parent ended meanwhile")
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
