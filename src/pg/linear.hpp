// What fits of linear models over a source have in common.
#pragma once

#include "core/linear/linear_options.hpp"
#include "pg/source/training_join.hpp"

namespace btml::pg {

struct LinearRequest : TrainingRequest {
    linear::Options options; // validated
};

// Errors: null_value, invalid_argument naming the option and its valid values.
LinearRequest read_linear_request(const FitArguments& arguments);

// Makes codes of a target of labels, or of two numbers where the family is binomial. A family that is automatic becomes
// that of the target; a notice tells where the target has the numbers 0 and 1 alone.
void read_linear_target(TrainingJoin& training, const LinearRequest& request, linear::Options& options,
                        RunContext& context);

} // namespace btml::pg
