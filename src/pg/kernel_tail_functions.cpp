// btml.kernel_tail_ratio and btml.kernel_tail_profile: how much of a kernel's sums is in their largest entries.
#include "core/kernel/kernel_tail.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/source/point_source.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using kernel::Options;
using kernel::Points;

namespace {

Points read_points(const PointSource& source, const char* what, RunContext& context) {
    std::optional<Points> points;
    source.read(
        [&](const PointRow& row) {
            if (!points) points.emplace(row.x.size(), context.memory(), what);
            points->append(row.x);
            return true;
        },
        context);
    if (!points) throw Error(ErrorCode::invalid_argument, format("there are no %s", what));
    return std::move(*points);
}

std::pair<Points, Points> read_keys_and_queries(const std::string& keys, const std::string& queries,
                                                RunContext& context) {
    const PointSource key_source(keys, "keys", {}), query_source(queries, "queries", {}, key_source);
    Points key_points = read_points(key_source, "keys", context);
    return {std::move(key_points), read_points(query_source, "queries", context)};
}

Options read_checked_options(const NamedArguments& arguments) {
    Options options;
    read_options(arguments, kernel::options_table, options);
    options.check();
    return options;
}

} // namespace

// btml.kernel_tail_ratio(keys, queries, bandwidth, method, seed, scale, kernel) → estimate
BTML_FUNCTION(btml_kernel_tail_ratio) {
    const NamedArguments arguments(fcinfo);
    const std::string keys = arguments.string("keys"), queries = arguments.string("queries");
    const Options options = read_checked_options(arguments);
    BackendContext context("kernel_tail_ratio");
    const auto [key_points, query_points] = read_keys_and_queries(keys, queries, context);
    const kernel::TailRatio ratio = kernel::kernel_tail_ratio(key_points, query_points, options, context);
    constexpr double z = 1.96; // of 95 %
    return estimate_datum(fcinfo, {ratio.value, ratio.std_error, std::max(0.0, ratio.value - z * ratio.std_error),
                                   ratio.value + z * ratio.std_error, static_cast<int64>(ratio.evaluations)});
}

// btml.kernel_tail_profile(keys, queries, bandwidth, prefixes, scale, kernel) → table(prefix int, tail_ratio float8,
// nth_to_next float8, nth_to_2nth float8)
BTML_FUNCTION(btml_kernel_tail_profile) {
    const NamedArguments arguments(fcinfo);
    const std::string keys = arguments.string("keys"), queries = arguments.string("queries");
    const Options options = read_checked_options(arguments);
    std::vector<uint64_t> prefixes;
    if (!arguments.is_null("prefixes"))
        for (const int prefix : arguments.integers("prefixes")) {
            if (prefix < 1)
                throw Error(ErrorCode::invalid_argument, format("prefixes contains %d", prefix), "",
                            "Prefixes are numbers of points, from 1.");
            prefixes.push_back(static_cast<uint64_t>(prefix));
        }
    ResultRows rows(fcinfo);
    BackendContext context("kernel_tail_profile");
    const auto [key_points, query_points] = read_keys_and_queries(keys, queries, context);
    for (const kernel::TailOfPrefix& tail :
         kernel::kernel_tail_profile(key_points, query_points, options, prefixes, context)) {
        rows.add_row(static_cast<int>(tail.prefix), tail.tail_ratio, tail.nth_to_next, tail.nth_to_2nth);
    }
    return rows.done();
}

} // namespace btml::pg
