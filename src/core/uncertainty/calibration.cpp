#include "core/uncertainty/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace btml::uncertainty {

namespace {

constexpr const char* names[] = {"split conformal", "leave-one-out, no guarantee", "out-of-fold, no guarantee",
                                 "held out now, no guarantee"};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double rounding = 1e-12; // of a level as a double, relative and then some

// Returns the rank, from 1, of one of `kept` z among all.
uint64_t rank_of(size_t place, size_t kept, uint64_t rows) {
    return kept == 1 ? 1 : 1 + place * (rows - 1) / (kept - 1);
}

size_t kept_of(uint64_t rows) {
    return static_cast<size_t>(std::min<uint64_t>(Calibration::max_kept, rows));
}

} // namespace

const char* name_of(Method method) {
    return names[static_cast<size_t>(method)];
}

double Calibration::quantile(double q) const {
    const double all = static_cast<double>(rows) + 1, place = all * q;
    const bool is_lower = q < 0.5;
    const double rank = is_lower ? std::floor(place + all * rounding) : std::ceil(place - all * rounding);
    if (rank < 1) return -infinity;
    if (rank >= all) return infinity;
    size_t above = 0; // the first that is kept of this rank or a higher one
    while (static_cast<double>(rank_of(above, kept.size(), rows)) < rank) above++;
    const bool is_kept = static_cast<double>(rank_of(above, kept.size(), rows)) == rank;
    return kept[is_lower && !is_kept ? above - 1 : above];
}

Buffer<double> StandardisedErrors::z() const {
    Buffer<double> z(context_->memory(), what);
    context_->for_each(size(), 2, [&](size_t i) { z.push_back(z_of(i)); });
    return z;
}

Buffer<double> StandardisedErrors::sorted_z() const {
    static constexpr double most = std::numeric_limits<double>::max();
    Buffer<double> sorted = z();
    for (double& each : sorted) each = std::isnan(each) ? 0 : std::clamp(each, -most, most);
    std::sort(sorted.begin(), sorted.end(), [&](double a, double b) {
        context_->worked(1);
        return a < b;
    });
    return sorted;
}

double StandardisedErrors::mean_nll(const StudentT& student) const {
    double sum = 0;
    context_->for_each(size(), 8, [&](size_t i) { sum += student.nll(z_of(i)) + std::log(deviations_[i]); });
    return sum / static_cast<double>(size());
}

VarianceCalibration StandardisedErrors::likeliest_variances() const {
    Buffer<uint32_t> order(context_->memory(), what, size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context_->worked(2);
        return std::pair(errors_[a], deviations_[a]) < std::pair(errors_[b], deviations_[b]);
    });
    Buffer<double> errors(context_->memory(), what, size()), deviations(context_->memory(), what, size());
    for (size_t i = 0; i < size(); i++) {
        errors[i] = errors_[order[i]];
        deviations[i] = deviations_[order[i]];
    }
    return uncertainty::likeliest_variances(errors.span(), deviations.span(), *context_);
}

uint64_t rows_for_quantile(double q) {
    static constexpr double rounding_of_complement = 1e-9;
    const double rows = std::ceil(1 / std::min(q, 1 - q) * (1 - rounding_of_complement)) - 1;
    return rows < 0x1p63 ? static_cast<uint64_t>(std::max(1.0, rows)) : uint64_t{1} << 63;
}

Calibration calibrate(Method method, const StandardisedErrors& errors, const VarianceCalibration& variance,
                      RunContext& context) {
    const Buffer<double> z = errors.sorted_z();
    Calibration calibration;
    calibration.method = method;
    calibration.rows = z.size();
    const size_t kept = kept_of(z.size());
    for (size_t i = 0; i < kept; i++) calibration.kept.push_back(z[rank_of(i, kept, z.size()) - 1]);
    calibration.student = likeliest_student_t(z.span(), context);
    calibration.variance = variance;
    return calibration;
}

void encode(const Calibration& calibration, Writer& writer) {
    writer.put(static_cast<uint8_t>(calibration.method));
    writer.put(calibration.rows);
    writer.put(calibration.updates);
    writer.put_finite(calibration.student.scale);
    writer.put_positive(calibration.student.df);
    writer.put_finite(calibration.variance.factor);
    writer.put_finite(calibration.variance.floor);
    for (const double z : calibration.kept) writer.put_finite(z);
}

Calibration decode_calibration(Reader& reader) {
    Calibration calibration;
    const auto method = reader.get<uint8_t>();
    if (method >= std::size(names)) corrupt_model(format("Its calibration has the method %d.", method));
    calibration.method = static_cast<Method>(method);
    calibration.rows = reader.get<uint64_t>();
    calibration.updates = reader.get<uint64_t>();
    calibration.student = {reader.get_finite(), reader.get_finite()};
    const StudentT& student = calibration.student;
    if (!(student.scale >= 0 && student.df >= StudentT::min_df && student.df <= StudentT::max_df))
        corrupt_model("The distribution of its calibration is out of range.");
    calibration.variance = {reader.get_finite(), reader.get_finite()};
    const VarianceCalibration& variance = calibration.variance;
    if (!(variance.factor >= 0 && variance.floor >= 0 && variance.factor + variance.floor > 0))
        corrupt_model("The variances of its calibration are out of range.");
    if (calibration.rows == 0 || calibration.rows > UINT32_MAX)
        corrupt_model(format("Its calibration has %" PRIu64 " rows.", calibration.rows));
    const size_t kept = kept_of(calibration.rows);
    reader.hold(kept * sizeof(double));
    for (size_t i = 0; i < kept; i++) {
        calibration.kept.push_back(reader.get_finite());
        if (i > 0 && calibration.kept[i] < calibration.kept[i - 1]) corrupt_model("Its calibration is not in order.");
    }
    return calibration;
}

} // namespace btml::uncertainty
