"""Test benches under cocotb."""
