// btml.approx_sum: the sum of a column from a sample of its table's pages.
#include "core/monte_carlo/approx_sum.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/estimate.hpp"
#include "pg/options.hpp"
#include "pg/page_sample.hpp"

namespace btml::pg {

namespace {

using monte_carlo::PageEstimate;

NumberKind check_column(const Source& source) {
    if (source.columns().size() != 1)
        throw Error(ErrorCode::invalid_argument,
                    format("the source has %zu output columns, not one", source.columns().size()), "",
                    "Name what is to be summed, as in SELECT price FROM sales.");
    const Oid type = source.columns()[0].type;
    const NumberKind kind = pg_call([=] { return number_kind(type); });
    if (!is_plain_number(kind))
        throw Error(ErrorCode::wrong_type,
                    format("column \"%s\" has type %s, not a number", source.columns()[0].name.c_str(),
                           pg_call([=] { return format_type_be(type); })));
    return kind;
}

// Kahan's sum of all rows.
class ExactSum : public RowSink {
  public:
    explicit ExactSum(NumberKind kind) : kind_(kind) {}

    void add(const Datum* values, const bool* nulls) override {
        const double x = summand(values[0], nulls[0], kind_) - lost_, sum = sum_ + x;
        lost_ = (sum - sum_) - x;
        sum_ = sum;
    }
    double sum() const { return sum_; }

  private:
    const NumberKind kind_;
    double sum_ = 0, lost_ = 0;
};

// Nothing where all rows must be read.
std::optional<Estimate> by_sampling(const Source& source, const monte_carlo::PageSampling& options, uint64_t& rows,
                                    RunContext& context) {
    const std::optional<PageSample> sample = PageSample::of(source);
    if (!sample || sample->pages() < monte_carlo::min_pages) return std::nullopt;
    const double largest = sample->largest_known();
    double fraction = monte_carlo::first_fraction(sample->pages(), options);
    while (fraction < 0.5 + 1e-9) {
        const Buffer<double> totals = sample->totals(fraction, options.seed, rows, context);
        const PageEstimate estimate = monte_carlo::estimate_sum(totals.span(), sample->pages(), largest, options);
        if (estimate.precise) {
            const double half = monte_carlo::half_width(estimate, options);
            return Estimate{estimate.sum, estimate.std_error, estimate.sum - half, estimate.sum + half,
                            static_cast<int64>(rows)};
        }
        fraction = estimate.fraction;
    }
    return std::nullopt;
}

} // namespace

// btml.approx_sum(source text, epsilon float8, confidence float8, seed bigint) → btml.estimate
BTML_FUNCTION(btml_approx_sum) {
    const NamedArguments arguments(fcinfo);
    const std::string text = arguments.string("source");
    monte_carlo::PageSampling options;
    read_options(arguments, monte_carlo::page_sampling_table, options);
    BackendContext context("approx_sum");
    const Source source = Source::of_rows(text);
    const NumberKind kind = check_column(source);
    uint64_t rows = 0;
    if (const auto estimate = by_sampling(source, options, rows, context)) return estimate_datum(fcinfo, *estimate);
    ExactSum exact(kind);
    rows += source.read_rows(exact, "summing all rows", context);
    if (!std::isfinite(exact.sum())) throw Error(ErrorCode::out_of_range, "the sum is out of the range of numbers");
    return estimate_datum(fcinfo, {exact.sum(), 0, exact.sum(), exact.sum(), static_cast<int64>(rows)});
}

} // namespace btml::pg
