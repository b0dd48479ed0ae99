#include "core/metrics/metric_sums.hpp"

#include "core/base/serial.hpp"
#include "core/metrics/terms.hpp"

#include <cmath>

namespace btml::metrics {

void MetricSums::start(const Metric& metric, bool weighted) {
    if (metric_)
        throw Error(ErrorCode::invalid_argument,
                    format("a state of metric \"%s\" cannot take rows of metric \"%s\"%s", metric_->name, metric.name,
                           metric_ == &metric ? " with other weights" : ""));
    sums_.resize(static_cast<size_t>(metric.sums) + weighted);
    std::fill(sums_.begin(), sums_.end(), WideSum());
    metric_ = &metric;
    weighted_ = weighted;
}

void MetricSums::require_parameter(double parameter) {
    if (rows_ == 0) parameter_ = parameter;
    if (parameter_ != parameter)
        throw Error(ErrorCode::invalid_argument,
                    format("%s must be the same in every row of an aggregate", metric_->parameter_name),
                    format("One row has %s, another %s.", shortest(parameter_).c_str(), shortest(parameter).c_str()));
}

void MetricSums::add(const Metric& metric, const double* row, const double* weight) {
    if (metric_ != &metric || weighted_ != (weight != nullptr)) [[unlikely]]
        start(metric, weight);
    metric.add(row, weight ? require_not_negative("weight", *weight) : 1, sums_.data());
    if (metric.parameter >= 0) require_parameter(row[metric.parameter]);
    if (weight) sums_[metric.sums].add(*weight);
    rows_++;
}

void MetricSums::append(const MetricSums& other) {
    if (!other.metric_) return;
    if (metric_ != other.metric_ || weighted_ != other.weighted_) start(*other.metric_, other.weighted_);
    if (metric_->parameter >= 0) require_parameter(other.parameter_);
    for (size_t i = 0; i < sums_.size(); i++) sums_[i].add(other.sums_[i]);
    rows_ += other.rows_;
}

bool MetricSums::remove(double x) {
    if (!std::isfinite(x) || metric_ != &exact_sum || rows_ == 0) return false;
    sums_[0].add(-x);
    if (x == 0 && std::signbit(x)) sums_[1].add(-1);
    rows_--;
    return true;
}

std::optional<double> MetricSums::result() const {
    if (rows_ == 0) return std::nullopt;
    WideSum weight;
    if (weighted_)
        weight = sums_[metric_->sums];
    else
        weight.add(static_cast<double>(rows_));
    if (!(weight.value() > 0)) return std::nullopt;
    return metric_->result(sums_.data(), weight);
}

// metric 1, weighted 1, rows 8, parameter 8
static constexpr size_t header_bytes = 1 + 1 + 8 + 8;

size_t MetricSums::flat_size() const noexcept {
    size_t size = metric_ ? header_bytes : 0;
    for (const WideSum& sum : sums_) size += sum.flat_size();
    return size;
}

// Called by PostgreSQL, from C: nothing here may throw.
void MetricSums::flatten(std::byte* to) const noexcept {
    if (!metric_) return;
    *to++ = static_cast<std::byte>(number_of(*metric_));
    *to++ = static_cast<std::byte>(weighted_);
    for (const uint64_t field : {rows_, std::bit_cast<uint64_t>(parameter_)})
        for (int byte = 0; byte < 8; byte++) *to++ = static_cast<std::byte>(field >> (8 * byte));
    for (const WideSum& sum : sums_) to = sum.flatten(to);
}

MetricSums MetricSums::parse(std::span<const std::byte> bytes, MemoryBudget& budget) {
    MetricSums state(budget);
    if (bytes.empty()) return state;
    Reader reader(bytes);
    const int number = reader.get<uint8_t>();
    const Metric* const metric = find_metric(number);
    if (!metric) corrupt_model(format("It has the metric %d.", number));
    state.start(*metric, reader.get_bool());
    state.rows_ = reader.get<uint64_t>();
    state.parameter_ = reader.get_finite();
    if (state.rows_ == 0) corrupt_model("It has no rows.");
    for (WideSum& sum : state.sums_) sum = WideSum::parse(reader);
    reader.finish();
    return state;
}

} // namespace btml::metrics
