"""Variance that an error bound adds to the gradient of a convolution's weights.

The errors of the stored input are taken as independent and uniform within the bound, as in COMET
(Jin et al., VLDB 2022); zeros have no error. Then

    Var dW[k,c,r,s] = bound^2 / 3 * sum over n and p of dY[n,k,p]^2 [x[n,c,p+(r,s)] != 0]
"""

import math

import torch


def gradient_variance(
    images: torch.Tensor,
    output_gradient: torch.Tensor,
    kernel: tuple[int, int],
    bound: float,
    **convolution,
) -> torch.Tensor:
    """Variance of each weight's gradient.

    Parameters
    ----------
    images : Tensor, shape (n, c, height, width)
        Input of the convolution, before it is stored.
    output_gradient : Tensor, shape (n, k, ...)
        Gradient of its output: of this step, or as an estimate of an earlier one.
    kernel : tuple of int
        Height and width of the kernel.
    bound : float
        Absolute error bound of the stored input.
    **convolution
        ``stride``, ``padding`` and ``dilation``; no groups.

    Returns
    -------
    Tensor of float64, shape (k, c, height, width)
    """
    shape = (output_gradient.shape[1], images.shape[1], *kernel)
    is_kept = (images != 0).double()
    squares = output_gradient.double().square()
    terms = torch.nn.grad.conv2d_weight(is_kept, shape, squares, **convolution)
    return bound**2 / 3 * terms


def bound_for(
    deviation: float,
    images: torch.Tensor,
    output_gradient: torch.Tensor,
    kernel: tuple[int, int],
    **convolution,
) -> float:
    """Error bound at which the gradient's elements deviate by so much.

    Parameters
    ----------
    deviation : float
        Root of the mean variance of the elements; above 0.
    images, output_gradient, kernel, **convolution
        As of :func:`gradient_variance`.

    Raises
    ------
    ValueError
        When no bound changes the gradient: input or output gradient are all zero.
    """
    arguments = images, output_gradient, kernel
    mean = gradient_variance(*arguments, 1.0, **convolution).mean().item()
    if mean == 0:
        raise ValueError("Gradient must depend on the input: all terms of its variance are 0")
    return deviation / math.sqrt(mean)
