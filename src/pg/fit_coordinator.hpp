// Fits over rows that other servers hold.
#pragma once

#include "core/boosting/booster.hpp"
#include "pg/boosting_source.hpp"

namespace btml::pg {

// Tells whether strategy => 'auto' fits over servers: where so many rows are in partitions or shards of other servers
// that it takes less time, or memory that there is. A NOTICE says what keeps it from that.
bool pays_over_servers(const BoostRequest& request, const boosting::Options& options, RunContext& context);

// Fits the model that enumerating the source's rows gives, over a partitioned table whose partitions are foreign tables
// of postgres_fdw, or over tables of Citus: each server trains on its rows where they are. start: as of boosting::fit.
// Errors: those of fit and of Citus; not_supported naming what cannot be distributed.
boosting::FitResult fit_over_servers(const BoostRequest& request, boosting::Options options,
                                     std::optional<boosting::Model> start, RunContext& context);

} // namespace btml::pg
