"""All rows of the validation."""

from collections.abc import Sequence

from cdma.offload.validate import added, cdma, codec, comet, cswap, vdnn
from cdma.offload.validate.rows import Row


def rows(densities: tuple[str, ...] = (), files: Sequence[str] = ()) -> list[Row]:
    """Rows of vDNN, cDMA, CSWAP and COMET, and those of the user's ``files``.

    ``densities`` are files of tensors, for ratios.
    """
    own = [row for file in files for row in added.rows(file, densities)]
    return [*own, *vdnn.rows(), *cdma.rows(densities), *cswap.rows(), *codec.rows(), *comet.rows()]


def summary(found: list[Row]) -> str:
    """How many rows have each verdict."""
    verdicts = [row.verdict for row in found]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
