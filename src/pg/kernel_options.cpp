#include "pg/kernel_options.hpp"

#include "pg/option_values.hpp"

namespace btml::pg {

// In the order of the enumerations.
kernel::Kernel read_kernel(const Arguments& arguments, int position) {
    return static_cast<kernel::Kernel>(
        choice(arguments.string(position, "kernel"), "kernel", {"gaussian", "laplacian", "epanechnikov"}));
}

kernel::Method read_method(const Arguments& arguments, int position) {
    return static_cast<kernel::Method>(
        choice(arguments.string(position, "method"), "method", {"auto", "exact", "sampled"}));
}

kernel::Scale read_scale(const Arguments& arguments, int position) {
    return static_cast<kernel::Scale>(choice(arguments.string(position, "scale"), "scale", {"none", "sd"}));
}

} // namespace btml::pg
