"""How uneven arrivals are to a station that keeps requests for long, and what leaves a queue.

References
----------
.. [1] A. A. Fredericks, "Congestion in blocking systems: a simple approximation technique",
   Bell System Technical Journal 59 (1980) 805-827.
.. [2] W. Whitt, "The queueing network analyzer", Bell System Technical Journal 62 (1983)
   2779-2815.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST = 1e-2
"""Peakedness of the most regular arrivals that are told apart."""


def peakedness(arrival_scv: float, stay: Array, share: Array) -> float:
    """Variance over mean of the number that renewal arrivals keep in unlimited servers [1]_.

    Parameters
    ----------
    arrival_scv : float
        Squared coefficient of variation of the gaps [1].
    stay, share : ndarray, shape (n,)
        Times of stay in any unit, and their shares, sum 1.

    Returns
    -------
    float
        1 + (c_a² - 1) ∫ P(S > t)² dt / E[S] for gaps far shorter than the stay; 1 for Poisson
        arrivals.
    """
    order = np.argsort(stay)
    above = 1.0 - np.concatenate(([0.0], np.cumsum(share[order])[:-1]))
    overlap = float(np.diff(stay[order], prepend=0.0) @ above**2) / float(share @ stay)
    return max(1.0 + (arrival_scv - 1.0) * overlap, LEAST)


def departure_scv(
    arrival_scv: float, service_scv: float, utilization: float, servers: int
) -> float:
    """Squared coefficient of variation of the gaps between what leaves a queue, [2]_ (39).

    Parameters
    ----------
    arrival_scv, service_scv : float
        Of gaps and of service times [1].
    utilization : float
        Offered work over capacity [1].
    servers : int
        Number of servers.

    Returns
    -------
    float
        Exact for M/G/1 and for M/M/c.
    """
    square = utilization**2
    arrivals = (1.0 - square) * (arrival_scv - 1.0)
    return float(1.0 + arrivals + square / np.sqrt(servers) * (service_scv - 1.0))
