// A picture of rows as SVG: the layout of title, legend, axes and data.
#pragma once

#include "core/plot/plot_options.hpp"

namespace btml::plot {

// Returns ASCII. The same rows make the same bytes, in whatever order they came, but for categories and series, which
// count in the order in which they come first. Error memory_limit; limit_exceeded for too many boxes.
std::string draw_picture(const Rows& rows, const Options& options, RunContext& context);

} // namespace btml::plot
