// The exponential of scores, which are bounded: free of what files compiled for several processors must not see.
#pragma once

#include "core/base/elementary.hpp"

namespace btml::boosting {

inline constexpr double max_exponent = 700; // of arguments of exp: larger ones are taken for it

// Sets x to exp of it, bounded like that.
[[gnu::always_inline]] inline void bounded_exponential(Lanes& x) {
    x = x < -max_exponent ? Lanes{} - max_exponent : x;
    x = x > max_exponent ? Lanes{} + max_exponent : x;
    exponential<Lanes, LaneBits>(x);
}

} // namespace btml::boosting
