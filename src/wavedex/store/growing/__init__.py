"""Parts that grow in place: contiguous buckets, and chains of them."""
