// btml.sketch_norm: Σ value² over a join by tensor sketch.
#include "core/relational/tensor_sketch.hpp"
#include "core/relational/sketch_size.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/source.hpp"
#include "pg/bridge/values.hpp"
#include "pg/estimate.hpp"
#include "pg/options.hpp"

namespace btml::pg {

using namespace relational;

namespace {

struct NormRequest {
    std::string source, value;
    NormOptions options;
};

NormRequest read_norm_request(const NamedArguments& arguments) {
    NormRequest request{arguments.string("source"), arguments.column("value"), {}};
    read_options(arguments, norm_options_table, request.options);
    return request;
}

struct ValueJoin {
    Join join;
    Factors factors; // the value's column; ones elsewhere
    int table;       // of the value
};

// Rows with a NULL value are skipped, as sum() skips them.
ValueJoin load_values(const NormRequest& request, RunContext& context) {
    const Source source(request.source);
    const int output = source.column(request.value);
    const Oid type = source.columns()[static_cast<size_t>(output)].type;
    if (pg_call([=] { return number_kind(type); }) == NumberKind::none)
        throw Error(ErrorCode::wrong_type,
                    format("value column \"%s\" is of type %s", request.value.c_str(),
                           pg_call([=] { return format_type_be(type); })),
                    "Values are numbers, booleans, dates or times.");
    LoadedSource loaded = source.read({{output, ReadAs::number}}, context);
    const auto [table, column] = loaded.places.front();
    ValueJoin values{Join(std::move(loaded.tables), std::move(loaded.left_joins), context), {}, table};
    const auto numbers = [&, table = table, column = column]() -> const Buffer<double>& {
        return values.join.tables()[static_cast<size_t>(table)].columns[static_cast<size_t>(column)].numbers;
    };
    values.join.filter(
        table, [&](RowId row) { return !is_null(numbers()[row]); }, context);
    for (int t = 0; t < values.join.relations(); t++)
        values.factors.emplace_back(context.memory(), "the values of a source");
    Buffer<double>& factor = values.factors[static_cast<size_t>(table)];
    for (double number : numbers()) {
        if (!std::isfinite(number))
            throw Error(ErrorCode::out_of_range, format("value column \"%s\" has the value %s", request.value.c_str(),
                                                        std::isnan(number) ? "NaN"
                                                        : number > 0       ? "Infinity"
                                                                           : "-Infinity"));
        factor.push_back(number);
    }
    return values;
}

// Above a minute of work the way out is named before it starts.
void warn_of_long_work(const TensorSketch& sketch, uint64_t size) {
    constexpr double long_seconds = 60;
    const double seconds = sketch.estimated_seconds(1);
    if (seconds <= long_seconds) return;
    pg_call([=] {
        ereport(NOTICE, (errmsg("a sketch of %llu numbers over this join will take about %.0f minutes",
                                static_cast<unsigned long long>(size), std::ceil(seconds / 60)),
                         errhint("Cancel and give a smaller sketch_size; the time is proportional to it.")));
    });
}

// The bounds hold with probability 1 − δ: |value − exact| ≤ ε·exact, so exact is between value/(1 + ε) and value/(1 −
// ε).
Estimate bounded(double value, double epsilon, uint64_t size, int tables) {
    const double most = epsilon < 1 ? value / (1 - epsilon) : value > 0 ? std::numeric_limits<double>::infinity() : 0;
    return {value, value * sketch_relative_sd(size, tables), value / (1 + epsilon), most, static_cast<int64>(size)};
}

// The measured error, as an INFO message. The values are squared in place.
void report_error(ValueJoin& values, double estimate, double epsilon, double delta, RunContext& context) {
    for (double& factor : values.factors[static_cast<size_t>(values.table)]) factor *= factor;
    const double exact = sum_product(values.join, values.factors, SemiringName::sum_product, context);
    const double error = exact == 0 ? 0 : std::abs(estimate - exact) / exact;
    context.note(
        format("the exact sum of squares is %.10g, the relative error %.3f; promised is %.3g with probability %.3g",
               exact, error, epsilon, 1 - delta));
}

} // namespace

// btml.sketch_norm(source text, value name, sketch_size int, epsilon float8, delta float8, seed bigint, verify boolean)
//     → btml.estimate
BTML_FUNCTION(btml_sketch_norm) {
    const NormRequest request = read_norm_request(NamedArguments(fcinfo));
    const NormOptions& options = request.options;
    BackendContext context("sketch_norm", options.verify);
    ValueJoin values = load_values(request, context);
    const int tables = values.join.relations();
    const uint64_t size =
        TensorSketch::fast_size(options.sketch_size > 0 ? static_cast<uint64_t>(options.sketch_size)
                                                        : sketch_size(options.epsilon, options.delta, tables));
    // What the size promises by Chebyshev's inequality.
    const double epsilon =
        options.sketch_size > 0 ? sketch_relative_sd(size, tables) / std::sqrt(options.delta) : options.epsilon;
    double norm;
    {
        TensorSketch sketch(values.join, size, options.seed, context);
        warn_of_long_work(sketch, size);
        norm = sketch.squared_norm(ProductVector(values.factors));
    }
    if (!std::isfinite(norm))
        throw Error(ErrorCode::out_of_range,
                    format("the sum of squares of column \"%s\" is out of range", request.value.c_str()));
    if (options.verify) report_error(values, norm, epsilon, options.delta, context);
    return estimate_datum(fcinfo, bounded(norm, epsilon, size, tables));
}

} // namespace btml::pg
