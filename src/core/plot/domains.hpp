// The ranges of values that a picture shows.
#pragma once

#include "core/plot/plot_options.hpp"

namespace btml::plot {

struct Layer {
    const Mark* mark;
    LayerRows rows;
};

// Returns the range of an axis: part is x or y. Where there is nothing to show, 0 to 1.
Domain domain_of(Part part, const Rows& rows, std::span<const Layer> layers, RunContext& context);

// Returns the range of column value or size over the rows of marks that look at it; nothing where there is none.
std::optional<ValueRange> range_of(Part part, const Rows& rows, std::span<const Layer> layers, RunContext& context);

} // namespace btml::plot
