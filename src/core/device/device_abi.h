/* What btml_cuda.so offers: C alone, so that it can be built by another compiler and loaded when it is asked for.
 * Functions return NULL, or why they failed: a text that lasts until the next call of the thread. Arrays are the
 * caller's, on the host, and are read or written before a function returns. A function that is told how much it may do
 * at a time takes some 50 ms for that. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How differences of queries and keys are formed: see core/pairwise/tiles.hpp. */
enum { btml_cuda_products, btml_cuda_differences, btml_cuda_wide };

/* Keys that are near each other, whose coordinates are taken relative to a centre. */
typedef struct btml_cuda_group {
    uint64_t first, keys; /* places in the order of the keys; first: a multiple of 256 */
    uint32_t form;
} btml_cuda_group;

typedef struct btml_cuda_keys {
    const char *kernel; /* its name in core/pairwise/kernels/kernels.hpp */
    uint64_t keys, dimensions, columns, groups;
    const double *points;  /* [key][dimension], in the coordinates of core/kernel/frame.hpp */
    const uint32_t *order; /* the keys, group by group */
    const float *values;   /* [place / 256][column][place % 256], in this order, of magnitude 1 at most */
    const btml_cuda_group *group;
    const double *centres; /* [group][dimension] */
} btml_cuda_keys;

/* Copies the keys to the device. max_queries: how many queries btml_cuda_sum() may be given. */
const char *btml_cuda_open_sums(const btml_cuda_keys *keys, void **sums, uint64_t *max_queries);
/* to[query][column] = sum over the keys of value times kernel, in float32 but for the sum over tiles of 128 keys; points
 * are [query][dimension], in the keys' coordinates. */
const char *btml_cuda_sum(void *sums, uint64_t queries, const double *points, double *to);
void btml_cuda_close_sums(void *sums);

/* The number of a smooth KernelChoice. */
enum { btml_cuda_squared_exponential = 1, btml_cuda_matern32, btml_cuda_matern52 };

/* A sparse Gaussian process: K inducing points with a smooth kernel, see core/gp/sparse/covariances.hpp. Everything is
 * in double precision. */
typedef struct btml_cuda_gp {
    uint32_t kind;
    uint64_t numbers, width, count;
    const double *penalties; /* of the width - numbers categories, which follow the numbers */
    double signal;
    const double *inducing; /* [count][width], as SmoothKernel::scale makes them */
} btml_cuda_gp;

/* Rows beside a sparse gp: k are a row's covariances with the inducing points, times its root. */
typedef struct btml_cuda_rows {
    uint64_t rows;
    const double *points; /* [row][width], as SmoothKernel::scale makes them */
    const double *roots;
} btml_cuda_rows;

/* max_rows: how many rows the functions below may be given. */
const char *btml_cuda_open_gp(const btml_cuda_gp *model, void **gp, uint64_t *max_rows);
/* Sums v v' (the lower triangle of [count][count]) and target * v over the rows that are added, where v solves Lv = k.
 * factor: L, the lower triangle of [count][count]. Begins with 0 and takes what was added. */
const char *btml_cuda_begin_moments(void *gp, const double *factor);
const char *btml_cuda_add_moments(void *gp, const btml_cuda_rows *rows, const double *targets);
const char *btml_cuda_take_moments(void *gp, double *products, double *projections);
/* means[row] = k'solution, and forms[form][row] = k'Ak for symmetric matrices A of count * count numbers. */
const char *btml_cuda_begin_forms(void *gp, const double *solution, uint64_t forms, const double *const *matrices);
const char *btml_cuda_find_forms(void *gp, const btml_cuda_rows *rows, double *means, double *forms);
void btml_cuda_close_gp(void *gp);

#ifdef __cplusplus
}
#endif
