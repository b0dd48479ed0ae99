// Fits over rows that other servers hold.
#pragma once

#include "core/boosting/booster.hpp"
#include "pg/source/boosting_source.hpp"

namespace btml::pg {

// Fits the model that enumerating the source's rows gives, without a calibration, over partitioned tables whose
// partitions are foreign tables of postgres_fdw, or over tables of Citus: each server trains on its rows where they
// are. start: as of boosting::fit. Errors: those of fit and of Citus; not_supported naming what cannot be distributed.
boosting::FitResult fit_over_servers(const BoostRequest& request, boosting::Options options,
                                     std::optional<boosting::Model> start, RunContext& context);

// What strategy => 'auto' does: the same where so many rows are in partitions or shards of other servers that it takes
// less time, or memory that there is. Elsewhere it fits nothing; a NOTICE says what keeps it from fitting many rows so.
std::optional<boosting::FitResult> fit_over_servers_if_it_pays(const BoostRequest& request,
                                                               const boosting::Options& options,
                                                               const std::optional<boosting::Model>& start,
                                                               RunContext& context);

} // namespace btml::pg
