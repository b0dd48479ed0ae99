#include "core/gp/tree/number_scale.hpp"

#include "core/base/buffer.hpp"
#include "core/base/number.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace btml::gp {

namespace {

// Says whether all values are a whole number of steps from the first, by Euclid's algorithm for numbers that were
// rounded.
bool are_regular(std::span<const double> ascending) {
    const double range = ascending.back() - ascending.front();
    const double least_step = range / (size_t{1} << NumberScale::max_gap_bits), rounding = 1e-6 * least_step;
    double step = range;
    for (const double x : ascending) {
        double rest = std::fmod(x - ascending.front(), step);
        while (rest > rounding && step - rest > rounding) {
            if (rest < least_step) return false;
            rest = std::fmod(std::exchange(step, rest), rest);
        }
    }
    return std::isfinite(range);
}

bool are_discrete(std::span<const double> distinct, size_t values) {
    static constexpr size_t repeats = 2; // of a value, on average
    return values >= repeats * distinct.size() || are_regular(distinct);
}

Buffer<double> sorted_finite(std::span<const double> numbers, RunContext& context) {
    Buffer<double> values(context.memory(), "values of a feature");
    values.reserve(numbers.size());
    context.for_each(numbers.size(), 1, [&](size_t i) {
        if (!is_null(numbers[i]) && std::isfinite(numbers[i])) values.append_reserved(numbers[i]);
    });
    std::sort(values.begin(), values.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    return values;
}

} // namespace

NumberScale::NumberScale(std::span<const double> numbers, int value_bits, RunContext& context) {
    Buffer<double> values = sorted_finite(numbers, context);
    if (values.empty()) return;
    const auto distinct = static_cast<size_t>(std::unique(values.begin(), values.end()) - values.begin());
    least_ = values[0];
    greatest_ = values[distinct - 1];
    if (distinct > 1 && are_discrete(values.span().first(distinct), values.size()))
        find_gaps(values.span().first(distinct), value_bits);
}

void NumberScale::find_gaps(std::span<const double> distinct, int value_bits) {
    const auto cells = static_cast<double>(size_t{1} << std::min(value_bits, max_gap_bits));
    for (size_t i = 1; i < distinct.size(); i++)
        if ((place_of_inner(distinct[i]) - place_of_inner(distinct[i - 1])) * cells >= 1)
            gaps_.push_back({distinct[i - 1], distinct[i]});
}

double NumberScale::place_of_inner(double x) const {
    const double range = greatest_ - least_;
    if (std::isinf(range)) return (x / 2 - least_ / 2) / (greatest_ / 2 - least_ / 2);
    return (x - least_) / range;
}

double NumberScale::nearest(double x) const {
    const auto after =
        std::upper_bound(gaps_.begin(), gaps_.end(), x, [](double at, const Gap& gap) { return at < gap.above; });
    if (after == gaps_.end() || x <= after->below) return x;
    return x / 2 - after->below / 2 <= after->above / 2 - x / 2 ? after->below : after->above;
}

double NumberScale::distance_outside(double x) const {
    if (!is_outside(x)) return 0;
    if (!std::isfinite(x) || least_ == greatest_) return std::numeric_limits<double>::infinity();
    const double end = x < least_ ? least_ : greatest_;
    return std::abs(x / 2 - end / 2) / (greatest_ / 2 - least_ / 2);
}

double NumberScale::place(double x) const {
    if (std::isnan(x) || x > greatest_) return 1;
    if (x <= least_) return 0;
    return place_of_inner(nearest(x));
}

void NumberScale::encode(Writer& writer) const {
    writer.put(least_);
    writer.put(greatest_);
    writer.put_count(gaps_.size());
    for (const Gap& gap : gaps_) {
        writer.put(gap.below);
        writer.put(gap.above);
    }
}

NumberScale NumberScale::decode(Reader& reader, int version) {
    NumberScale scale;
    scale.least_ = reader.get_finite();
    scale.greatest_ = reader.get_finite();
    if (scale.least_ > scale.greatest_) corrupt_model("The range of a feature is empty.");
    if (version < 2) return scale;
    const size_t count = reader.get_count(sizeof(Gap));
    reader.hold(count * sizeof(Gap));
    double last = scale.least_;
    for (size_t i = 0; i < count; i++) {
        const Gap gap{reader.get_finite(), reader.get_finite()};
        if (!(gap.below >= last && gap.above > gap.below)) corrupt_model("The gaps of a feature are in disorder.");
        scale.gaps_.push_back(gap);
        last = gap.above;
    }
    if (last > scale.greatest_) corrupt_model("The gaps of a feature are in disorder.");
    return scale;
}

} // namespace btml::gp
