// Arguments that functions of cross-validation scores share, and the rows of their sources.
#pragma once

#include "core/monte_carlo/scores.hpp"
#include "pg/bridge/arguments.hpp"

namespace btml::pg {

// Error invalid_argument unless the bandwidth is one.
double read_bandwidth(const Arguments& arguments, int position, const char* name);
int read_count(const Arguments& arguments, int position, const char* name, int least, int most);

// epsilon, confidence, method, strata, min_samples, tolerance and seed, in this order from the first position.
monte_carlo::ScoreOptions read_score_options(const Arguments& arguments, int first);

// The points of a source, with a target where one is named. Rows with a NULL target are left out, with a NOTICE.
monte_carlo::ScoreRows read_score_rows(const std::string& source, const std::optional<std::string>& target, bool scaled,
                                       RunContext& context);

// A NOTICE where weights underflowed.
void report_underflows(uint64_t underflows, uint64_t rows_seen);

} // namespace btml::pg
