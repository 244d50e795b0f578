"""Back-pressure: the option, and what its profiles are called."""

import argparse

#: For the end of a verb's help.
PROFILES = """\
PROFILE says in which cycles a port stalls: an input port offers no new beat, an output port
holds tready low.
  never               does not stall
  always-but-one[:K]  ready in one of K cycles, stalls in the others (default: 4)
  alternating         stalls in every second cycle
  bernoulli:P         stalls in each cycle with the probability P
  bursts:ON,OFF       ready for ON cycles, stalls for OFF cycles, and again; from a random phase
  paused:CYCLES[,AT]  stalls once, for CYCLES cycles, from cycle AT on (default: 0)
A profile alone is for all ports; PORT=PROFILE for one of source (input packets), sink (output
packets), status, and command (decompressor, roundtrip, all units of several types). Cycles count
from the end of reset."""


def add_stall_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--stall``, a list of profiles."""
    stall = "back-pressure, may be given again (default: never)"
    parser.add_argument("--stall", action="append", metavar="[PORT=]PROFILE", help=stall)
