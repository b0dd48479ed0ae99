// Arguments of the functions that train Gaussian processes.
#pragma once

#include "core/gp/options.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/training_join.hpp"

namespace btml::pg {

struct ProcessRequest : TrainingRequest {
    gp::Options options; // validated
    bool verbose = false;
    std::string queries; // of btml.gp_regression
};

// Errors: null_value, invalid_argument naming the option and its valid values.
ProcessRequest read_process_request(const Arguments& arguments);    // btml.gp_fit
ProcessRequest read_members_request(const Arguments& arguments);    // btml.gp_fit_members
ProcessRequest read_regression_request(const Arguments& arguments); // btml.gp_regression

// Options of the aggregate: a JSON object with the names of gp_fit's arguments. Validated.
gp::Options parse_process_options(const std::string& json);

} // namespace btml::pg
