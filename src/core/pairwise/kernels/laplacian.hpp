#pragma once

#include "core/pairwise/kernels/families.hpp"

namespace btml::pairwise {

// exp(−‖u‖₁)
struct Laplacian : Decaying<Laplacian> {
    static constexpr const char* name = "laplacian";
    using Metric = Absolutes;
    static constexpr bool takes_products = false, is_rooted = false;
    static constexpr double rate = 1, order = 0, least = 0x1p-100;
    static double log_integral(double d) { return d * std::numbers::ln2; }
    static double log_square_integral(double) { return 0; }
    static double variance(double) { return 2; }
};

} // namespace btml::pairwise
