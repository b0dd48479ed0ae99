// Values of the SQL type btml.model.
#pragma once

#include "core/base/envelope.hpp"
#include "core/boosting/booster.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

Datum model_datum(const boosting::FitResult& result);

struct StoredModel {
    boosting::Model model;
    std::vector<boosting::Timing> timings; // of the fit; empty when the value went through its text or binary form
};

// Error corrupt_model.
StoredModel read_model(Datum value);

} // namespace btml::pg
