// The rows of sources of cross-validation scores.
#pragma once

#include "core/kernel/options.hpp"
#include "core/kernel/scores.hpp"

namespace btml::pg {

// The points of a source, with a target where one is named. Rows with a NULL target are left out, with a NOTICE.
kernel::ScoreRows read_score_rows(const std::string& source, const std::optional<std::string>& target,
                                  kernel::Scale scale, RunContext& context);

// A NOTICE where weights underflowed.
void report_underflows(uint64_t underflows, uint64_t rows_seen);

} // namespace btml::pg
