// The rows of the view btml.progress.
#include "pg/bridge/running_calls.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/values/result.hpp"

extern "C" {
#include "utils/timestamp.h"
}

namespace btml::pg {

static Interval* interval_of(double seconds) {
    Interval* const interval = pg_call([] { return allocate<Interval>(); });
    interval->time = static_cast<TimeOffset>(std::round(seconds)) * USECS_PER_SEC;
    return interval;
}

// btml_internal.progress_lines() → (pid, function, phase, done, total, started_at, eta interval)
BTML_FUNCTION(btml_progress_lines) {
    ResultRows rows(fcinfo);
    for (const RunningCall& call : running_calls()) {
        std::optional<SqlValue> eta;
        if (call.seconds_left) eta = SqlValue{IntervalPGetDatum(interval_of(*call.seconds_left))};
        rows.add_row(call.pid, call.function, call.phase, call.done, null_if(call.total <= 0, call.total),
                     SqlValue{TimestampTzGetDatum(call.started)}, eta);
    }
    return rows.done();
}

} // namespace btml::pg
