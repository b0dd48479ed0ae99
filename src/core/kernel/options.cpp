#include "core/kernel/options.hpp"

#include <array>
#include <cmath>

namespace btml::kernel {

[[noreturn]] static void refuse(const char* option, std::string_view value, const std::string& valid) {
    throw Error(ErrorCode::invalid_argument,
                format("invalid value for option \"%s\": %.*s", option, static_cast<int>(value.size()), value.data()),
                {}, "Valid values are " + valid + ".");
}

template <class Choice, size_t count>
static Choice choice_named(const char* option, std::string_view name, const std::array<const char*, count>& names) {
    for (size_t i = 0; i < count; i++)
        if (name == names[i]) return static_cast<Choice>(i);
    refuse(option, quoted_list({std::string(name)}), quoted_list({names.begin(), names.end()}));
}

Kernel kernel_named(std::string_view name) {
    return choice_named<Kernel, 3>("kernel", name, {"gaussian", "laplacian", "epanechnikov"});
}

Scale scale_named(std::string_view name) {
    return choice_named<Scale, 2>("scale", name, {"none", "sd"});
}

Method method_named(std::string_view name) {
    return choice_named<Method, 3>("method", name, {"auto", "exact", "sampled"});
}

void Options::check() const {
    if (!(bandwidth > 0 && std::isfinite(bandwidth)))
        refuse("bandwidth", shortest(bandwidth), "finite and greater than 0");
    if (!(epsilon > 0 && epsilon <= 1)) refuse("epsilon", shortest(epsilon), "greater than 0 and at most 1");
    if (!(confidence > 0 && confidence < 1))
        refuse("confidence", shortest(confidence), "greater than 0 and less than 1");
}

} // namespace btml::kernel
