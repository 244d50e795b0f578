"""The front end as a whole, with host memory and a stand-in for the data path."""

import pytest
from front_bench import DEVICE, HOST, SQ, STREAMS, FrontBench, offload, prefetch

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Descriptor

CONFIG = EngineConfig(channels=2)


@pytest.mark.parametrize(
    "link_bytes", [16, *(pytest.param(n, marks=pytest.mark.slow) for n in (8, 32, 64))]
)
def test_one_offload(link_bytes):
    config = EngineConfig(channels=2, link_bytes=link_bytes)

    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await bench.submit(ctx, 0, offload(7))
        (completion,) = await bench.collect(ctx, 0, 1)
        assert completion.status == Status.OK
        assert completion.cookie == 0x1234_0007
        assert completion.stream_bytes == 4096
        assert (completion.raw_stripes, completion.cycles, completion.stripe) == (3, 20, 5)
        assert (completion.head, completion.channel) == (1, 0x7F)
        assert await bench.read(ctx, "RING", "SQ_HEAD") == 1
        assert await bench.read(ctx, "RING", "CQ_TAIL") == 1

    bench = FrontBench(config)
    bench.run(software)
    (job,) = bench.jobs[0]
    assert (job.op, job.rows, job.device) == (Op.OFFLOAD, 1, DEVICE + 7 * 4096)
    assert (job.host, job.row_bytes, job.limit) == (STREAMS, 4096, 8192)


@pytest.mark.slow
def test_both_rings_wrap_many_times():
    async def software(bench, ctx):
        for ring in (0, 1):
            await bench.set_up(ctx, ring, log2=2)
        for turn in range(12):
            await bench.submit(ctx, 0, *(offload(3 * turn + k) for k in range(3)))
            await bench.submit(ctx, 1, *(prefetch(3 * turn + k) for k in range(3)))
            for ring, base in ((0, 0x1234_0000), (1, 0x5678_0000)):
                found = await bench.collect(ctx, ring, 3)
                assert [each.cookie for each in found] == [base + 3 * turn + k for k in range(3)]
                assert [each.head for each in found] == [3 * turn + k + 1 for k in range(3)]

    FrontBench(CONFIG).run(software)


@pytest.mark.slow
def test_smallest_ring():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0, log2=0)
        for turn in range(5):
            await bench.submit(ctx, 0, offload(turn))
            (found,) = await bench.collect(ctx, 0, 1)
            assert found.cookie == 0x1234_0000 + turn

    FrontBench(CONFIG).run(software)


def test_local_descriptors_complete_in_order():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await bench.submit(
            ctx,
            0,
            offload(1),
            Descriptor(Op.NOP, cookie=2),
            offload(3, row_bytes=0),
            offload(4, host=STREAMS + 4),
            Descriptor(Op.PREFETCH, cookie=5),
            offload(6),
        )
        found = await bench.collect(ctx, 0, 6)
        bad = Status.BAD_DESCRIPTOR
        assert [each.status for each in found] == [0, 0, 0, bad, bad, 0]
        assert [each.cookie & 0xFF for each in found] == [1, 2, 3, 4, 5, 6]
        assert found[3].where == SQ[0] + 3 * 64
        assert found[4].channel == 0x7F
        assert (found[1].where, found[2].stripe) == (0, 0)

    bench = FrontBench(CONFIG)
    bench.run(software)
    assert len(bench.jobs[0]) == 2


@pytest.mark.slow
def test_completion_ring_full():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0, log2=4, cq_log2=1)
        await bench.submit(ctx, 0, *(offload(k) for k in range(7)))
        done = 0
        while done < 7:
            await ctx.tick().repeat(300)
            head = await bench.read(ctx, "RING", "SQ_HEAD")
            assert head == min(done + 2, 7), "never more than the completion ring has room for"
            number = min(2, 7 - done)
            assert len(await bench.collect(ctx, 0, number)) == number
            done += number

    FrontBench(CONFIG).run(software)


@pytest.mark.slow
def test_many_descriptors_are_in_flight():
    """Latency of memory is hidden: 16 jobs of 20 cycles do not take 16 times 500."""

    async def software(bench, ctx):
        await bench.set_up(ctx, 0, log2=6)
        start = bench.cycle
        await bench.submit(ctx, 0, *(offload(k) for k in range(40)))
        await bench.collect(ctx, 0, 40, acknowledge=False)
        assert bench.cycle - start < 40 * 128 + 3 * 500

    FrontBench(CONFIG, latency=500).run(software)


@pytest.mark.parametrize("link_bytes", [pytest.param(8, marks=pytest.mark.slow), 16])
def test_the_phase_is_written_after_the_rest(link_bytes):
    seen = []

    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await bench.submit(ctx, 0, offload(1))
        await bench.collect(ctx, 0, 1)
        seen.extend(each for each in bench.log if each[1] == "aw")

    FrontBench(EngineConfig(channels=2, link_bytes=link_bytes), latency=50).run(software)
    (first, _, _), (second, _, address) = seen
    assert second >= first + 50, "the first part's B"
    assert address == HOST + 0x4000 + 32 - link_bytes


def test_wrong_phase_halts_the_ring():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        bench.place(0, offload(1))
        bench.place(0, offload(2), wrong_phase=True)
        await bench.submit(ctx, 0, offload(3))
        found = await bench.collect(ctx, 0, 2)
        assert [each.status for each in found] == [0, Status.BAD_DESCRIPTOR]
        assert (found[1].cookie, found[1].where) == (0, SQ[0] + 64)
        state = await bench.read(ctx, "RING", "STATE")
        assert state & 7 == State.HALTED
        assert state >> 16 == Status.BAD_DESCRIPTOR
        assert not await bench.read(ctx, "RING", "CTRL") & 1
        await bench.write(ctx, "RING", "CTRL", 1)
        assert [each.cookie for each in await bench.collect(ctx, 0, 1)] == [0x1234_0003]

    bench = FrontBench(CONFIG)
    bench.run(software)
    assert len(bench.jobs[0]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("beat", [0, 1, 3])
@pytest.mark.parametrize("resp", [2, 3])
def test_failed_fetch(beat, resp):
    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await bench.submit(ctx, 0, offload(1), offload(2), offload(3))
        found = await bench.collect(ctx, 0, 2)
        assert [each.status for each in found] == [0, Status.HOST_SLVERR + resp - 2]
        assert found[1].where == SQ[0] + 64
        assert (await bench.read(ctx, "RING", "STATE")) & 7 == State.HALTED

    FrontBench(CONFIG, faults={SQ[0] + 64 + 16 * beat: resp}).run(software)


@pytest.mark.slow
@pytest.mark.parametrize("link_bytes", [8, 16, 32, 64])
@pytest.mark.parametrize("part", [0, 1])
def test_failed_completion(link_bytes, part):
    address = HOST + 0x4000 + (32 - link_bytes if part and link_bytes < 32 else 0)

    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await bench.submit(ctx, 0, offload(1))
        await ctx.tick().repeat(400)
        assert bench.peek(0) is None
        state = await bench.read(ctx, "RING", "STATE")
        assert state & 7 == State.ERROR
        assert state >> 16 == Status.HOST_DECERR
        assert await bench.read(ctx, "RING", "ERROR_LO") == HOST + 0x4000
        assert await bench.read(ctx, "ENGINE", "IRQ_STATUS") & 4
        # ERROR is left by ABORT only.
        bench.faults.clear()
        await bench.write(ctx, "RING", "CTRL", 1)
        assert (await bench.read(ctx, "RING", "STATE")) & 7 == State.ERROR
        await bench.write(ctx, "RING", "CTRL", 2)
        await ctx.tick().repeat(20)
        assert (await bench.read(ctx, "RING", "STATE")) & 7 == State.STOPPED
        await bench.write(ctx, "RING", "CTRL", 1)
        bench.heads[0] = 1
        await bench.submit(ctx, 0, offload(2))
        (found,) = await bench.collect(ctx, 0, 1)
        assert found.cookie == 0x1234_0002

    config = EngineConfig(channels=2, link_bytes=link_bytes)
    FrontBench(config, faults={address: 3}).run(software)


@pytest.mark.slow
def test_counts_beyond_the_ring():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0, log2=2)
        assert await bench.write(ctx, "RING", "SQ_TAIL", 5) == 0
        assert await bench.read(ctx, "RING", "SQ_TAIL") == 0
        assert (await bench.read(ctx, "RING", "STATE")) & 7 == State.ERROR
        assert await bench.read(ctx, "ENGINE", "IRQ_STATUS") == 4
        await bench.set_up(ctx, 1, log2=2)
        assert await bench.write(ctx, "RING", "CQ_HEAD", 1, 1) == 0
        assert (await bench.read(ctx, "RING", "STATE", 1)) & 7 == State.ERROR

    FrontBench(CONFIG).run(software)


@pytest.mark.slow
def test_rings_outside_the_window():
    async def software(bench, ctx):
        for name, wrong in (("SQ_BASE_LO", HOST - 64), ("CQ_BASE_LO", HOST + (1 << 20) - 448)):
            await bench.set_up(ctx, 0, **{name: wrong})
            await ctx.tick().repeat(10)
            assert (await bench.read(ctx, "RING", "STATE")) & 7 == State.ERROR
            assert await bench.read(ctx, "RING", "ERROR_LO") == wrong & ~63
            await bench.write(ctx, "RING", "CTRL", 2)
            await ctx.tick().repeat(10)

    FrontBench(CONFIG).run(software)


def test_fence_waits_for_both_rings():
    async def software(bench, ctx):
        for ring in (0, 1):
            await bench.set_up(ctx, ring)
        bench.holds_work[1] = True
        await bench.submit(ctx, 1, prefetch(1))
        await ctx.tick().repeat(60)
        await bench.submit(ctx, 0, offload(1), offload(2, fence=True), offload(3))
        await bench.submit(ctx, 1, prefetch(2))
        await ctx.tick().repeat(300)
        assert len(bench.jobs[0]) == 1, "the FENCE waits for ring 1"
        bench.holds_work[1] = False
        found = await bench.collect(ctx, 0, 3)
        assert [each.cookie & 0xFF for each in found] == [1, 2, 3]

    FrontBench(CONFIG).run(software)


@pytest.mark.slow
def test_both_rings_fenced():
    async def software(bench, ctx):
        for ring in (0, 1):
            await bench.set_up(ctx, ring)
        for ring, make in ((0, offload), (1, prefetch)):
            await bench.submit(ctx, ring, *(make(k, fence=True) for k in range(6)))
        for ring in (0, 1):
            assert len(await bench.collect(ctx, ring, 6)) == 6

    bench = FrontBench(CONFIG)
    bench.run(software)
    assert len(bench.jobs[0]) == len(bench.jobs[1]) == 6


@pytest.mark.parametrize("delay", [1, 2, 3, 5])
def test_fences_of_both_rings_that_open_at_once(delay):
    """Neither ring leaves its turn to the other one for ever."""

    async def software(bench, ctx):
        for ring in (0, 1):
            await bench.set_up(ctx, ring)
        await bench.submit(ctx, 1, prefetch(1), prefetch(2, fence=True))
        await ctx.tick().repeat(delay)
        await bench.submit(ctx, 0, offload(1, fence=True))
        assert len(await bench.collect(ctx, 0, 1, patience=400)) == 1
        assert len(await bench.collect(ctx, 1, 2, patience=400)) == 2

    FrontBench(CONFIG, work=60).run(software)


@pytest.mark.slow
def test_a_fence_waits_for_the_jobs_of_a_ring_in_error():
    async def software(bench, ctx):
        for ring in (0, 1):
            await bench.set_up(ctx, ring)
        bench.holds_work[1] = True
        await bench.submit(ctx, 1, prefetch(1))
        await ctx.tick().repeat(60)
        await bench.write(ctx, "RING", "SQ_TAIL", 1000, 1)
        await bench.submit(ctx, 0, offload(1, fence=True))
        await ctx.tick().repeat(200)
        assert not bench.jobs[0]
        bench.holds_work[1] = False
        assert len(await bench.collect(ctx, 1, 1)) == 1
        assert len(await bench.collect(ctx, 0, 1)) == 1

    FrontBench(CONFIG).run(software)


def test_append():
    sizes = {0: 100, 1: 64, 2: 4000, 3: 40}

    def result(ring, job):
        size = sizes[(job.device - DEVICE) // 4096]
        return {"stream_bytes": size, "status": 16 if size > job.limit else 0}

    async def software(bench, ctx):
        arena = {"ARENA_BASE_LO": STREAMS, "ARENA_LIMIT_LO": STREAMS + 320}
        await bench.set_up(ctx, 0, ARENA_POINTER_LO=STREAMS, **arena)
        await bench.submit(ctx, 0, *(offload(k, append=True, host=99) for k in range(4)))
        found = await bench.collect(ctx, 0, 4)
        assert [each.status for each in found] == [0, 0, 16, 0]
        assert [each.where for each in found] == [STREAMS, STREAMS + 128, 0, STREAMS + 192]
        assert await bench.read(ctx, "RING", "ARENA_POINTER_LO") == STREAMS + 256

    bench = FrontBench(CONFIG, result=result)
    bench.run(software)
    assert [job.limit for job in bench.jobs[0]] == [320, 192, 128, 128]


@pytest.mark.slow
def test_halt_on_error():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0, run=False)
        await bench.write(ctx, "RING", "CTRL", 5)
        await bench.submit(ctx, 0, *(offload(k) for k in range(12)))
        await ctx.tick().repeat(800)
        state = await bench.read(ctx, "RING", "STATE")
        assert state == State.HALTED | Status.CRC << 16
        head = await bench.read(ctx, "RING", "SQ_HEAD")
        assert 3 <= head < 12
        found = await bench.collect(ctx, 0, head)
        assert found[2].status == Status.CRC
        await bench.write(ctx, "RING", "CTRL", 1)
        rest = await bench.collect(ctx, 0, 12 - head)
        assert [each.cookie & 0xFF for each in found + rest] == list(range(12))

    def result(ring, job):
        return {"status": Status.CRC} if job.device == DEVICE + 2 * 4096 else {}

    FrontBench(CONFIG, result=result).run(software)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [1, 7, 15, 22, 30, 41, 90, 200])
def test_abort_and_again(wait):
    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await bench.submit(ctx, 0, *(offload(k) for k in range(10)))
        await ctx.tick().repeat(wait)
        await bench.write(ctx, "RING", "CTRL", 2)
        for _ in range(100):
            state = await bench.read(ctx, "RING", "STATE")
            if state & 7 == State.STOPPED:
                break
            assert state & 7 == State.ABORTING
        head = await bench.read(ctx, "RING", "SQ_HEAD")
        assert head == len(bench.jobs[0]), "all that were started have completed"
        found = await bench.collect(ctx, 0, head)
        for completion in found:
            assert completion.status in (Status.OK, Status.ABORTED)
        await bench.write(ctx, "RING", "CTRL", 1)
        found += await bench.collect(ctx, 0, 10 - head)
        assert [each.cookie & 0xFF for each in found] == list(range(10))

    FrontBench(CONFIG).run(software)


@pytest.mark.slow
def test_engine_reset():
    async def software(bench, ctx):
        for ring in (0, 1):
            await bench.set_up(ctx, ring)
        await bench.submit(ctx, 0, *(offload(k) for k in range(5)))
        await bench.submit(ctx, 1, prefetch(0))
        await ctx.tick().repeat(60)
        await bench.write(ctx, "RING", "CTRL", 9, 1)  # lock
        await bench.write(ctx, "ENGINE", "CTRL", 1)
        while await bench.read(ctx, "ENGINE", "CTRL"):
            pass
        for ring in (0, 1):
            for name in ("SQ_HEAD", "SQ_TAIL", "CQ_HEAD", "CQ_TAIL", "SQ_BASE_LO", "STATE"):
                assert await bench.read(ctx, "RING", name, ring) == 0, name
        assert await bench.read(ctx, "RING", "HOST_BASE_LO", 0) == 0
        assert await bench.read(ctx, "RING", "HOST_BASE_LO", 1) == HOST
        bench.memory[:] = 0
        bench.tails, bench.heads = [0, 0], [0, 0]
        await bench.set_up(ctx, 0)
        await bench.submit(ctx, 0, offload(9))
        assert (await bench.collect(ctx, 0, 1))[0].cookie == 0x1234_0009

    FrontBench(CONFIG).run(software)


@pytest.mark.slow
def test_guarded_registers_while_running():
    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await ctx.tick().repeat(8)
        assert await bench.write(ctx, "RING", "SQ_BASE_LO", 0) == 2
        assert await bench.write(ctx, "RING", "HOST_LIMIT_LO", 0) == 2
        assert await bench.write(ctx, "RING", "ATTR", 0) == 2
        bench.holds_work[0] = True
        await bench.submit(ctx, 0, offload(1))
        await ctx.tick().repeat(80)
        await bench.write(ctx, "RING", "CTRL", 0)
        assert await bench.write(ctx, "RING", "SQ_BASE_LO", 0) == 2, "a job is outstanding"
        bench.holds_work[0] = False
        await bench.collect(ctx, 0, 1)
        assert await bench.write(ctx, "RING", "SQ_BASE_LO", 0) == 0

    FrontBench(CONFIG).run(software)


def test_doorbell_latency():
    """Four cycles from the handshake of the doorbell's data to the address at most."""

    async def software(bench, ctx):
        await bench.set_up(ctx, 0)
        await ctx.tick().repeat(20)
        bench.place(0, offload(1))
        axi = bench.dut.axi
        ctx.set(axi.awaddr, bench.address("RING", "SQ_TAIL"))
        ctx.set(axi.wdata, 1)
        ctx.set(axi.awvalid, 1)
        ctx.set(axi.wvalid, 1)
        for cycle in range(1, 10):
            await ctx.tick()
            ctx.set(axi.wvalid, 0)
            ctx.set(axi.awvalid, 0)
            if ctx.get(bench.dut.reads.ar.valid):
                assert cycle <= 3, "the arbiter of the link may add one"
                return
        raise AssertionError("no address")

    FrontBench(CONFIG).run(software)
