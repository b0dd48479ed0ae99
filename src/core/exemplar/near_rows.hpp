#pragma once

#include "core/base/levels.hpp"

#include <cstddef>
#include <cstdint>

namespace btml::exemplar {

// Puts the numbers of the rows that are nearer to a candidate than to their second-nearest exemplar into `to`, which
// has room for all and one more.
BTML_DISPATCH(size_t, find_near, (const float* distances, const float* second, size_t rows, uint32_t* to),
              (distances, second, rows, to));

} // namespace btml::exemplar
