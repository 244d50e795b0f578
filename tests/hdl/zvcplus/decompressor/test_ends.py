"""The ends of the packets in the ring, against a list."""

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.ends import PacketEnds


def test_ends_are_kept_in_order_until_both_are_done(simulate, rng):
    """At random: ends arrive, the fetcher starts packets, ends are checked, payload is read, and
    packets fail."""
    dut = PacketEnds(Config("fp32"), 8)

    async def bench(ctx):
        ends, row, started, removed = [], 0, 0, 0  # of all packets
        is_checked = is_read = accepts = False
        failed = set()  # packets, by number
        met = set()
        for _ in range(3000):
            here = len(ends) - removed
            arrives = accepts and rng.random() < 0.3
            if arrives:
                start = (row + int(rng.integers(1, 9))) % 32
                end = {"row": (start - 1) % 32, "byte": int(rng.integers(32)), "start": start}
                end |= {"rest": int(rng.integers(256)), "dropped": int(rng.integers(2))}
                ctx.set(dut.end, end)
            ctx.set(dut.arrives, arrives)
            # A packet may start when the first row behind the one before is known.
            assert ctx.get(dut.has_two) == (started - removed == 2)
            if ctx.get(dut.can_start):
                assert started - removed < 2
                assert started == 0 or len(ends) >= started
                assert ctx.get(dut.row) == (ends[started - 1]["start"] if started else 0)
            starts = ctx.get(dut.can_start) and rng.random() < 0.3
            ctx.set(dut.start, starts)
            has_ended = started > removed and len(ends) >= started
            assert ctx.get(dut.ended) == has_ended
            if has_ended:
                found = ctx.get(dut.current)
                assert {name: found[name] for name in ends[started - 1]} == ends[started - 1]
            if here:
                found = ctx.get(dut.first)
                assert {name: found[name] for name in ends[removed]} == ends[removed]
            assert ctx.get(dut.parity) == removed % 2
            flags = [here > k or removed + k in failed for k in range(2)]
            assert ctx.get(dut.failed) == (removed < started and started - 1 in failed)
            assert ctx.get(dut.has_ended) == sum(
                flag << (removed + k) % 2 for k, flag in enumerate(flags)
            )
            assert ctx.get(dut.drain) == is_read
            accepts = bool(ctx.get(dut.accept))
            assert accepts == (here + arrives < 2)
            # The first packet is checked when it has ended, and read when it is started.
            checks = started > removed and here > 0 and not is_checked and rng.random() < 0.3
            reads = started > removed and not is_read and rng.random() < 0.3
            ctx.set(dut.checked, checks)
            ctx.set(dut.read, reads)
            fails = started > removed and rng.random() < 0.1
            failing = int(rng.integers(removed, max(started, removed + 1)))
            ctx.set(dut.fails, fails)
            ctx.set(dut.failing, failing % 2)
            removes = is_checked and is_read and here > 0
            met.add((here, started - removed, bool(removes)))
            met.add(("second", removed + 1 in failed, bool(removes)))
            await ctx.tick()
            if arrives:
                ends.append(end)
                row = start
            if fails:
                failed.add(failing)
            started += starts
            removed += removes
            is_checked = (is_checked or checks) and not removes
            is_read = (is_read or reads) and not removes
        return met

    met = simulate(dut, bench)
    assert {(2, 2, True), (1, 1, True), (2, 1, True), (0, 0, False)} <= met
    assert ("second", True, True) in met
