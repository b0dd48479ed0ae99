/* What btml_cuda.so offers: C alone, so that it can be built by another compiler and loaded when it is asked for.
 * Functions return NULL, or why they failed: a text that lasts until the next call of the thread. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct btml_cuda_keys {
    const char *kernel; /* its name in core/pairwise/kernels/kernels.hpp */
    uint64_t keys, dimensions, columns;
    const double *points; /* [key][dimension] */
    const double *values; /* [key][column], of magnitude 1 at most */
} btml_cuda_keys;

/* Copies the keys to the device. */
const char *btml_cuda_open(const btml_cuda_keys *keys, void **handle);
/* sums[query][column] = sum over the keys of value times kernel, in float32 but for the sum itself; points are
 * [query][dimension]. */
const char *btml_cuda_sums(void *handle, uint64_t queries, const double *points, double *sums);
void btml_cuda_close(void *handle);

#ifdef __cplusplus
}
#endif
