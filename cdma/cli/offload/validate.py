"""``cdma offload validate``: the model beside published figures."""

import argparse

from cdma.cli import options
from cdma.cli.offload.densities import add_densities_option, files_from, say_left_out
from cdma.cli.offload.rows import add_output_options, written

EPILOG = """\
Published figures are read from the folder CDMA_PUBLISHED; without it most rows are "not given".
Tensors of --densities or CDMA_DATA give the measured ratios of cDMA's rows.

--add takes figures of your own, one a line: columns claim, network, scheme, metric, figure, within
(percent), and, where they differ from the defaults, source, batch, link, ratio and other options of
cdma offload run. The metric is a column of its JSON output (step_ms, of_oracle, link_mib, peak_mib,
pinned_mib) or over:SCHEME, the speed over another system.

example:
  cdma offload validate --csv validation.csv
  cdma offload validate --add mine.csv
where mine.csv is
  claim,network,scheme,metric,figure,within,ratio,link
  our board,vgg-d,cdma-zv,over:vdnn-all,1.12,5,2.6,12
"""
HELP = "compare the model with published figures"


def add_parser(commands) -> None:
    """Add the command ``validate``."""
    parser = options.add_verb(commands, "validate", run, HELP, epilog=EPILOG)
    add_densities_option(parser)
    text = "CSV of further figures; repeatable"
    parser.add_argument("--add", action="append", default=[], metavar="FILE", help=text)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and print; the status is 0 whatever the verdicts are."""
    from cdma.offload import output
    from cdma.offload.profiles import left_out
    from cdma.offload.validate import report
    from cdma.offload.validate.rows import COLUMNS

    files = tuple(files_from(args))
    say_left_out(args, left_out(files))
    found = report.rows(files, args.add)
    rows = [row.as_dict() for row in found]
    if written(args, rows, summary=report.summary(found)):
        return 0
    print(output.as_table(rows, COLUMNS))
    for row in found:
        if row.reason:
            print(f"{row.claim}: {row.verdict}: {row.reason}")
    print(report.summary(found))
    return 0
