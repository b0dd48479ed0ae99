/* What btml_cuda.so offers: C alone, so that it can be built by another compiler and loaded when it is asked for.
 * Functions return NULL, or why they failed: a text that lasts until the next call of the thread. Arrays are the
 * caller's, on the host, and are read or written before a function returns. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How differences of queries and keys are formed: see core/pairwise/tiles.hpp. */
enum { btml_cuda_products, btml_cuda_differences, btml_cuda_wide };

/* Keys that are near each other, whose coordinates are taken relative to a centre. */
typedef struct btml_cuda_group {
    uint64_t first, keys; /* places in the order of the keys */
    uint32_t form;
    const double *centre;
} btml_cuda_group;

typedef struct btml_cuda_keys {
    const char *kernel; /* its name in core/pairwise/kernels/kernels.hpp */
    uint64_t keys, dimensions, columns, groups;
    const double *points;  /* [key][dimension], in the coordinates of core/kernel/frame.hpp */
    const double *values;  /* [key][column], of magnitude 1 at most */
    const uint32_t *order; /* the keys, group by group */
    const btml_cuda_group *group;
} btml_cuda_keys;

/* Copies the keys to the device. work: how many coordinates of pairs it takes about 50 ms for. */
const char *btml_cuda_open_sums(const btml_cuda_keys *keys, void **sums, double *work);
/* to[query][column] = sum over the keys of value times kernel, in float32 but for the sum over tiles of 128 keys; points
 * are [query][dimension], in the keys' coordinates. */
const char *btml_cuda_sum(void *sums, uint64_t queries, const double *points, double *to);
void btml_cuda_close_sums(void *sums);

/* A sparse process: K inducing points with a smooth kernel, see core/gp/sparse/covariances.hpp. Everything is in
 * double precision. */
typedef struct btml_cuda_process {
    uint32_t kind; /* the number of a SmoothKind */
    uint64_t numbers, width, count;
    const double *penalties; /* of the width - numbers categories, which follow the numbers */
    double signal;
    const double *inducing; /* [count][width], as SmoothKernel::scale makes them */
} btml_cuda_process;

/* Rows beside a process: k are a row's covariances with the inducing points, times its root. */
typedef struct btml_cuda_rows {
    uint64_t rows;
    const double *points; /* [row][width], as SmoothKernel::scale makes them */
    const double *roots;
} btml_cuda_rows;

const char *btml_cuda_open_process(const btml_cuda_process *process, void **handle);
/* products += sum of v v' (the lower triangle of [count][count]) and projections += sum of target * v, over the rows,
 * where v solves Lv = k. factor: L, the lower triangle of [count][count]. Both sums stay on the device, from 0 on after
 * a call with a factor that is not NULL, until btml_cuda_take_moments() writes them. */
const char *btml_cuda_begin_moments(void *handle, const double *factor);
const char *btml_cuda_add_moments(void *handle, const btml_cuda_rows *rows, const double *targets);
const char *btml_cuda_take_moments(void *handle, double *products, double *projections);
/* means[row] = k'solution, and forms[form][row] = k'Ak for symmetric matrices A, [form][count][count]. */
const char *btml_cuda_begin_forms(void *handle, const double *solution, uint64_t forms, const double *const *matrices);
const char *btml_cuda_take_forms(void *handle, const btml_cuda_rows *rows, double *means, double *forms);
void btml_cuda_close_process(void *handle);

#ifdef __cplusplus
}
#endif
