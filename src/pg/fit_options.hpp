// Arguments of the functions that train trees.
#pragma once

#include "core/boosting/model.hpp"
#include "core/boosting/strategy.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/training_join.hpp"

namespace btml::pg {

struct FitRequest : TrainingRequest {
    boosting::Options options; // validated
    boosting::Strategy strategy = boosting::Strategy::automatic;
    bool verbose = false;
};

// Errors: null_value, invalid_argument naming the option and its valid values, not_supported.
FitRequest read_boost_request(const Arguments& arguments);
FitRequest read_tree_request(const Arguments& arguments);

// Options of the aggregate: a JSON object with the names of boost_fit's arguments. Validated.
boosting::Options parse_fit_options(const std::string& json);

} // namespace btml::pg
