"""``cdma bench --engine`` and ``--targets``: cycles of engines of several sizes."""

import argparse
import json

from cdma import __version__
from cdma.engine_config import CHANNELS, EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import write_text
from cdma.progress import timed
from cdma.tables import format_table
from cdma.tensors.load import load_tensor


def run_targets(args: argparse.Namespace) -> int:
    """Measure the targets, print the table or the JSON; 1 when a target is missed."""
    with refusals_as_user_errors():
        configs = [EngineConfig(channels=channels) for channels in args.channels or CHANNELS]
    from cdma.sim.engine.bench import report, targets

    result = {"version": __version__, **report.measure(configs, timed("engine"))}
    if args.save:
        write_text(args.save, json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=2) if args.json else report.text(result), end="")
    return int(any(row["verdict"] != targets.MET for row in result["records"]))


def run(args: argparse.Namespace) -> int:
    """Measure, print the table or the JSON; 1 when a tensor did not come back as it must."""
    tensors = {name: load_tensor(name) for name in args.engine}
    (bits, *others) = {8 * tensor.itemsize for tensor in tensors.values()}
    if others:
        raise UserError("the tensors must have elements of one width")
    with refusals_as_user_errors():
        configs = [
            EngineConfig(channels=channels, lanes=256 // bits, word_bits=bits)
            for channels in args.channels or CHANNELS
        ]
    from cdma.sim.engine.measure import COLUMNS, DEVICE_LATENCY, HOST_LATENCY, measure

    rows = [
        row | {"tensor": row["tensor"].rpartition("/")[2]}
        for row in measure(tensors, configs, timed("engine"))
    ]
    latencies = {"device_latency": DEVICE_LATENCY, "host_latency": HOST_LATENCY}
    result = {"version": __version__, **latencies, "records": rows}
    if args.save:
        write_text(args.save, json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2) if args.json else format_table(rows, COLUMNS))
    return int(any(row["comparison"] != "equal" for row in rows))
