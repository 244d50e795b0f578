"""Proofs of the fetcher of controls and of its check, both around steps and ends of any packets."""
