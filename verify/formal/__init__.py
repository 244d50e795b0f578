"""The prover: induction and bounded checks of Amaranth designs by SAT."""
