// Features of a point given by position.
#pragma once

#include "core/base/feature.hpp"

namespace btml::pg {

// Error invalid_argument unless there is one value per feature.
void require_width(const std::vector<double>& values, const std::vector<Feature>& features);

} // namespace btml::pg
