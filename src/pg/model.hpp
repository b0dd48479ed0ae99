// Values of the SQL type btml.model.
#pragma once

#include "core/base/envelope.hpp"
#include "core/boosting/booster.hpp"
#include "core/gp/fit.hpp"
#include "pg/bridge/guard.hpp"

#include <variant>

namespace btml::pg {

Datum model_datum(const boosting::FitResult& result);
Datum model_datum(const gp::FitResult& result);
Datum model_datum(const gp::Model& model);

struct StoredModel {
    std::unique_ptr<RunContext> context; // its memory holds the model
    std::variant<boosting::Model, gp::Model> model;
    std::vector<Timing> timings; // of the fit; empty when the value went through its text or binary form
};

// Error corrupt_model.
StoredModel read_model(Datum value);

// Error wrong_type for a model of another kind: btml.`function` needs this one, and `instead` says what helps.
boosting::Model& boosted_trees(StoredModel& stored, const char* function, const char* instead);
gp::Model& gaussian_process(StoredModel& stored, const char* function, const char* instead);

const std::vector<Feature>& features_of(const StoredModel& stored);

} // namespace btml::pg
