#include "core/kernel/query_sums.hpp"

#include "core/base/serial.hpp"
#include "core/pairwise/weights.hpp"

#include <cmath>

namespace btml::kernel {

using pairwise::Kernel;
using pairwise::PointColumns;

namespace {

constexpr const char* what = "the sums of queries";
// coordinates 4, queries 4, kernel 1, bandwidth 8
constexpr size_t fixed_bytes = 4 + 4 + 1 + 8;

void require_finite(std::span<const double> numbers, const char* name) {
    for (const double x : numbers) {
        if (std::isfinite(x)) continue;
        throw Error(ErrorCode::out_of_range,
                    format("argument \"%s\" must be finite, not %s", name, std::isnan(x) ? "NaN" : "infinite"));
    }
}

[[noreturn]] void refuse_change(const char* name) {
    throw Error(ErrorCode::invalid_argument, format("%s must be the same in every row of an aggregate", name));
}

size_t padded(size_t queries) {
    return (queries + 1 + PointColumns::group - 1) / PointColumns::group * PointColumns::group;
}

} // namespace

QuerySums::QuerySums(MemoryBudget& budget)
    : queries_(budget, what), columns_(budget, what), values_(budget, what), sums_(budget, what) {}

void QuerySums::start(size_t dimensions, const QuerySet& set) {
    if (!(set.bandwidth >= min_bandwidth && set.bandwidth <= max_bandwidth))
        throw Error(ErrorCode::invalid_argument,
                    format("invalid value for option \"bandwidth\": %s", shortest(set.bandwidth).c_str()), "",
                    "Valid values are numbers from 1e-150 to 1e150.");
    if (dimensions == 0) throw Error(ErrorCode::invalid_argument, "x must have at least one element");
    if (set.queries.empty() || set.queries.size() % dimensions != 0)
        throw Error(ErrorCode::invalid_argument,
                    format("queries has %zu elements, which are no points of %zu coordinates, as x is",
                           set.queries.size(), dimensions),
                    "", "Give the points' coordinates one after another, query by query.");
    require_finite(set.queries, "queries");
    const size_t count = set.queries.size() / dimensions, rows = padded(count);
    Buffer<double> queries(queries_.budget(), what, set.queries.size());
    std::copy(set.queries.begin(), set.queries.end(), queries.begin());
    // What pads the queries is infinitely far away.
    columns_ = Buffer<double>(queries_.budget(), what, dimensions * rows, HUGE_VAL);
    for (size_t i = 0; i < set.queries.size(); i++) columns_[i % dimensions * rows + i / dimensions] = set.queries[i];
    values_ = Buffer<double>(queries_.budget(), what, rows);
    sums_ = Buffer<ExactSum>(queries_.budget(), what, count, ExactSum());
    queries_ = std::move(queries);
    dimensions_ = dimensions;
    bandwidth_ = set.bandwidth;
    kernel_ = set.kernel;
}

void QuerySums::require_same(size_t dimensions, const QuerySet& set) const {
    if (dimensions_ != dimensions)
        throw Error(
            ErrorCode::invalid_argument,
            format("x has %zu elements in one row of an aggregate and %zu in another", dimensions_, dimensions));
    if (bandwidth_ != set.bandwidth) refuse_change("bandwidth");
    if (kernel_ != set.kernel) refuse_change("kernel");
    const bool same = set.queries.size() == queries_.size() &&
                      (set.queries.data() == queries_.data() ||
                       std::memcmp(set.queries.data(), queries_.data(), set.queries.size_bytes()) == 0);
    if (!same) refuse_change("queries");
}

void QuerySums::add(std::span<const double> x, double weight, const QuerySet& set) {
    require_finite(x, "x");
    require_finite({&weight, 1}, "weight");
    if (empty()) [[unlikely]]
        start(x.size(), set);
    else
        require_same(x.size(), set);
    const size_t place = sums_.size(), rows = padded(place);
    for (size_t k = 0; k < dimensions_; k++) columns_[k * rows + place] = x[k];
    pairwise::LaneTotals totals;
    pairwise::store_weights({columns_.data(), rows, dimensions_, false}, place,
                            {kernel_, pairwise::facts_of(kernel_).coefficient(bandwidth_), 0}, values_.data(), totals);
    for (size_t q = 0; q < sums_.size(); q++)
        if (values_[q] != 0) sums_[q].add(weight * values_[q]);
}

void QuerySums::append(const QuerySums& other) {
    if (other.empty()) return;
    if (empty())
        start(other.dimensions_, other.set());
    else
        require_same(other.dimensions_, other.set());
    for (size_t q = 0; q < sums_.size(); q++) sums_[q].add(other.sums_[q]);
}

std::vector<double> QuerySums::values() const {
    std::vector<double> values(sums_.size());
    for (size_t q = 0; q < values.size(); q++) values[q] = sums_[q].value();
    return values;
}

uint64_t QuerySums::flat_size() const noexcept {
    uint64_t size = empty() ? 0 : fixed_bytes + queries_.size() * sizeof(double);
    for (const ExactSum& sum : sums_) size += sum.flat_size();
    return size;
}

// Called by PostgreSQL, from C: nothing here may throw.
void QuerySums::flatten(std::byte* to) const noexcept {
    if (empty()) return;
    const auto put = [&](uint64_t value, int bytes) {
        for (int byte = 0; byte < bytes; byte++) *to++ = static_cast<std::byte>(value >> (8 * byte));
    };
    put(dimensions_, 4);
    put(sums_.size(), 4);
    put(static_cast<uint64_t>(kernel_), 1);
    put(std::bit_cast<uint64_t>(bandwidth_), 8);
    for (const double x : queries_) put(std::bit_cast<uint64_t>(x), 8);
    for (const ExactSum& sum : sums_) to = sum.flatten(to);
}

QuerySums QuerySums::parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context) {
    QuerySums state(budget);
    if (bytes.empty()) return state;
    Reader reader(bytes);
    const auto dimensions = reader.get<uint32_t>();
    if (dimensions == 0 || dimensions > bytes.size()) corrupt_model(format("It has %u coordinates.", dimensions));
    const size_t count = reader.get_count(uint64_t{dimensions} * sizeof(double) + ExactSum().flat_size());
    const auto kernel = reader.get<uint8_t>();
    const double bandwidth = reader.get_finite();
    if (count == 0 || kernel >= pairwise::kernel_names.size() ||
        !(bandwidth >= min_bandwidth && bandwidth <= max_bandwidth))
        corrupt_model(format("It has %zu queries, the kernel %d and the bandwidth %s.", count, kernel,
                             shortest(bandwidth).c_str()));
    std::vector<double> queries(count * dimensions);
    for (double& x : queries) x = reader.get_finite();
    state.start(dimensions, {queries, bandwidth, Kernel{kernel}});
    for (ExactSum& sum : state.sums_) {
        sum = ExactSum::parse(reader);
        context.worked(sizeof(ExactSum));
    }
    reader.finish();
    return state;
}

} // namespace btml::kernel
