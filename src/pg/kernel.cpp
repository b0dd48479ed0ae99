// SQL functions of kernel sums: btml.kernel_sum and its kin.
#include "core/kernel/attention.hpp"
#include "core/kernel/kernel_tail.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/estimate.hpp"
#include "pg/guc.hpp"
#include "pg/point_source.hpp"

namespace btml::pg {

using kernel::Estimates;
using kernel::Keys;
using kernel::Method;
using kernel::Options;
using kernel::Points;
using kernel::Quantity;

namespace {

// Ids of points as text, one after the other.
class PointIds {
  public:
    explicit PointIds(MemoryBudget& budget) : ends_(budget, "ids of points"), text_(budget, "ids of points") {}

    void add(const PointRow& row) {
        for (const char c : row.id) text_.push_back(c);
        ends_.push_back(text_.size() << 1 | static_cast<uint64_t>(row.has_id));
    }
    // Nothing for NULL.
    std::optional<std::string_view> operator[](size_t i) const {
        if (!(ends_[i] & 1)) return std::nullopt;
        const uint64_t begin = i == 0 ? 0 : ends_[i - 1] >> 1;
        return std::string_view(text_.data() + begin, (ends_[i] >> 1) - begin);
    }
    size_t size() const { return ends_.size(); }
    void clear() {
        ends_.clear();
        text_.clear();
    }

  private:
    Buffer<uint64_t> ends_; // twice, plus one where there is an id
    Buffer<char> text_;
};

struct Request {
    std::string keys, queries;
    std::optional<std::string> values; // a column of the keys
    bool arrays = false;               // whose values may be arrays
    Quantity quantity = Quantity::sum;
    Options options;
    bool verbose = false;
};

// The options from `kernel` on, as most functions have them.
void read_options(const Arguments& arguments, int first, Request& request) {
    Options& options = request.options;
    options.kernel = kernel::kernel_named(arguments.string(first, "kernel"));
    options.epsilon = arguments.number(first + 1, "epsilon");
    options.confidence = arguments.number(first + 2, "confidence");
    options.method = kernel::method_named(arguments.string(first + 3, "method"));
    options.seed = static_cast<uint64_t>(arguments.bigint(first + 4, "seed"));
    options.scale = kernel::scale_named(arguments.string(first + 5, "scale"));
    request.verbose = arguments.boolean(first + 6, "verbose");
    options.check();
}

// What the keys weigh and their other values, as `quantity` wants them.
void append_key(const PointRow& row, const Request& request, std::vector<double>& scratch, Keys& keys) {
    scratch.clear();
    if (!request.arrays) scratch.push_back(row.weight);
    for (const double value : row.values) {
        scratch.push_back(request.arrays ? value : row.weight * value);
        if (!std::isfinite(scratch.back()))
            throw Error(ErrorCode::out_of_range,
                        format("row %llu of the keys has a weight and a target whose product is infinite",
                               static_cast<unsigned long long>(row.number + 1)),
                        "", "Divide the weights by a constant.");
    }
    keys.append(row.x, scratch);
}

// Nothing where there are no keys. A key whose target is NULL is left out.
std::optional<Keys> read_keys(const PointSource& source, const Request& request, RunContext& context) {
    std::optional<Keys> keys;
    std::vector<double> scratch;
    source.read(
        [&](const PointRow& row) {
            if (request.values && row.values.empty()) {
                if (!request.arrays) return;
                throw Error(ErrorCode::null_value,
                            format("row %llu of the keys has NULL in column \"%s\"",
                                   static_cast<unsigned long long>(row.number + 1), request.values->c_str()),
                            "", "Leave such rows out with WHERE.");
            }
            if (!keys) keys.emplace(row.x.size(), row.values.size() + (request.arrays ? 0 : 1), context.memory());
            append_key(row, request, scratch, *keys);
        },
        context);
    return keys;
}

// Rows (id, value, std_error).
class Answers {
  public:
    Answers(ResultRows& rows, const Request& request) : rows_(rows), request_(request) {}

    void add(const PointIds& ids, const Estimates& estimates) {
        for (size_t i = 0; i < ids.size(); i++) {
            add_id(ids[i]);
            const std::span<const double> values(estimates.values.data() + i * estimates.columns, estimates.columns);
            if (request_.arrays)
                rows_.add(array_datum(values));
            else
                rows_.add_number(values[0]);
            rows_.add_number(estimates.std_errors[i]);
            rows_.finish_row();
        }
    }
    // Without keys a sum is 0, and there is no mean and no density.
    void add_without_keys(const PointIds& ids) {
        for (size_t i = 0; i < ids.size(); i++) {
            add_id(ids[i]);
            for (int column = 0; column < 2; column++)
                if (request_.quantity == Quantity::sum && !request_.arrays)
                    rows_.add_number(0);
                else
                    rows_.add_null();
            rows_.finish_row();
        }
    }

  private:
    void add_id(std::optional<std::string_view> id) {
        if (id)
            rows_.add_text(*id);
        else
            rows_.add_null();
    }
    static Datum array_datum(std::span<const double> values) {
        return pg_call([=] {
            const auto count = static_cast<int>(values.size());
            Datum* const elements = static_cast<Datum*>(palloc(sizeof(Datum) * values.size()));
            for (int i = 0; i < count; i++) elements[i] = Float8GetDatum(values[static_cast<size_t>(i)]);
            ArrayType* const array =
                construct_array(elements, count, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
            return PointerGetDatum(array);
        });
    }

    ResultRows& rows_;
    const Request& request_;
};

void report(const kernel::Report& report, RunContext& context) {
    if (const char* const failure = report.device_failure.c_str(); *failure)
        pg_call([=] { ereport(NOTICE, (errmsg("kernel sums run on the CPU: %s", failure))); });
    std::string text =
        format("%s sums over %llu distinct keys: %s; %.3g %% of the pairs were evaluated",
               report.method == Method::exact ? "exact" : "sampled", static_cast<unsigned long long>(report.keys),
               report.reason.c_str(), 100 * report.evaluated);
    if (report.method == Method::sampled)
        text += format("; the estimated relative error is %.2g", report.relative_error);
    context.note(text);
}

// Exact sums take the queries as they come, some at a time; others need all of them together.
template <class Sums>
void answer(const Request& request, const PointSource& queries, Sums* sums, size_t dimensions, ResultRows& rows,
            RunContext& context) {
    constexpr size_t queries_at_once = 16384;
    const bool streams = request.options.method == Method::exact || !sums;
    Answers answers(rows, request);
    PointIds ids(context.memory());
    std::optional<Points> points;
    bool reported = false;
    const auto evaluate = [&] {
        if (ids.size() == 0) return;
        if (!sums) {
            answers.add_without_keys(ids);
        } else {
            const Estimates estimates = sums->evaluate(*points);
            answers.add(ids, estimates);
            if (!std::exchange(reported, true)) report(estimates.report, context);
            points->clear();
        }
        ids.clear();
    };
    queries.read(
        [&](const PointRow& row) {
            if (sums) {
                if (row.x.size() != dimensions)
                    throw Error(ErrorCode::invalid_argument,
                                format("the queries are of dimension %zu, the keys of dimension %zu", row.x.size(),
                                       dimensions));
                if (!points) points.emplace(dimensions, context.memory(), "queries");
                points->append(row.x);
            }
            ids.add(row);
            if (streams && ids.size() == queries_at_once) evaluate();
        },
        context);
    evaluate();
}

Datum kernel_sums(FunctionCallInfo fcinfo, const char* function, const Request& request) {
    ResultRows rows(fcinfo);
    BackendContext context(function, request.verbose);
    Options options = request.options;
    options.cuda_library = cuda_library();
    const PointSource key_source(request.keys, "keys", {false, true, request.values, request.arrays});
    const PointSource query_source(request.queries, "queries", {true, false, {}, false}, key_source);
    std::optional<Keys> keys = read_keys(key_source, request, context);
    const size_t dimensions = keys ? keys->points.dimensions() : 0;
    if (request.arrays) {
        std::optional<kernel::Attention> attention;
        if (keys) attention.emplace(std::move(*keys), options, context);
        answer(request, query_source, attention ? &*attention : nullptr, dimensions, rows, context);
    } else {
        std::optional<kernel::KernelSums> sums;
        if (keys) sums.emplace(std::move(*keys), request.quantity, options, context);
        answer(request, query_source, sums ? &*sums : nullptr, dimensions, rows, context);
    }
    return rows.done();
}

} // namespace

// (keys, queries, bandwidth, …) → table(id text, value float8, std_error float8)
static Datum sums_of_weights(FunctionCallInfo fcinfo, const char* function, Quantity quantity) {
    const Arguments arguments(fcinfo);
    Request request{arguments.string(0, "keys"), arguments.string(1, "queries"), {}, false, quantity, {}, false};
    request.options.bandwidth = arguments.number(2, "bandwidth");
    read_options(arguments, 3, request);
    return kernel_sums(fcinfo, function, request);
}

// btml.kernel_sum(keys, queries, bandwidth, …) → table(id text, value float8, std_error float8)
BTML_FUNCTION(btml_kernel_sum) {
    return sums_of_weights(fcinfo, "kernel_sum", Quantity::sum);
}

// btml.density(keys, queries, bandwidth, …) → table(id text, value float8, std_error float8)
BTML_FUNCTION(btml_density) {
    return sums_of_weights(fcinfo, "density", Quantity::density);
}

// btml.kernel_regression(keys, target, queries, bandwidth, …) → table(id text, value float8, std_error float8)
BTML_FUNCTION(btml_kernel_regression) {
    const Arguments arguments(fcinfo);
    Request request{arguments.string(0, "keys"),
                    arguments.string(2, "queries"),
                    arguments.column(1, "target"),
                    false,
                    Quantity::mean,
                    {},
                    false};
    request.options.bandwidth = arguments.number(3, "bandwidth");
    read_options(arguments, 4, request);
    return kernel_sums(fcinfo, "kernel_regression", request);
}

// btml.attention(keys, queries, value, epsilon, confidence, method, seed, scale, verbose) → table(id text, value
// float8[], std_error float8)
BTML_FUNCTION(btml_attention) {
    const Arguments arguments(fcinfo);
    Request request{arguments.string(0, "keys"),
                    arguments.string(1, "queries"),
                    arguments.column(2, "value"),
                    true,
                    Quantity::mean,
                    {},
                    false};
    Options& options = request.options;
    options.bandwidth = 1; // of no use here
    options.epsilon = arguments.number(3, "epsilon");
    options.confidence = arguments.number(4, "confidence");
    options.method = kernel::method_named(arguments.string(5, "method"));
    options.seed = static_cast<uint64_t>(arguments.bigint(6, "seed"));
    options.scale = kernel::scale_named(arguments.string(7, "scale"));
    request.verbose = arguments.boolean(8, "verbose");
    options.check();
    return kernel_sums(fcinfo, "attention", request);
}

namespace {

struct TailPoints {
    std::optional<Points> keys, queries;
};

std::optional<Points> read_points(const PointSource& source, const char* what, RunContext& context) {
    std::optional<Points> points;
    source.read(
        [&](const PointRow& row) {
            if (!points) points.emplace(row.x.size(), context.memory(), what);
            points->append(row.x);
        },
        context);
    if (!points) throw Error(ErrorCode::invalid_argument, format("there are no %s", what));
    return points;
}

TailPoints read_tail_points(const std::string& keys, const std::string& queries, RunContext& context) {
    const PointSource key_source(keys, "keys", {});
    const PointSource query_source(queries, "queries", {}, key_source);
    return {read_points(key_source, "keys", context), read_points(query_source, "queries", context)};
}

} // namespace

// btml.kernel_tail_ratio(keys, queries, bandwidth, method, seed, scale) → estimate
BTML_FUNCTION(btml_kernel_tail_ratio) {
    const Arguments arguments(fcinfo);
    const std::string keys = arguments.string(0, "keys"), queries = arguments.string(1, "queries");
    Options options;
    options.bandwidth = arguments.number(2, "bandwidth");
    options.method = kernel::method_named(arguments.string(3, "method"));
    options.seed = static_cast<uint64_t>(arguments.bigint(4, "seed"));
    options.scale = kernel::scale_named(arguments.string(5, "scale"));
    options.check();
    BackendContext context("kernel_tail_ratio");
    const TailPoints points = read_tail_points(keys, queries, context);
    const kernel::TailRatio ratio = kernel::kernel_tail_ratio(*points.keys, *points.queries, options, context);
    constexpr double z = 1.96; // of 95 %
    return estimate_datum(fcinfo, {ratio.value, ratio.std_error, std::max(0.0, ratio.value - z * ratio.std_error),
                                   ratio.value + z * ratio.std_error, static_cast<int64>(ratio.evaluations)});
}

// btml.kernel_tail_profile(keys, queries, bandwidth, prefixes, scale) → table(prefix int, tail_ratio float8,
// nth_to_next float8, nth_to_2nth float8)
BTML_FUNCTION(btml_kernel_tail_profile) {
    const Arguments arguments(fcinfo);
    const std::string keys = arguments.string(0, "keys"), queries = arguments.string(1, "queries");
    Options options;
    options.bandwidth = arguments.number(2, "bandwidth");
    std::vector<uint64_t> prefixes;
    if (!arguments.is_null(3))
        for (const int prefix : arguments.integers(3, "prefixes")) {
            if (prefix < 1)
                throw Error(ErrorCode::invalid_argument, format("prefixes contains %d", prefix), "",
                            "Prefixes are numbers of points, from 1.");
            prefixes.push_back(static_cast<uint64_t>(prefix));
        }
    options.scale = kernel::scale_named(arguments.string(4, "scale"));
    options.check();
    ResultRows rows(fcinfo);
    BackendContext context("kernel_tail_profile");
    const TailPoints points = read_tail_points(keys, queries, context);
    for (const kernel::TailOfPrefix& tail :
         kernel::kernel_tail_profile(*points.keys, *points.queries, options, prefixes, context)) {
        rows.add_integer(static_cast<int32>(tail.prefix));
        rows.add_number(tail.tail_ratio);
        rows.add_number(tail.nth_to_next);
        rows.add_number(tail.nth_to_2nth);
        rows.finish_row();
    }
    return rows.done();
}

} // namespace btml::pg
