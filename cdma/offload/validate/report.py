"""All rows of the validation."""

from cdma.offload.validate import cdma, cswap, vdnn
from cdma.offload.validate.rows import Row


def rows(densities: tuple[str, ...] = ()) -> list[Row]:
    """Rows of vDNN, cDMA, CSWAP and COMET; ``densities`` are files of tensors for cDMA's ratio."""
    return [*vdnn.rows(), *cdma.rows(densities), *cswap.rows()]


def summary(found: list[Row]) -> str:
    """How many rows have each verdict."""
    verdicts = [row.verdict for row in found]
    return ", ".join(f"{verdicts.count(each)} {each}" for each in dict.fromkeys(verdicts))
