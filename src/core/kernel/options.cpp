#include "core/kernel/options.hpp"

#include <cmath>

namespace btml::kernel {

[[noreturn]] static void refuse(const char* option, double value, const char* valid) {
    throw Error(ErrorCode::invalid_argument,
                format("invalid value for option \"%s\": %s", option, shortest(value).c_str()), {},
                format("Valid values are %s.", valid));
}

void Options::check() const {
    if (!(bandwidth > 0 && std::isfinite(bandwidth))) refuse("bandwidth", bandwidth, "finite and greater than 0");
    if (!(epsilon > 0 && epsilon <= 1)) refuse("epsilon", epsilon, "greater than 0 and at most 1");
    if (!(confidence > 0 && confidence < 1)) refuse("confidence", confidence, "greater than 0 and less than 1");
}

} // namespace btml::kernel
