#include "core/relational/streamed/ranges.hpp"

#include "core/relational/streamed/cells.hpp"

namespace btml::relational {

namespace {

// The ends of an interval that has an absolute value in it.
using Bounds = std::pair<double, double>;

constexpr double infinite = std::numeric_limits<double>::infinity();

// Returns bounds on a number that so many roundings made x of, an absolute value.
Bounds around(double x, int roundings) {
    Bounds bounds{x, x};
    for (int i = 0; i < roundings; i++)
        bounds = {std::nextafter(bounds.first, 0.0), std::nextafter(bounds.second, infinite)};
    return bounds;
}

Bounds bounds_of(int64_t value) {
    constexpr int64_t exact = int64_t{1} << 53;
    const double x = std::abs(static_cast<double>(value));
    return around(x, value > -exact && value < exact ? 0 : 1);
}

Bounds bounds_of(WideInteger mantissa, int64_t scale) {
    if (scale == 0 || mantissa == 0) return around(std::abs(static_cast<double>(mantissa)), mantissa == 0 ? 0 : 1);
    constexpr int64_t max_scale = 300; // 2^127 · 10^(-300) < 10^(-261)
    if (scale > max_scale) return {std::numeric_limits<double>::denorm_min(), 1e-261};
    // The mantissa, the power (of which the library may be off by one) and their quotient are rounded.
    return around(std::abs(static_cast<double>(mantissa)) / std::pow(10.0, static_cast<double>(scale)), 4);
}

void widen(StreamedRange& range, const Bounds& bounds) {
    const auto [low, high] = bounds;
    if (!std::isfinite(high)) {
        range.finite = false;
        return;
    }
    range.max_abs = std::max(range.max_abs, high);
    if (high > 0 && (range.min_abs == 0 || low < range.min_abs)) range.min_abs = low;
}

} // namespace

void widen(StreamedRange& range, StreamedType type, const RowBatch::Column& column, const uint32_t* rows,
           uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = rows[i];
        if (column.nulls[row] != 0) continue;
        if (type == StreamedType::integer)
            widen(range, bounds_of(column.words[row]));
        else if (type == StreamedType::number)
            widen(range, around(std::abs(std::bit_cast<double>(column.words[row])), 0));
        else
            widen(range, bounds_of(column.mantissas[row], column.words[row]));
    }
}

void widen(StreamedRange& range, const StreamedRange& other) {
    range.finite &= other.finite;
    range.max_abs = std::max(range.max_abs, other.max_abs);
    if (range.min_abs == 0 || (other.min_abs > 0 && other.min_abs < range.min_abs)) range.min_abs = other.min_abs;
}

} // namespace btml::relational
