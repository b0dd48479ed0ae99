// Options of kernel sums that are choices, read from a call's arguments.
#pragma once

#include "core/kernel/options.hpp"
#include "pg/bridge/arguments.hpp"

namespace btml::pg {

// Errors as of choice().
kernel::Kernel read_kernel(const Arguments& arguments, int position);
kernel::Method read_method(const Arguments& arguments, int position);
kernel::Scale read_scale(const Arguments& arguments, int position);

} // namespace btml::pg
