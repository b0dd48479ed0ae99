#include "core/gp/tree/number_scale.hpp"

#include "core/base/buffer.hpp"
#include "core/numbers/number.hpp"

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
    const double min_step = range / (size_t{1} << NumberScale::max_gap_bits), rounding = 1e-6 * min_step;
    double step = range;
    for (const double x : ascending) {
        double rest = std::fmod(x - ascending.front(), step);
        while (rest > rounding && step - rest > rounding) {
            if (rest < min_step) return false;
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

NumberScale::NumberScale(std::span<const double> numbers, int value_bits, NumberPlaces places, RunContext& context) {
    Buffer<double> values = sorted_finite(numbers, context);
    if (values.empty()) return;
    least_ = values[0];
    greatest_ = values[values.size() - 1];
    if (places == NumberPlaces::ranks && least_ < greatest_) find_ranks(values.span(), value_bits);
    const auto distinct = static_cast<size_t>(std::unique(values.begin(), values.end()) - values.begin());
    if (distinct > 1 && are_discrete(values.span().first(distinct), values.size()))
        find_gaps(values.span().first(distinct), value_bits);
}

// Leaves out values that lie within half a cell of the last one kept, unless there is a cell between neighbours.
void NumberScale::find_ranks(std::span<const double> ascending, int value_bits) {
    const auto cells = static_cast<double>(size_t{1} << std::min(value_bits, max_gap_bits));
    const auto end_of = [&](size_t begin) {
        return static_cast<size_t>(
            std::upper_bound(ascending.begin() + static_cast<ptrdiff_t>(begin), ascending.end(), ascending[begin]) -
            ascending.begin());
    };
    const auto middle = [](size_t begin, size_t end) { return static_cast<double>(begin + end - 1) / 2; };
    const size_t last =
        static_cast<size_t>(std::lower_bound(ascending.begin(), ascending.end(), ascending.back()) - ascending.begin());
    const double first_rank = middle(0, end_of(0)), ranks = middle(last, ascending.size()) - first_rank;
    Knot before{ascending[0], 0};
    knots_.push_back(before);
    for (size_t begin = end_of(0), end; begin < ascending.size(); begin = end) {
        end = end_of(begin);
        const Knot knot{ascending[begin], begin == last ? 1 : (middle(begin, end) - first_rank) / ranks};
        const bool is_gap = (knot.place - before.place) * cells >= 1;
        if (is_gap && before.value > knots_.back().value) knots_.push_back(before);
        if (is_gap || begin == last || (knot.place - knots_.back().place) * cells >= 0.5) knots_.push_back(knot);
        before = knot;
    }
}

void NumberScale::find_gaps(std::span<const double> distinct, int value_bits) {
    const auto cells = static_cast<double>(size_t{1} << std::min(value_bits, max_gap_bits));
    for (size_t i = 1; i < distinct.size(); i++)
        if ((place_of_inner(distinct[i]) - place_of_inner(distinct[i - 1])) * cells >= 1)
            gaps_.push_back({distinct[i - 1], distinct[i]});
}

double NumberScale::place_of_inner(double x) const {
    if (!knots_.empty()) {
        const auto after = std::upper_bound(knots_.begin() + 1, knots_.end() - 1, x,
                                            [](double at, const Knot& knot) { return at < knot.value; });
        const Knot &from = after[-1], &to = *after;
        const double part = (x / 2 - from.value / 2) / (to.value / 2 - from.value / 2);
        return from.place + std::clamp(part, 0.0, 1.0) * (to.place - from.place);
    }
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
    writer.put_finite(least_);
    writer.put_finite(greatest_);
    writer.put_count(knots_.size());
    for (const Knot& knot : knots_) {
        writer.put_finite(knot.value);
        writer.put_finite(knot.place);
    }
    writer.put_count(gaps_.size());
    for (const Gap& gap : gaps_) {
        writer.put_finite(gap.below);
        writer.put_finite(gap.above);
    }
}

void NumberScale::decode_knots(Reader& reader) {
    const size_t count = reader.get_count(sizeof(Knot));
    reader.hold(count * sizeof(Knot));
    for (size_t i = 0; i < count; i++) {
        knots_.push_back({reader.get_finite(), reader.get_finite()});
        const Knot& knot = knots_.back();
        if (i > 0 && !(knot.value > knots_[i - 1].value && knot.place >= knots_[i - 1].place))
            corrupt_model("The ranks of a feature are in disorder.");
    }
    if (count == 0) return;
    if (count < 2 || knots_[0].value != least_ || knots_.back().value != greatest_ || knots_[0].place != 0 ||
        knots_.back().place != 1)
        corrupt_model("The ranks of a feature do not go from its least to its greatest value.");
}

NumberScale NumberScale::decode(Reader& reader) {
    NumberScale scale;
    scale.least_ = reader.get_finite();
    scale.greatest_ = reader.get_finite();
    if (scale.least_ > scale.greatest_) corrupt_model("The range of a feature is empty.");
    scale.decode_knots(reader);
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
