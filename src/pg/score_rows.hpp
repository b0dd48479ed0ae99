// The rows of sources of cross-validation scores.
#pragma once

#include "core/monte_carlo/scores.hpp"

#include <optional>
#include <string>

namespace btml::pg {

// The points of a source, with a target where one is named. Rows with a NULL target are left out, with a NOTICE.
monte_carlo::ScoreRows read_score_rows(const std::string& source, const std::optional<std::string>& target, bool scaled,
                                       RunContext& context);

// A NOTICE where weights underflowed.
void report_underflows(uint64_t underflows, uint64_t rows_seen);

} // namespace btml::pg
