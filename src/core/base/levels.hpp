// Compiles code for several kinds of x86 processors, and calls what is for the best that the processor at hand has.
//
// A header declares such a function by BTML_DISPATCH, with its result, name, parameters and the parameters' names: that
// declares it for each level, in a namespace of the level's name, and defines the function that calls the best. Both
// builds compile the header's file *_levels.cpp once for each level, with that level's instructions and BTML_LEVEL as
// its name, and it has the functions in a namespace BTML_LEVEL. Its templates and inline functions stay in its own
// object (-fno-weak), since the linker would otherwise let the whole library use one that not every processor can run.
// Warnings of the higher levels are off (-w), because the baseline's compilation gives the same ones. Multiplications
// and additions are fused only where a file says so, so that a loop gives the same bits at every level. A build without
// levels (clang, other processors) has the baseline alone.
#pragma once

#include <atomic>

namespace btml {

// x86-64-v1, v3 and v4; a processor of another kind is a baseline, too.
enum class Level { none, baseline, avx2, avx512 };

// Returns the best level that this build and this processor have.
Level best_level() noexcept;

// Makes functions run at a level, at most the best, until the next call.
Level choose_level(Level level) noexcept;

extern constinit std::atomic<Level> chosen_level; // is none until the first use

inline Level current_level() noexcept {
    const Level level = chosen_level.load(std::memory_order_relaxed);
    return level == Level::none ? choose_level(best_level()) : level;
}

} // namespace btml

#ifndef BTML_LEVEL
#define BTML_LEVEL baseline
#endif

#ifdef BTML_ALL_LEVELS
#define BTML_DISPATCH(result, function, parameters, arguments)                                                         \
    namespace baseline {                                                                                               \
    result function parameters;                                                                                        \
    }                                                                                                                  \
    namespace avx2 {                                                                                                   \
    result function parameters;                                                                                        \
    }                                                                                                                  \
    namespace avx512 {                                                                                                 \
    result function parameters;                                                                                        \
    }                                                                                                                  \
    inline result function parameters {                                                                                \
        switch (btml::current_level()) {                                                                               \
        case btml::Level::avx512:                                                                                      \
            return avx512::function arguments;                                                                         \
        case btml::Level::avx2:                                                                                        \
            return avx2::function arguments;                                                                           \
        default:                                                                                                       \
            return baseline::function arguments;                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static_assert(true)
#else
#define BTML_DISPATCH(result, function, parameters, arguments)                                                         \
    namespace baseline {                                                                                               \
    result function parameters;                                                                                        \
    }                                                                                                                  \
    inline result function parameters {                                                                                \
        return baseline::function arguments;                                                                           \
    }                                                                                                                  \
    static_assert(true)
#endif
