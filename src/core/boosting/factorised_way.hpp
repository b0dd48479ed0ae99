// How sums of residuals over a factorised join are found.
#pragma once

namespace btml::boosting::factorised {

// By cells of a sub-join or by queries for each leaf (see factorised_residuals.hpp); tests ask for one of them.
enum class Way { automatic, cells, queries };

} // namespace btml::boosting::factorised
