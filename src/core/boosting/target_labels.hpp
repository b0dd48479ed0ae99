// Labels of a target: their order, their weights, and what an objective makes of the values of a column.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/trees/boosting_options.hpp"
#include "core/data/dataset.hpp"

namespace btml::boosting {

// A target as it was read. Every row has a value.
struct TargetColumn {
    const char* name;
    TargetKind kind;
    Buffer<double>& values;          // numbers; 0 and 1 of booleans; codes of labels, which become those of Labels
    std::vector<std::string> labels; // kind label: by code, in their order; each has a row
};

// Beyond them, products with derivatives might pass what a float holds.
inline constexpr double min_label_weight = 1e-9, max_label_weight = 1e9;
inline constexpr const char* valid_label_weights = "Valid values are 0, and numbers from 1e-9 to 1e9.";

struct LabelWeight {
    std::string label;
    double weight;
};

// What was asked for.
struct LabelRequest {
    std::optional<std::string> positive;             // of two labels, the one whose probability is predicted
    std::optional<std::vector<LabelWeight>> weights; // what a row counts in the loss; labels not named: 1
    bool is_of_group = false; // of several: neither a single label is an error, nor a weight of one that no row has
};

struct Labels {
    enum class About : uint8_t { values, positive, weights };
    static constexpr size_t kinds = 3; // of notices
    struct Notice {
        About about;
        std::string message, hint;
    };

    std::vector<std::string> names; // in the order of their codes; empty: the target is a number
    std::vector<double> weights;    // empty: 1
    std::vector<Notice> notices;
};

// Names a label that is a whole number.
std::string label_of_number(double y);

// Replaces options.objective by one that is not automatic, and the values by their labels' codes where it takes labels.
// Errors: wrong_type for an objective that does not take such values, or two labels where there are more;
// limit_exceeded for more than max_labels; invalid_argument for what does not go with the objective, and for labels
// that no row has; DegenerateTarget for a single label. A weight of a label that a group lacks makes a notice instead.
Labels find_labels(TargetColumn target, const LabelRequest& request, Options& options, RunContext& context);

} // namespace btml::boosting
