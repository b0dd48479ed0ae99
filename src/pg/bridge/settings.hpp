// The configuration parameters btml.*.
#pragma once

#include <cstdint>
#include <string>

namespace btml::pg {

void define_settings();

uint64_t memory_limit_bytes(); // btml.memory_limit, or btml.max_memory_limit where that is less
uint64_t model_cache_bytes();  // btml.model_cache, likewise
int thread_count();            // btml.threads; 0 there means max_parallel_workers_per_gather + 1
enum class Factorize { off, exact, on };
Factorize factorize_aggregates();  // btml.factorize_aggregates
bool force_factorize_aggregates(); // btml.force_factorize_aggregates
std::string cuda_library();        // the path of btml_cuda.so where btml.device asks for it, or else nothing

} // namespace btml::pg
