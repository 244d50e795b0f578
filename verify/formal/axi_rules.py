"""The rules of AXI4 managers as formal statements, and memories that answer in any way.

The rules are those of ``docs/engine.md``. :data:`RULES` is the one list of them: the statements
here check it in proofs, ``sim/engine/rules.h`` in every cycle of every simulation.
"""

from dataclasses import dataclass

from amaranth.hdl import Assert, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.engine_config import BURST_BYTES, PAGE_BYTES
from cdma.verify.formal.stream_rules import anything, hold_to_rule


@dataclass(frozen=True)
class Rule:
    """A rule of both checkers.

    Parameters
    ----------
    text : str
        The rule, as a sentence.
    message : str or None
        Regular expression of the messages with which ``sim/engine/rules.h`` reports a violation.
        ``None`` where only the proofs have the rule, because AXI does not.
    """

    text: str
    message: str | None


#: Each rule by its name. ``tests/verify/formal/test_axi_rules.py`` breaks each one, and both
#: checkers must report it.
RULES = {
    "stable": Rule("a stalled AR, AW or W keeps its valid and its payload", "changed|fell"),
    "burst": Rule("a burst has at least one beat and at most 512 bytes", r"bytes at .*, over 512"),
    "page": Rule("a burst lies in one page of 4 KB", "crosses a 4 KB page"),
    "id": Rule("an ID is one of those in use", "ID .* is not in use"),
    "outstanding": Rule("no more bursts are outstanding than stated", "more than .* outstanding"),
    "last": Rule("WLAST is at the last beat of a burst, and only there", "WLAST is . at beat"),
    "address": Rule("data comes with its address or later", None),
    "gap": Rule("the data of an address that was taken has no gap", "no WVALID for . cycles"),
    "strobes": Rule("strobes are clear only before the first and after the last byte", "WSTRB"),
}


def obeys(rule: str, test) -> Assert:
    """The statement that a rule of :data:`RULES` is kept."""
    if rule not in RULES:
        raise ValueError(f"Rule must be one of {', '.join(RULES)}, not {rule!r}")
    return Assert(test, src_loc_at=1)


def beats_of(payload):
    """Beats of a burst: of a request inside the engine, or of an AXI address."""
    members = payload.shape().members
    return payload.beats if "beats" in members else payload.length + 1


def check_address(
    m: Module,
    channel,
    data_bytes: int,
    ids: int | None,
    name: str,
    *,
    burst_bytes: int = BURST_BYTES,
    page_bytes: int = PAGE_BYTES,
) -> None:
    """Assert the rules of AR or AW: stable, burst, page, id. Small designs have small pages."""
    hold_to_rule(m, channel, name)
    payload, beats = channel.payload, beats_of(channel.payload)
    low = data_bytes.bit_length() - 1
    page = page_bytes // data_bytes
    first = (payload.address >> low)[: page.bit_length() - 1]
    with m.If(channel.valid):
        m.d.comb += [
            obeys("burst", beats != 0),
            obeys("burst", beats <= burst_bytes // data_bytes),
            obeys("page", first + beats <= page),
        ]
        if ids is not None:
            m.d.comb += obeys("id", payload.id < ids)


def answer_reads(m: Module, ar, r, name: str, *, most_beats: int) -> Signal:
    """A memory that answers reads at any time with any data, and gives no beat unasked.

    ``r.last`` is free: a proof that depends on it has to constrain it.

    Parameters
    ----------
    m, ar, r
        Module and both channels of a manager or of a client.
    name : str
        Prefix of the signals.
    most_beats : int
        Bound of the beats that are owed. It is asserted.

    Returns
    -------
    Signal
        Beats that are owed.
    """
    beats = Signal(range(2 * most_beats), name=f"{name}_beats")
    gives = Signal(name=f"{name}_gives")
    m.d.comb += [
        ar.ready.eq(anything(m, 1, f"{name}_ar_ready")),
        r.valid.eq(anything(m, 1, f"{name}_r_valid") & (beats != 0)),
        Value.cast(r.payload).eq(anything(m, len(Value.cast(r.payload)), f"{name}_r")),
        gives.eq(r.valid & r.ready),
        Assert(beats <= most_beats),
    ]
    asked = Mux(ar.valid & ar.ready, beats_of(ar.payload), 0)
    m.d.sync += beats.eq(beats + asked - gives)
    return beats


class Writes:
    """A memory that takes writes at any time, and the rules of AW, W and B.

    A write is answered after its address and its last beat were taken.

    Parameters
    ----------
    m : Module
    aw, w, b
        Channels of a manager or of a client.
    data_bytes : int
    most : int
        Bursts that are issued and not answered. The bound is asserted.
    depth : int
        Bursts whose address was offered and whose data is not complete. The bound is asserted.
    gap : int
        Most consecutive cycles without ``w.valid`` while data of an address that was taken is due.
    ids : int or None
        Number of IDs.
    name : str
        Prefix of the signals.
    answers : bool
        Drive the channel B here.
    holds_data : bool
        Check that stalled data is held, too. Not for data from a FIFO with a proof of its own.
    keeps_address : bool
        Bursts have their ``address``, too.
    stalls : bool
        AW and W may be stalled.
    **sizes
        Bytes of bursts and pages, see :func:`check_address`.

    Attributes
    ----------
    offers : an address is offered for the first time
    head : ``beats`` (``id``, ``address``) of the burst that the next beat of W belongs to
    sent : beats of this burst that were taken
    moves : a beat of W is taken
    level, entries, fresh : bursts that were offered earlier and whose data is not complete; the one
        that is offered now
    is_owed : a beat of W is due
    idle : cycles so far without it, of an address that was taken
    waiting : with ``answers``: bursts that were offered earlier and are not answered
    addresses, bursts : ... whose address was taken; whose data is complete
    """

    def __init__(
        self,
        m: Module,
        aw,
        w,
        b,
        data_bytes,
        *,
        most,
        depth,
        gap,
        ids=None,
        name="w",
        answers=True,
        holds_data=True,
        keeps_address=False,
        stalls=True,
        **sizes,
    ):
        self._keeps_address = keeps_address
        self._name, self._most, self._depth = name, most, depth
        check_address(m, aw, data_bytes, ids, f"{name}_aw", **sizes)
        if holds_data:
            hold_to_rule(m, w, f"{name}_w")
        else:
            self._hold_last(m, w)
        m.d.comb += [
            aw.ready.eq(anything(m, 1, f"{name}_aw_ready") if stalls else 1),
            w.ready.eq(anything(m, 1, f"{name}_w_ready") if stalls else 1),
        ]
        self._queue(m, aw, w)
        self._rules(m, w, gap)
        if answers:
            self._answer(m, aw, w, b)

    def _hold_last(self, m, w):
        was_stalled, last = (
            Signal(name=f"{self._name}_w_stalled"),
            Signal(name=f"{self._name}_w_last"),
        )
        m.d.sync += [was_stalled.eq(w.valid & ~w.ready), last.eq(w.payload.last)]
        with m.If(was_stalled):
            m.d.comb += [obeys("stable", w.valid), obeys("stable", w.payload.last == last)]

    def _queue(self, m, aw, w):
        """Addresses that were offered and whose data is not complete, the oldest first."""
        name, depth = self._name, self._depth
        payload = aw.payload
        fields = {"beats": len(beats_of(payload))}
        if "id" in payload.shape().members:
            fields["id"] = len(payload.id)
        if self._keeps_address:
            fields["address"] = len(payload.address)
        entries = [Signal(data.StructLayout(fields), name=f"{name}_burst{k}") for k in range(depth)]
        self.entries = entries
        self.level = level = Signal(range(depth + 2), name=f"{name}_level")
        was_offered = Signal(name=f"{name}_was_offered")
        self.offers, self.moves = Signal(name=f"{name}_offers"), Signal(name=f"{name}_moves")
        self.sent, self.ends = (
            Signal(len(beats_of(payload)), name=f"{name}_sent"),
            Signal(name=f"{name}_ends"),
        )
        fresh = Signal(data.StructLayout(fields), name=f"{name}_fresh")
        self.fresh = fresh
        head = Signal(data.StructLayout(fields), name=f"{name}_head")
        self.head, self.is_owed = head, Signal(name=f"{name}_is_owed")
        self.is_due = Signal(name=f"{name}_is_due")
        m.d.comb += [
            self.offers.eq(aw.valid & ~was_offered),
            fresh.beats.eq(beats_of(payload)),
            Value.cast(head).eq(Mux(level == 0, Value.cast(fresh), Value.cast(entries[0]))),
            self.is_owed.eq((level != 0) | self.offers),
            # Of an address that was taken: the one that is offered does not count.
            self.is_due.eq(level + self.offers > aw.valid),
            self.moves.eq(w.valid & w.ready),
            self.ends.eq(self.moves & (self.sent + 1 == head.beats)),
            Assert(level + self.offers <= depth),
        ]
        if "id" in fields:
            m.d.comb += fresh.id.eq(payload.id)
        if self._keeps_address:
            m.d.comb += fresh.address.eq(payload.address)
        m.d.sync += [
            was_offered.eq(aw.valid & ~aw.ready),
            level.eq(level + self.offers - self.ends),
            self.sent.eq(Mux(self.ends, 0, self.sent + self.moves)),
        ]
        for k, entry in enumerate(entries):
            behind = entries[k + 1] if k + 1 < depth else fresh
            place = level - self.ends
            with m.If(self.offers & (place == k)):
                m.d.sync += entry.eq(fresh)
            with m.Elif(self.ends):
                m.d.sync += entry.eq(behind)

    def _rules(self, m, w, gap):
        self.idle = idle = Signal(range(gap + 2), name=f"{self._name}_idle")
        with m.If(w.valid):
            m.d.comb += [
                obeys("address", self.is_owed),
                obeys("last", w.payload.last == (self.sent + 1 == self.head.beats)),
            ]
        m.d.sync += idle.eq(Mux(self.is_due & ~w.valid, idle + 1, 0))
        m.d.comb += obeys("gap", idle <= gap)

    def _answer(self, m, aw, w, b):
        name, most = self._name, self._most
        addresses, bursts, waiting = (
            Signal(range(most + 2), name=f"{name}_{what}")
            for what in ("addresses", "bursts", "waiting")
        )
        answers = Signal(name=f"{name}_answers")
        m.d.comb += [
            b.valid.eq(anything(m, 1, f"{name}_b_valid") & (addresses != 0) & (bursts != 0)),
            Value.cast(b.payload).eq(anything(m, len(Value.cast(b.payload)), f"{name}_b")),
            answers.eq(b.valid & b.ready),
            obeys("outstanding", waiting + self.offers <= most),
        ]
        m.d.sync += [
            addresses.eq(addresses + (aw.valid & aw.ready) - answers),
            bursts.eq(bursts + self.ends - answers),
            waiting.eq(waiting + self.offers - answers),
        ]
        self.waiting, self.answers = waiting, answers
        self.addresses, self.bursts = addresses, bursts


def check_strobes(m: Module, w, writes: Writes, first) -> None:
    """Assert that strobes are clear only before the first and after the last byte of a burst.

    Parameters
    ----------
    w : channel W
    writes : Writes
        Its monitor.
    first : Value
        Lowest byte of the first beat that may be enabled.
    """
    strobe = w.payload.strobe
    size = len(strobe)
    holes = [strobe[k] & ~strobe[k + 1] & strobe[k + 2 :].any() for k in range(size - 2)]
    is_first, is_last = writes.sent == 0, w.payload.last
    with m.If(w.valid):
        m.d.comb += [obeys("strobes", strobe.any()), *(obeys("strobes", ~hole) for hole in holes)]
        m.d.comb += [
            obeys("strobes", is_first | strobe[0]),
            obeys("strobes", is_last | strobe[-1]),
        ]
        m.d.comb += [obeys("strobes", ~(is_first & strobe[k] & (first > k))) for k in range(size)]
