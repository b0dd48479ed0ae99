// The exponential of scores, which are bounded: free of what files compiled for several processors must not see.
#pragma once

#include "core/numbers/elementary.hpp"

namespace btml::boosting {

inline constexpr double max_exponent = 700; // of arguments of exp: larger ones are taken for it

// Sets x to exp of it, bounded like that. Of vectors of doubles, with their Bits, as of exponential().
template <class Bits, class Doubles>
[[gnu::always_inline]] inline void bounded_exponential(Doubles& x) {
    x = x < -max_exponent ? Doubles{} - max_exponent : x;
    x = x > max_exponent ? Doubles{} + max_exponent : x;
    exponential<Doubles, Bits>(x);
}

} // namespace btml::boosting
