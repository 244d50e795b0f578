"""The advice in words."""

from cdma.engine_config import EngineConfig
from cdma.offload.answers.advise import LINK_USE, break_even, left_raw
from cdma.offload.setup import Setup

_SHOWN = 6


def about(setup: Setup, row: dict, is_known: bool) -> dict:
    """Figures of the chosen engine and of what it needs.

    Parameters
    ----------
    setup : Setup
        With this engine.
    row : dict
        Of :func:`cdma.offload.answers.advise.engines`.
    is_known : bool
        Whether the speed of compute is known: the break-even density depends on it.
    """
    config = EngineConfig(channels=row["channels"], lanes=row["lanes"])
    moves = setup.coded()
    raw = sum(move.tensor.bytes for move in moves)
    ratio = raw / sum(move.link for move in moves)
    link = setup.link.effective
    figures = {key: value for key, value in row.items() if key != "codec"}
    return figures | {
        "network": setup.network.name,
        "batch": setup.batch,
        "link_gb_per_s": link / 1e9,
        "ratio": ratio,
        "dram_gb_per_s": min(ratio * link, setup.codec.down) / 1e9,
        "latency_bytes_kib": setup.codec.down * setup.codec.latency / 1024,
        "break_even_density": break_even(setup, config) if is_known else None,
        "left_raw": left_raw(setup),
    }


def text(figures: dict) -> str:
    """The figures as lines."""
    raw = figures["left_raw"]
    others = f" and {len(raw) - _SHOWN} more" if len(raw) > _SHOWN else ""
    lines = [
        f"engine       {figures['engine']}: {figures['area_mm2']:.3f} mm2 of codec units, "
        f"{figures['raw_gb_per_s']:.0f} GB/s raw at {figures['clock_ghz']:.2f} GHz",
        f"link use     {figures['link_use']:.1%} of {figures['link_gb_per_s']:g} GB/s, "
        f"at a ratio of {figures['ratio']:.2f}",
        f"buffers      {figures['buffer_kib']:.0f} KiB; "
        f"{figures['latency_bytes_kib']:.0f} KiB are in flight",
        f"DRAM         {figures['dram_gb_per_s']:.0f} GB/s while a tensor moves",
        f"left raw     {', '.join(raw[:_SHOWN]) or 'none'}{others}",
    ]
    if figures["link_use"] < LINK_USE:
        lines.append(f"limit        no measured engine uses {LINK_USE:.0%} of this link")
    density = figures["break_even_density"]
    if density is not None:
        lines.append(f"break-even   density {density:.2f} of the sparse tensors")
    return "\n".join(lines)
