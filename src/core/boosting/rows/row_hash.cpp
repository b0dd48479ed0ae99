#include "core/boosting/rows/row_hash.hpp"

#include "core/base/pieces.hpp"
#include "core/numbers/rng.hpp"

#include <bit>
#include <cmath>

namespace btml::boosting {

// Equal numbers have equal bits: so have −0 and 0, and all NaN that are not NULL.
static uint64_t bits_of(double x) {
    if (is_null(x)) return 1;
    return std::isnan(x) ? 2 : std::bit_cast<uint64_t>(x + 0.0);
}

// A row's hash is the sum over its columns, so that it does not matter which tables they are in.
Buffer<uint64_t> hash_rows(const Dataset& dataset, uint64_t seed, ThreadTeam& team, RunContext& context) {
    static constexpr uint64_t target = 1, weight = 2, query = 3, first_feature = 4;
    Buffer<uint64_t> hashes(context.memory(), "hashes of rows", dataset.rows, 0);
    for (size_t t = 0; t < dataset.tables.size(); t++) {
        const DataTable& table = dataset.tables[t];
        Buffer<uint64_t> sums(context.memory(), "hashes of rows", table.rows, 0);
        const auto add = [&](uint64_t column, const auto& value) {
            for_each_row(team, table.rows, [&](size_t i, int) { sums[i] += random_bits(seed, column, value(i)); });
        };
        if (static_cast<int>(t) == dataset.target_table) {
            add(target, [&](size_t i) { return bits_of(dataset.target[i]); });
            if (!dataset.weight.empty()) add(weight, [&](size_t i) { return bits_of(dataset.weight[i]); });
            if (dataset.query) add(query, [&](size_t i) -> uint64_t { return (*dataset.query)[i]; });
        }
        for (size_t f = 0; f < dataset.features.size(); f++) {
            const FeatureColumn& column = dataset.features[f];
            if (column.table != static_cast<int>(t)) continue;
            if (!column.categorical)
                add(first_feature + f, [&](size_t i) { return bits_of(column.numbers[i]); });
            else
                add(first_feature + f, [&](size_t i) -> uint64_t { return column.codes[i]; });
        }
        const RowIds ids = table.ids();
        for_each_row(team, dataset.rows, [&](size_t row, int) { hashes[row] += sums[ids[row]]; });
    }
    return hashes;
}

} // namespace btml::boosting
