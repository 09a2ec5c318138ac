"""Which head of the keys and values a head of the queries reads."""

from kernels.indexing import replace
from kernels.language import *


@inline
def source_head(lead, heads, k, *, enable_gqa):
    """The leading indices of the keys and values for those of the queries; several may share a head (`enable_gqa`)."""
    if not enable_gqa:
        return lead
    h = len(lead) - 1
    return replace(lead, h, lead[h] // (heads[h] // k.shape[-3]))
