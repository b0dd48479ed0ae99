// btml.estimate as the result of a function.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

struct Estimate {
    double value, std_error, lower, upper;
    int64 evaluations;
};

Datum estimate_datum(FunctionCallInfo fcinfo, const Estimate& estimate);

} // namespace btml::pg
