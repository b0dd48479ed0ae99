// Curves through rows in the order of x: runs of vertices that have no gap.
#pragma once

#include "core/plot/marks/mark.hpp"

namespace btml::plot {

// A place along the axis of x, and an interval of y's pixels there.
struct Vertex {
    double along, low, high;
};
using Run = std::vector<Vertex>;

// Returns the runs of rows of one series, which are cut where y is NULL. Of more rows than pixels can tell apart, each
// pixel along x has the first, the lowest, the highest and the last.
std::vector<Run> curve_runs(LayerRows rows, Canvas& canvas);

// Does the same of the intervals from lower to upper, cut where one of them is NULL; of many, each pixel has their
// hull.
std::vector<Run> band_runs(LayerRows rows, Canvas& canvas);

// Draws the runs' intervals as one shape; between steps, where values hold until the next.
void draw_band(const std::vector<Run>& runs, bool steps, Canvas& canvas);
void draw_curve(const std::vector<Run>& runs, bool steps, Canvas& canvas);

// Draws the bands of each series, from lower to upper.
void draw_bands(LayerRows rows, bool steps, Canvas& canvas);

// Notes the labels of rows of a curve.
void label_curve(LayerRows rows, Canvas& canvas);

} // namespace btml::plot
