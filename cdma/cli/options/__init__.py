"""Options that several verbs share, and the objects that they describe."""

from cdma.cli.options.codecs import add_codec_options, one_type, only_zvc
from cdma.cli.options.configs import config_from, config_named, config_or, plus_size_from
from cdma.cli.options.runs import (
    add_cache_option,
    add_folder_option,
    add_liberty_option,
    add_sweep_options,
    add_verb,
    announce,
    liberty_path,
)
from cdma.cli.options.saves import add_save_option, file_to_write, folder_to_make
from cdma.cli.options.shapes import shape_of
from cdma.cli.options.sizes import add_config_options, add_format_options, add_number_options
from cdma.cli.options.stalls import PROFILES, add_stall_option
from cdma.cli.options.targets import add_target_options, targets_from
from cdma.cli.options.tensors import add_dtype_option, add_tensor_options, tensor_from
from cdma.cli.options.types import above_zero, flag, natural, positive, refuse_below, rising, size
from cdma.cli.options.units import (
    SIMULATED,
    UNITS,
    add_design_options,
    add_units_option,
    units_from,
)
from cdma.cli.options.zeros import add_zero_options, zeros_from

__all__ = [
    "PROFILES",
    "SIMULATED",
    "UNITS",
    "above_zero",
    "add_cache_option",
    "add_codec_options",
    "add_config_options",
    "add_design_options",
    "add_dtype_option",
    "add_folder_option",
    "add_format_options",
    "add_liberty_option",
    "add_number_options",
    "add_save_option",
    "add_stall_option",
    "add_sweep_options",
    "add_target_options",
    "add_tensor_options",
    "add_units_option",
    "add_verb",
    "add_zero_options",
    "announce",
    "config_from",
    "config_named",
    "config_or",
    "file_to_write",
    "flag",
    "folder_to_make",
    "liberty_path",
    "natural",
    "one_type",
    "only_zvc",
    "plus_size_from",
    "positive",
    "refuse_below",
    "rising",
    "shape_of",
    "size",
    "targets_from",
    "tensor_from",
    "units_from",
    "zeros_from",
]
