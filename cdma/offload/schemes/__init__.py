"""Schedules of a training step: who waits for whom."""
