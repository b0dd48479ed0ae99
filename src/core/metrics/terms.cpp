#include "core/metrics/terms.hpp"

namespace btml::metrics {

double require(bool holds, const char* name, const char* must, double x) {
    if (!holds) [[unlikely]]
        throw Error(ErrorCode::out_of_range,
                    format("argument \"%s\" must be %s, not %s", name, must, shortest(x).c_str()));
    return x;
}

double require_no_overflow(double term) {
    if (!std::isfinite(term)) [[unlikely]]
        throw Error(ErrorCode::out_of_range, "value out of range: overflow");
    return term;
}

} // namespace btml::metrics
