#include "core/base/levels.hpp"

namespace btml {

constinit std::atomic<Level> chosen_level = Level::none;

Level best_level() noexcept {
#ifdef BTML_ALL_LEVELS
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Level::baseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx512 ? Level::avx512 : Level::avx2;
#else
    return Level::baseline;
#endif
}

Level choose_level(Level level) noexcept {
    chosen_level.store(level, std::memory_order_relaxed);
    return level;
}

} // namespace btml
