#include "core/validation/ordered_values.hpp"

#include "core/base/run_context.hpp"

#include <algorithm>
#include <cmath>

namespace btml::validation {

static constexpr const char* what_values = "values that rows are ordered by";

OrderedValues::OrderedValues(const Buffer<double>& values, const Buffer<uint64_t>& rows, RunContext& context)
    : values_(context.memory(), what_values), before_(context.memory(), what_values) {
    Buffer<uint32_t> order(context.memory(), what_values);
    context.for_each(values.size(), 1, [&](uint64_t row) {
        if (rows[row] > 0) order.push_back(static_cast<uint32_t>(row));
    });
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        context.worked(1);
        return values[a] < values[b];
    });
    unsigned __int128 all = 0;
    context.for_each(order.size(), 2, [&](uint64_t i) {
        const double value = values[order[i]];
        if (values_.empty() || value != values_[values_.size() - 1]) {
            values_.push_back(value);
            before_.push_back(all);
        }
        all += rows[order[i]];
    });
    before_.push_back(all);
}

// Returns the value from first to last that has a share of the rows before it nearest to this one.
size_t OrderedValues::nearest(double share, size_t first, size_t last) const {
    const double wanted = share * static_cast<double>(before_[size()]);
    const auto rows_before = [&](size_t value) { return static_cast<double>(before_[value]); };
    while (first < last) {
        const size_t middle = first + (last - first) / 2; // and the next one
        const bool is_later = wanted - rows_before(middle) >= rows_before(middle + 1) - wanted;
        (is_later ? first : last) = is_later ? middle + 1 : middle;
    }
    return first;
}

std::vector<double> OrderedValues::parts(std::span<const double> shares) const {
    std::vector<double> parts;
    size_t next = 1;
    for (size_t i = 0; i < shares.size(); i++) {
        const size_t value = nearest(shares[i], next, size() - shares.size() + i);
        parts.push_back(values_[value]);
        next = value + 1;
    }
    return parts;
}

} // namespace btml::validation
