#include "core/kernel/tiles.hpp"

namespace btml::kernel {

const TileFunctions* tile_functions(InstructionSet set) {
    if (set == InstructionSet::baseline) return &baseline_tile_functions();
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (set == InstructionSet::avx2) return avx2 ? avx2_tile_functions() : nullptr;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx2 && avx512 ? avx512_tile_functions() : nullptr;
#else
    return nullptr;
#endif
}

const TileFunctions& tile_functions() {
    if (const TileFunctions* const functions = tile_functions(InstructionSet::avx512)) return *functions;
    if (const TileFunctions* const functions = tile_functions(InstructionSet::avx2)) return *functions;
    return baseline_tile_functions();
}

} // namespace btml::kernel
