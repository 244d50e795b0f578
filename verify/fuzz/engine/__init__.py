"""Random jobs through the compiled engine, good and damaged, against the golden engine.

A batch has an engine, memories and registers of its own. It plays rounds: jobs of both rings at
once, at any addresses, undisturbed or with an abort, a halt, a timeout or a reset. All memory of a
round is compared, and every completion. A batch follows from the seed and its number, so that it
can be played again, or one of its rounds, or one job of a round.
"""

from cdma.verify.fuzz.engine.batch import ROUNDS, Batch
from cdma.verify.fuzz.engine.play import Outcome, fuzz
from cdma.verify.fuzz.engine.report import design, outcome_of, row
from cdma.verify.fuzz.engine.resume import kept
from cdma.verify.fuzz.engine.sizes import SIZES

__all__ = ["ROUNDS", "SIZES", "Batch", "Outcome", "design", "fuzz", "kept", "outcome_of", "row"]
