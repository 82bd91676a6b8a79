"""Transfer times on a fair-shared line, M/G/1 processor sharing and its relatives.

Sizes are given as seconds alone on the line. Given its size x, a transfer takes x plus a gamma
delay with the exact mean x rho/(1-rho).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdd_plan.errors import UnstableQueueError

Array = NDArray[np.float64]


def transfer_time_points(
    alone_s: ArrayLike,
    weights: ArrayLike,
    utilization: float,
    points: int = 16,
) -> tuple[Array, Array]:
    """Transfer time of each size on a fair-shared line, as a few points with masses.

    Parameters
    ----------
    alone_s : array_like, shape (n,)
        Size of each transfer as seconds alone on the line [s].
    weights : array_like, shape (n,)
        Shares of the transfers [1].
    utilization : float
        Offered work over capacity rho [1], in [0, 1).
    points : int
        Points per size.

    Returns
    -------
    values_s : ndarray, shape (n, points)
        Transfer times [s], rising along the second axis.
    point_weights : ndarray, shape (points,)
        Masses of the points, the same for all sizes; sum 1.

    Raises
    ------
    UnstableQueueError
        If the utilization is 1 or more.
    ValueError
        If an argument is out of its range.
    """
    size = np.asarray(alone_s, dtype=np.float64).ravel()
    share = np.asarray(weights, dtype=np.float64).ravel()
    if utilization >= 1.0:
        raise UnstableQueueError(f"line utilization {utilization:.4g}: transfers pile up")
    if not utilization >= 0.0:
        raise ValueError("a utilization must be 0 or more")
    edges, log_shapes, table = _gamma_table(points)
    if utilization == 0.0:
        return np.repeat(size[:, None], points, axis=1), np.diff(edges)
    share = share / share.sum()
    residual = float(share @ size**2) / (2.0 * float(share @ size))
    shape = utilization + size * utilization * (1.0 - utilization) / (2.0 * residual)
    position = np.interp(np.log(shape), log_shapes, np.arange(log_shapes.size))
    left = np.minimum(position.astype(np.intp), log_shapes.size - 2)
    part = (position - left)[:, None]
    standard = (1.0 - part) * table[left] + part * table[left + 1]
    mean = size * (utilization / (1.0 - utilization))
    return size[:, None] + mean[:, None] * standard, np.diff(edges)


@lru_cache(maxsize=8)
def _gamma_table(points: int) -> tuple[Array, Array, Array]:
    """Return share edges, log shapes and the means between the edges of gammas of mean 1."""
    from scipy.special import gammainc, gammaincinv

    angle = np.linspace(0.0, np.pi / 2.0, points + 1)
    edges = np.sin(angle)  # finer towards the tail
    log_shapes = np.linspace(np.log(1e-3), np.log(1e4), 161)
    shapes = np.exp(log_shapes)[:, None]
    quantiles = gammaincinv(shapes, edges[None, :])
    below = gammainc(shapes + 1.0, quantiles)
    below[:, -1] = 1.0
    return edges, log_shapes, np.diff(below, axis=1) / np.diff(edges)
