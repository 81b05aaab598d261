"""Where ``ricci`` starts: an interrupt ends it without a word from the first moment on, as it ends other commands.

While modules are imported the system ends it by itself; afterwards what is to be put in order is, and then it ends by
the same signal, so that a shell that runs it in a loop leaves the loop.
"""

import signal
import sys


def main() -> int:
    """The command, and its status."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in the background of a script
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ricci.cli.commands import INTERRUPTED
    from ricci.cli.commands import main as run

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    status = run()
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if status == INTERRUPTED and sys.platform != "win32":
            signal.raise_signal(signal.SIGINT)
    return status
