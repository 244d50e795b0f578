"""Saved activations of PyTorch, compressed from the forward to the backward pass.

PyTorch is optional: ``pip install 'cdma-engine[torch]'``.
"""

from cdma.errors import require

require("torch", extra="torch", verb="cdma.torch")

from cdma.torch.compare import compare  # noqa: E402 - the check above comes first
from cdma.torch.saved import SavedTensors  # noqa: E402

__all__ = ["SavedTensors", "compare"]
