#include "core/boosting/equal_rows.hpp"

#include "core/boosting/factorised_weights.hpp"
#include "core/relational/filtered_join.hpp"

#include <cstring>
#include <numeric>

namespace btml::boosting::factorised {

using namespace relational;

namespace {

// A row's bins of one group of features, as one number.
uint64_t bins_of(const BinGroup& group, RowId row) {
    const size_t bytes = group.width * group.bytes;
    uint64_t bins = 0;
    std::memcpy(&bins, group.data.data() + row * bytes, bytes);
    return bins;
}

class RowOrder {
  public:
    RowOrder(const BinnedData& data, const BinnedTable& table, const Buffer<double>* values)
        : data_(data), table_(table), values_(values) {}

    // < 0 where row a comes before row b, 0 where they are equal.
    int compare(RowId a, RowId b) const {
        for (const size_t g : table_.groups) {
            const uint64_t of_a = bins_of(data_.groups[g], a), of_b = bins_of(data_.groups[g], b);
            if (of_a != of_b) return of_a < of_b ? -1 : 1;
        }
        if (!values_ || (*values_)[a] == (*values_)[b]) return 0;
        return (*values_)[a] < (*values_)[b] ? -1 : 1;
    }

  private:
    const BinnedData& data_;
    const BinnedTable& table_;
    const Buffer<double>* const values_;
};

} // namespace

EqualRows find_equal_rows(const BinnedData& data, size_t table, const GroupedTable& grouped,
                          const Buffer<double>* values, ThreadTeam& team, RunContext& context) {
    constexpr uint64_t steps_of_row = 50;
    const RowOrder order(data, data.tables[table], values);
    Buffer<RowId> first(context.memory(), "rows that are equal", grouped.rows);
    for_ranges(team, grouped.groups(), steps_of_row * grouped.rows, [&](uint64_t begin, uint64_t end, int) {
        std::vector<RowId> rows;
        for (uint64_t g = begin; g < end; g++) {
            rows.resize(grouped.first[g + 1] - grouped.first[g]);
            std::iota(rows.begin(), rows.end(), grouped.first[g]);
            std::sort(rows.begin(), rows.end(), [&](RowId a, RowId b) {
                const int c = order.compare(a, b);
                return c != 0 ? c < 0 : a < b;
            });
            for (size_t i = 0; i < rows.size(); i++)
                first[rows[i]] = i > 0 && order.compare(rows[i - 1], rows[i]) == 0 ? first[rows[i - 1]] : rows[i];
        }
    });
    Buffer<RowId> kept(context.memory(), "rows that are equal");
    for (size_t row = 0; row < first.size(); row++) {
        poll_at(context, row);
        if (first[row] == row) kept.push_back(static_cast<RowId>(row));
    }
    return {std::move(first), std::move(kept)};
}

} // namespace btml::boosting::factorised
