// What queries over a join cost, measured on one core in nanoseconds.
#pragma once

#include <algorithm>
#include <cmath>

namespace btml::boosting {

inline constexpr double per_summed_row = 20;     // of a node
inline constexpr double per_summed_feature = 5;  // and row
inline constexpr double per_filtered_row = 0.3;  // and condition
inline constexpr double per_group_product = 1.2; // of a group of rows with equal keys, a sub-query and a neighbour
inline constexpr double per_pair_product = 0.25; // the same for pairs of queries: most contradict each other
inline constexpr double per_cell = 1;            // of a node; and each of the tables that cells are made of takes
inline constexpr double per_cell_table = 2.2;    // more

// Returns what adding up a row takes for so many features of its table.
inline double summed_row_nanoseconds(double features) {
    return per_summed_row + per_summed_feature * features;
}

// Returns the part of the leaves that do not contradict a node: the larger the trees, the more do.
inline double relevant_part(double leaves_of_tree) {
    return 1.5 / std::max(1.5, std::log2(leaves_of_tree));
}

// Returns the part that is left after so many trees of what each tree takes in proportion to those before it.
inline double left_of_squares(double done, double trees) {
    return 1 - done * done / (trees * trees);
}

} // namespace btml::boosting
