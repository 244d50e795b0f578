"""What the tests of sweeps run; a module of its own, since processes and workers must import it."""

import os
import signal
import sys
import time
from pathlib import Path

from cdma.errors import UserError
from cdma.sweep.pools import advance


def square(number):
    time.sleep(0.05)
    return number * number, os.getpid()


def meet(argument):
    """Return when so many tasks have come to the folder, which takes as many processes."""
    folder, number, count = argument
    Path(folder, str(number)).touch()
    while len(list(Path(folder).iterdir())) < count:
        time.sleep(0.01)
    return os.getpid()


def fail_at_three(number):
    if number == 3:
        raise UserError("three is refused")
    return square(number)


def die_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def die_once(marker):
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def length_of(argument):
    packed, _ = argument
    assert packed.value is packed.value
    return len(packed.value)


def wait_for(marker):
    """Return when the file exists. Report half of the work as done before."""
    advance(50)
    while not Path(marker).exists():
        time.sleep(0.01)
    return sys.executable


def tell_and_wait(file):
    Path(file).write_text(str(os.getpid()))
    time.sleep(600)
