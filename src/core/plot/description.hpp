// A picture in words: for those who do not see it, and for what it leaves out.
#pragma once

#include "core/plot/domains.hpp"

namespace btml::plot {

// Returns how many rows are not drawn, and why; empty where all are.
std::string describe_omissions(const Rows& rows);

// Returns a few sentences: marks and series, the ranges of the axes, what is left out.
std::string describe(const Canvas& canvas, std::span<const Layer> layers);

} // namespace btml::plot
