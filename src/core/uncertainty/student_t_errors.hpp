// The Student t distribution that is the likeliest for what models are off.
#pragma once

#include "core/base/buffer.hpp"

#include <span>

namespace btml::uncertainty {

// A Student t distribution about 0. Its standard deviation is scale · √(df/(df − 2)) for df > 2, and infinite else.
struct StudentT {
    static constexpr double min_df = 1, max_df = 1000; // above it is a normal distribution by any measure

    double scale = 1, df = max_df;

    // Returns −ln of the density at z.
    double nll(double z) const;
};

// Returns the likeliest distribution for ascending numbers, by 4,001 of them that lie evenly among them where there are
// more; its scale is at least a thousandth of their root mean square, so that a tie at 0 has a density. All 0: scale 0.
StudentT likeliest_student_t(std::span<const double> sorted, RunContext& context);

} // namespace btml::uncertainty
