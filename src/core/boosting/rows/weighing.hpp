// Multiplies what rows add to sums by their weights, for blocks of rows side by side.
#pragma once

#include "core/base/levels.hpp"
#include "core/boosting/rows/row_index.hpp"

namespace btml::boosting {

// Sets numbers[i] to weights[i] · unit · numbers[i], rounded as TrainingRows::weigh_by does. No number passes
// max_weighed_at_once.
BTML_DISPATCH(void, weigh_numbers, (const int64_t* weights, double unit, size_t count, int64_t* numbers),
              (weights, unit, count, numbers));
inline constexpr uint64_t max_weighed_at_once = uint64_t{1} << 40;

// Returns the weights of a list's rows: in `room` where they have to be gathered. There are weights.
inline const int64_t* weights_of(const TrainingRows& training, const RowList& rows, int64_t* room) {
    if (const int64_t* const by_row = training.weights_by_row()) return rows_of(by_row, rows, room);
    for (size_t i = 0; i < rows.count; i++) room[i] = training.weight(rows[i]);
    return room;
}

// Multiplies numbers that may be large, of which none is larger than `largest`.
inline void weigh(const TrainingRows& training, const int64_t* weights, size_t count, uint64_t largest,
                  int64_t* numbers) {
    if (largest <= max_weighed_at_once) return weigh_numbers(weights, training.count_unit(), count, numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = training.weigh_by(weights[i], numbers[i]);
}

} // namespace btml::boosting
