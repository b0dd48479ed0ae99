// Values of the SQL type btml.model.
#pragma once

#include "core/base/envelope.hpp"
#include "core/boosting/booster.hpp"
#include "core/gp/fit.hpp"
#include "core/linear/linear_fit.hpp"
#include "pg/bridge/guard.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

namespace btml::pg {

Datum model_datum(const boosting::FitResult& result, RunContext& context);
Datum model_datum(const gp::FitResult& result, RunContext& context);
Datum model_datum(const gp::Model& model, RunContext& context);
Datum model_datum(const linear::FitResult& result, RunContext& context);
// Checks its texts, which are somebody else's.
Datum imported_model_datum(const boosting::Model& model, RunContext& context);

struct StoredModel {
    Reservation held; // of the memory that the model takes and does not count itself
    std::variant<boosting::Model, gp::Model, linear::Model> model;
    std::vector<Timing> timings; // of the fit; empty when the value went through its text or binary form
};

// Returns what people call a model of its kind, with an article.
const char* kind_of(const StoredModel& stored);

// Decodes a model into the memory of the context, which must outlive it. Error corrupt_model.
StoredModel read_model(Datum value, RunContext& context);

// Error wrong_type for a model of another kind: btml.`function` needs this one, and `instead` says what helps.
boosting::Model& boosted_trees(StoredModel& stored, const char* function, const char* instead);
gp::Model& gaussian_process(StoredModel& stored, const char* function, const char* instead);
linear::Model& linear_model(StoredModel& stored, const char* function, const char* instead);

// Return the place of a label or a feature. Error invalid_argument with all of them in the DETAIL and the nearest in
// the HINT.
size_t code_of_label(const std::vector<std::string>& labels, std::string_view label);
size_t place_of_feature(const std::vector<Feature>& features, std::string_view feature);

const std::vector<Feature>& features_of(const StoredModel& stored);

// Returns the numbers below count, those with the largest values first.
template <class ValueOf>
std::vector<size_t> largest_first(size_t count, const ValueOf& value_of) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value_of(a) > value_of(b); });
    return order;
}

} // namespace btml::pg
