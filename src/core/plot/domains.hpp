// The ranges of values that a picture shows.
#pragma once

#include "core/plot/plot_options.hpp"

#include <functional>

namespace btml::plot {

// Returns the range of an axis: part is x or y. Where there is nothing to show, 0 to 1.
Domain domain_of(Part part, const Rows& rows, std::span<const Layer> layers, RunContext& context);

// Returns the range of the numbers that rows have in the parts that parts_of(mark) says.
ValueRange range_of(const std::function<Parts(const Mark&)>& parts_of, const Rows& rows, std::span<const Layer> layers,
                    RunContext& context, bool positive = false);

} // namespace btml::plot
