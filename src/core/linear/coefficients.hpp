// What a linear model says of each feature, with its uncertainty.
#pragma once

#include "core/linear/linear_model.hpp"

namespace btml::linear {

struct Coefficient {
    std::string feature; // "(intercept)" of the first
    std::optional<std::string> category = {};
    bool missing = false;                // what NULL adds, which is a row of its own
    std::optional<double> estimate = {}; // nothing where the column was dropped
    // There are none with a penalty, nor where rows are no more than coefficients.
    std::optional<double> std_error = {}, statistic = {}, p_value = {}, lower = {}, upper = {};
};

// Returns the intercept, then the columns in their order: features as the source has them, categories without that of
// reference, and last what NULL adds; not the offset. Tests are by Student's t where the dispersion is estimated, else
// normal.
std::vector<Coefficient> coefficients(const Model& model, const CoefficientOptions& options);

} // namespace btml::linear
