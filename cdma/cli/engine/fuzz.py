"""What ``cdma fuzz`` does for ``--unit engine``."""

import argparse
import json

from cdma.cli.engine.options import SIZES, engine_config_from
from cdma.cli.options import flag, natural
from cdma.errors import UserError
from cdma.files import write_text

#: Options of one engine, which ``--all-sizes`` does not take.
_OF_ONE_SIZE = ("batch", "config", "lanes", "word_bits", "block_words", "codec", "type", *SIZES)
#: Jobs after which a long run of all sizes writes its report, and goes on.
_PART = 50_000
#: For the end of the help of ``cdma fuzz``.
ABOUT_FUZZ = """\
The engine is fed jobs of both rings at once: offloads and prefetches of all kinds, damaged streams
and indices, bus errors, bad descriptors, aborts, timeouts, resets, with other memories in each
batch; --packets counts jobs. --all-sizes shares them among a dozen engines. --save then holds what
was played so far, and --resume goes on from there."""


def add_fuzz_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--all-sizes``, ``--resume``, ``--round`` and ``--job``."""
    group = parser.add_argument_group("of random jobs of the engine")
    sizes = "engines of a dozen sizes, each with its share of --packets"
    group.add_argument("--all-sizes", action="store_const", const=True, help=sizes)
    resume = "go on with the run of the same seed that --save holds; sizes that changed begin again"
    group.add_argument("--resume", action="store_const", const=True, help=resume)
    group.add_argument("--round", type=natural, metavar="N", help="of --batch, this round only")
    group.add_argument("--job", type=natural, metavar="N", help="of --round, this job only")


def fuzz(args: argparse.Namespace, progress) -> list[dict]:
    """Reports of runs of random jobs, up to the first that fails.

    Of all sizes, a part of the jobs is played with each, then the next part. The report is written
    after each part, so a run that is stopped has a result, and ``--resume`` continues it.
    """
    from cdma.verify.fuzz import engine

    if args.waves or args.verilog:
        raise UserError("--waves and --verilog are for units, not for random jobs of the engine")
    for name, needed in (("round", "batch"), ("job", "round")):
        if getattr(args, name) is not None and getattr(args, needed) is None:
            raise UserError(f"{flag(name)} needs {flag(needed)}")
    if args.round is not None and args.round >= engine.ROUNDS:
        raise UserError(f"--round must be below {engine.ROUNDS}, not {args.round}")
    sizes = [(engine_config_from(args), 1)]
    if args.all_sizes:
        for name in _OF_ONE_SIZE:
            if getattr(args, name, None) is not None:
                raise UserError(f"{flag(name)} is for one size: leave --all-sizes out")
        sizes = engine.SIZES
    if args.resume and not (args.all_sizes and args.save):
        raise UserError("--resume needs --all-sizes and --save")
    whole = sum(share for _, share in sizes)
    where = {"round_": args.round, "only": args.job}
    where |= {"processes": args.jobs, "scheduler": args.scheduler}
    outcomes = engine.kept(args.save, sizes, args.seed, progress) if args.resume else {}
    parts = -(-args.packets // _PART) if args.all_sizes else 1
    for part in range(1, parts + 1):
        for config, share in sizes:
            jobs = -(-args.packets * share * part // (whole * parts))
            limits = (jobs, args.seed, args.batch)
            before = outcomes.get(config)
            found = engine.fuzz(config, *limits, before=before, progress=progress, **where)
            outcomes[config] = found
            if found.problem:
                break
        played = [config for config, _ in sizes if config in outcomes]
        rows = [engine.row(config, args.seed, outcomes[config]) for config in played]
        if found.problem:
            break
        if args.save and part < parts:
            write_text(args.save, f"{json.dumps(rows, indent=1)}\n")
    return rows
