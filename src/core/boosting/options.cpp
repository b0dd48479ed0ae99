#include "core/boosting/model.hpp"

#include <cmath>

namespace btml::boosting {

[[noreturn]] static void refuse(const char* option, const std::string& value, const char* valid) {
    throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": %s", option, value.c_str()), {},
                format("Valid values are %s.", valid));
}

// `valid` follows "Valid values are".
static void check(const char* option, double value, bool good, const char* valid) {
    if (!good) refuse(option, shortest(value), valid);
}

static void check(const char* option, int value, bool good, const char* valid) {
    if (!good) refuse(option, format("%d", value), valid);
}

void Options::validate() const {
    static constexpr int max_allowed_bins = 65535, max_allowed_trees = 1000000;
    check("trees", trees, trees >= 1 && trees <= max_allowed_trees, "1 to 1000000");
    check("learning_rate", learning_rate, learning_rate > 0 && learning_rate <= 1, "greater than 0 and at most 1");
    check("max_leaves", max_leaves, max_leaves == 0 || max_leaves >= 2, "0 (no limit), and 2 and more");
    check("max_depth", max_depth, max_depth >= 0, "0 (no limit), and 1 and more");
    check("min_leaf_rows", min_leaf_rows, min_leaf_rows >= 0 && std::isfinite(min_leaf_rows), "finite, 0 and more");
    check("l2", l2, l2 >= 0 && std::isfinite(l2), "finite, 0 and more");
    check("min_gain", min_gain, min_gain >= 0 && std::isfinite(min_gain), "finite, 0 and more");
    check("min_category_rows", min_category_rows, min_category_rows >= 0 && std::isfinite(min_category_rows),
          "finite, 0 and more");
    check("max_split_categories", max_split_categories, max_split_categories >= 0, "0 (no limit), and 1 and more");
    check("max_bins", max_bins, max_bins == 0 || (max_bins >= 2 && max_bins <= max_allowed_bins),
          "0 (no limit), and 2 to 65535");
    check("early_stopping", early_stopping, early_stopping >= 0, "0 (never), and 1 and more");
    check("row_fraction", row_fraction, row_fraction > 0 && row_fraction <= 1, "greater than 0 and at most 1");
    check("sketch_size", sketch_size, sketch_size >= 0, "0 (chosen by epsilon and delta), and 1 and more");
    check("epsilon", epsilon, epsilon > 0 && epsilon < 1, "greater than 0 and less than 1");
    check("delta", delta, delta > 0 && delta < 1, "greater than 0 and less than 1");
    check("feature_fraction", feature_fraction, feature_fraction > 0 && feature_fraction <= 1,
          "greater than 0 and at most 1");
}

} // namespace btml::boosting
