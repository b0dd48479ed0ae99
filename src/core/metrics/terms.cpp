#include "core/metrics/terms.hpp"

namespace btml::metrics {

[[noreturn]] static void refuse(const char* name, const char* must, double x) {
    throw Error(ErrorCode::out_of_range, format("argument \"%s\" must be %s, not %s", name, must, shortest(x).c_str()));
}

double require_not_nan(const char* name, double x) {
    if (std::isnan(x)) [[unlikely]]
        refuse(name, "a number", x);
    return x;
}

double require_finite(const char* name, double x) {
    if (!std::isfinite(x)) [[unlikely]]
        refuse(name, "finite", x);
    return x;
}

double require_not_negative(const char* name, double x) {
    if (!(x >= 0 && std::isfinite(x))) [[unlikely]]
        refuse(name, "finite and not negative", x);
    return x;
}

double require_positive(const char* name, double x) {
    if (!(x > 0 && std::isfinite(x))) [[unlikely]]
        refuse(name, "finite and greater than 0", x);
    return x;
}

double require_probability(const char* name, double x) {
    if (!(x >= 0 && x <= 1)) [[unlikely]]
        refuse(name, "from 0 to 1", x);
    return x;
}

double require_no_overflow(double term) {
    if (!std::isfinite(term)) [[unlikely]]
        throw Error(ErrorCode::out_of_range, "value out of range: overflow");
    return term;
}

} // namespace btml::metrics
