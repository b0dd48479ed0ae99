// Stands for btml_cuda.so where a device is there and then fails, as one does that runs out of memory.
#include "core/device/device_abi.h"

static const char out_of_memory[] = "out of memory";

extern "C" {
const char* btml_cuda_open_sums(const btml_cuda_keys*, void** sums, uint64_t* max_queries) {
    *sums = nullptr;
    *max_queries = 1000;
    return nullptr;
}
const char* btml_cuda_sum(void*, uint64_t, const double*, double*) {
    return out_of_memory;
}
void btml_cuda_close_sums(void*) {}

const char* btml_cuda_open_gp(const btml_cuda_gp*, void** gp, uint64_t* max_rows) {
    *gp = nullptr;
    *max_rows = 1000;
    return nullptr;
}
const char* btml_cuda_begin_moments(void*, const double*) {
    return nullptr;
}
const char* btml_cuda_add_moments(void*, const btml_cuda_rows*, const double*) {
    return nullptr;
}
const char* btml_cuda_take_moments(void*, double* products, double*) {
    products[0] = 1; // half of the work
    return out_of_memory;
}
const char* btml_cuda_begin_forms(void*, const double*, uint64_t, const double* const*) {
    return nullptr;
}
const char* btml_cuda_find_forms(void*, const btml_cuda_rows*, double* means, double*) {
    static int calls = 0;
    means[0] = 1;
    return ++calls % 2 == 0 ? out_of_memory : nullptr; // in the middle of the rows that are asked for at once
}
void btml_cuda_close_gp(void*) {}
}
