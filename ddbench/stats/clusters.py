"""Add up what belongs to one prompt: its repeats are not independent of each other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddbench.errors import NotComparable

Floats = NDArray[np.float64]


def cluster_sums(values: ArrayLike, clusters: Sequence[str]) -> Floats:
    """Sums of `values` by cluster, shape (clusters,), in sorted order of the labels.

    Raises NotComparable for unequal lengths and for numbers that are not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(clusters),):
        raise NotComparable(
            f"{numbers.size} values and {len(clusters)} cluster labels",
            remedy="Give every value the label of its prompt.",
        )
    if not np.isfinite(numbers).all():
        raise NotComparable(
            "a value is not a finite number",
            remedy="Leave out what was not measured; do not fill it in.",
        )
    index = {label: position for position, label in enumerate(sorted(set(clusters)))}
    places = np.fromiter((index[label] for label in clusters), dtype=np.intp, count=len(clusters))
    sums: Floats = np.bincount(places, weights=numbers, minlength=len(index)).astype(np.float64)
    return sums
