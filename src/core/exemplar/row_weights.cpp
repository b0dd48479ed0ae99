#include "core/exemplar/row_weights.hpp"

#include <algorithm>

namespace btml::exemplar {

RowWeights::RowWeights(const PointSet& validation, Exemplars exemplars, MemoryBudget& budget)
    : validation_(validation),
      weights_(budget, "validation rows", validation.size()),
      own_rows_(budget, "validation rows") {
    for (size_t row = 0; row < validation.size(); row++) {
        weights_[row] = validation.weight(row);
        if (exemplars == Exemplars::left_out ||
            (exemplars == Exemplars::count_alone && validation.stands_for_others(row)))
            own_rows_.push_back({validation.number(row), row});
    }
    std::sort(own_rows_.begin(), own_rows_.end());
}

size_t RowWeights::own_row(uint64_t number) const {
    const auto own = std::lower_bound(own_rows_.begin(), own_rows_.end(), OwnRow{number, 0});
    return own != own_rows_.end() && own->number == number ? own->row : no_row;
}

void RowWeights::enter(uint64_t number) {
    if (const size_t own = own_row(number); own != no_row) weights_[own] = 0;
}

void RowWeights::leave(uint64_t number) {
    if (const size_t own = own_row(number); own != no_row) weights_[own] = validation_.weight(own);
}

} // namespace btml::exemplar
