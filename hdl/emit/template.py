"""A test bench in SystemVerilog that connects both units, for users to begin with."""

from cdma.hdl.codecs import UnitConfig
from cdma.hdl.emit.verilog import module_name

#: Module of the bench.
TOP = "roundtrip_tb"


def roundtrip(
    config: UnitConfig,
    compressor: str | None = None,
    decompressor: str | None = None,
    name: str = TOP,
) -> str:
    """A self-checking test bench: random packets through compressor, FIFO and decompressor.

    The FIFO holds a whole stream: the compressor's status, which has the word count that the
    decompressor needs, comes after the stream's last beat.

    Runs with ``verilator --binary --timing`` and with ``iverilog -g2012``; ends with ``PASS``, or
    with a failure and a status that is not zero.

    Parameters
    ----------
    config : UnitConfig
        Size of both units.
    compressor, decompressor : str or None
        Names of their modules; ``None`` as for :func:`cdma.hdl.emit.verilog`.
    name : str
        Name of the bench's module.
    """
    values = {
        "BENCH": name,
        "CONFIG": config.name,
        "LANES": config.lanes,
        "WORD_BITS": config.format.word_bits,
        "BLOCK_WORDS": config.format.block_words,
        "COMPRESSOR": module_name("compressor", compressor),
        "DECOMPRESSOR": module_name("decompressor", decompressor),
    }
    text = _BENCH
    for mark, value in values.items():
        text = text.replace(f"@{mark}@", str(value))
    return text


_BENCH = """\
// Round trip through both units, @CONFIG@: source -> compressor -> FIFO -> decompressor -> check.
// SPDX-License-Identifier: Apache-2.0
//
// Run: verilator --binary --timing --top-module @BENCH@ <this file> <both units>.v
// or:  iverilog -g2012 -s @BENCH@ <this file> <both units>.v
//
// The word count goes from the compressor's status to the decompressor's command. The status comes
// after the last beat of its packet, so the FIFO must hold the whole stream of the largest packet.
// Without it, the decompressor fills up and waits for its command, and both units stall for ever.
`timescale 1ns / 1ps

module @BENCH@;
  localparam LANES = @LANES@;
  localparam WORD_BITS = @WORD_BITS@;
  localparam BLOCK_WORDS = @BLOCK_WORDS@;
  localparam PACKETS = 50;
  localparam MOST_WORDS = 8 * BLOCK_WORDS;
  localparam BEAT_BITS = LANES * WORD_BITS;
  localparam BEAT_BYTES = BEAT_BITS / 8;
  localparam WORD_BYTES = WORD_BITS / 8;
  // A stream is never longer than its words and their masks.
  localparam FIFO_BEATS = (MOST_WORDS * WORD_BITS + MOST_WORDS + BEAT_BITS - 1) / BEAT_BITS;
  localparam MOST_CYCLES = 1000 + 20 * PACKETS * (MOST_WORDS / LANES + 20);

  reg aclk = 0;
  reg aresetn = 0;
  integer cycle = 0, packets_seen = 0, statuses = 0;
  always #5 aclk = !aclk;
  always @(posedge aclk) begin
    cycle <= cycle + 1;
    aresetn <= cycle >= 4;
    if (cycle == MOST_CYCLES)
      $fatal(1, "FAIL: %0d of %0d packets after %0d cycles", packets_seen, PACKETS, cycle);
  end

  // words into the compressor
  reg  [ BEAT_BITS-1:0] x_tdata;
  reg  [BEAT_BYTES-1:0] x_tkeep;
  reg                   x_tlast;
  reg                   x_tvalid = 0;
  wire                  x_tready;
  // its stream into the FIFO, and out of it
  wire [ BEAT_BITS-1:0] z_tdata;
  wire [BEAT_BYTES-1:0] z_tkeep;
  wire                  z_tlast;
  wire                  z_tvalid;
  wire                  z_tready;
  wire [ BEAT_BITS-1:0] f_tdata;
  wire [BEAT_BYTES-1:0] f_tkeep;
  wire                  f_tlast;
  wire                  f_tvalid;
  wire                  f_tready;
  // its status: {bytes out, words in}
  wire [          63:0] c_sts_tdata;
  wire                  c_sts_tvalid;
  wire                  c_sts_tready;
  // words out of the decompressor, and its status: {error code, bytes decoded}
  wire [ BEAT_BITS-1:0] y_tdata;
  wire [BEAT_BYTES-1:0] y_tkeep;
  wire                  y_tlast;
  wire                  y_tvalid;
  reg                   y_tready = 0;
  wire [          39:0] d_sts_tdata;
  wire                  d_sts_tvalid;

  @COMPRESSOR@ compressor (
    .aclk(aclk),
    .aresetn(aresetn),
    .s_axis_tdata(x_tdata),
    .s_axis_tkeep(x_tkeep),
    .s_axis_tlast(x_tlast),
    .s_axis_tvalid(x_tvalid),
    .s_axis_tready(x_tready),
    .m_axis_tdata(z_tdata),
    .m_axis_tkeep(z_tkeep),
    .m_axis_tlast(z_tlast),
    .m_axis_tvalid(z_tvalid),
    .m_axis_tready(z_tready),
    .m_axis_sts_tdata(c_sts_tdata),
    .m_axis_sts_tvalid(c_sts_tvalid),
    .m_axis_sts_tready(c_sts_tready)
  );

  @DECOMPRESSOR@ decompressor (
    .aclk(aclk),
    .aresetn(aresetn),
    .s_axis_cmd_tdata(c_sts_tdata[31:0]),
    .s_axis_cmd_tvalid(c_sts_tvalid),
    .s_axis_cmd_tready(c_sts_tready),
    .s_axis_tdata(f_tdata),
    .s_axis_tkeep(f_tkeep),
    .s_axis_tlast(f_tlast),
    .s_axis_tvalid(f_tvalid),
    .s_axis_tready(f_tready),
    .m_axis_tdata(y_tdata),
    .m_axis_tkeep(y_tkeep),
    .m_axis_tlast(y_tlast),
    .m_axis_tvalid(y_tvalid),
    .m_axis_tready(y_tready),
    .m_axis_sts_tdata(d_sts_tdata),
    .m_axis_sts_tvalid(d_sts_tvalid),
    .m_axis_sts_tready(1'b1)
  );

  // FIFO of beats {tlast, tkeep, tdata}
  reg [BEAT_BITS+BEAT_BYTES:0] fifo[0:FIFO_BEATS-1];
  integer fifo_in = 0, fifo_out = 0, fifo_level = 0;
  wire fifo_push = z_tvalid && z_tready;
  wire fifo_pop = f_tvalid && f_tready;
  assign z_tready = fifo_level < FIFO_BEATS;
  assign f_tvalid = fifo_level > 0;
  assign {f_tlast, f_tkeep, f_tdata} = fifo[fifo_out];
  always @(posedge aclk)
    if (aresetn) begin
      if (fifo_push) fifo[fifo_in] <= {z_tlast, z_tkeep, z_tdata};
      if (fifo_push) fifo_in <= fifo_in + 1 == FIFO_BEATS ? 0 : fifo_in + 1;
      if (fifo_pop) fifo_out <= fifo_out + 1 == FIFO_BEATS ? 0 : fifo_out + 1;
      fifo_level <= fifo_level + (fifo_push ? 1 : 0) - (fifo_pop ? 1 : 0);
    end

  // What was sent, for the check.
  reg [WORD_BITS-1:0] words[0:PACKETS*MOST_WORDS-1];
  integer ends[0:PACKETS-1];
  integer sent = 0, packets_sent = 0, left = -1;

  // Source: packets of random length, half of the words zero; now and then no beat.
  reg [WORD_BITS-1:0] word;
  integer lane;
  always @(posedge aclk)
    if (aresetn && (!x_tvalid || x_tready)) begin
      x_tvalid <= 0;
      if (packets_sent < PACKETS && $urandom_range(7) != 0) begin
        if (left < 0) left = $urandom_range(MOST_WORDS);
        for (lane = 0; lane < LANES; lane = lane + 1) begin
          word = $urandom_range(1) != 0 ? WORD_BITS'({$urandom, $urandom}) : '0;
          x_tkeep[WORD_BYTES*lane+:WORD_BYTES] <= {WORD_BYTES{lane < left}};
          x_tdata[WORD_BITS*lane+:WORD_BITS] <= lane < left ? word : '0;
          if (lane < left) words[sent+lane] = word;
        end
        sent = sent + (left < LANES ? left : LANES);
        left = left - LANES;
        x_tlast <= left <= 0;
        x_tvalid <= 1;
        if (left <= 0) begin
          ends[packets_sent] = sent;
          packets_sent = packets_sent + 1;
          left = -1;
        end
      end
    end

  // Check: every word, the end of every packet, every status.
  integer at, seen = 0;
  always @(posedge aclk)
    if (aresetn) begin
      y_tready <= $urandom_range(3) != 0;
      if (y_tvalid && y_tready) begin
        for (at = 0; at < LANES; at = at + 1)
          if (y_tkeep[WORD_BYTES*at]) begin
            if (y_tdata[WORD_BITS*at+:WORD_BITS] !== words[seen])
              $fatal(1, "FAIL: packet %0d: word %0d is %h, expected %h", packets_seen, seen,
                     y_tdata[WORD_BITS*at+:WORD_BITS], words[seen]);
            seen = seen + 1;
          end
        if (y_tlast) begin
          if (seen != ends[packets_seen])
            $fatal(1, "FAIL: packet %0d ends at word %0d, expected %0d", packets_seen, seen,
                   ends[packets_seen]);
          packets_seen = packets_seen + 1;
        end
      end
      if (d_sts_tvalid) begin
        if (d_sts_tdata[39:32] != 0)
          $fatal(1, "FAIL: packet %0d: error code %0d", statuses, d_sts_tdata[39:32]);
        statuses = statuses + 1;
      end
      if (statuses == PACKETS && packets_seen == PACKETS) begin
        $display("PASS: %0d packets, %0d words", PACKETS, sent);
        $finish;
      end
    end
endmodule
"""
