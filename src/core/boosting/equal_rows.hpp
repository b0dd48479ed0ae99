// Rows of a table that no query over a join tells apart: with equal keys and equal bins.
#pragma once

#include "core/boosting/binning.hpp"
#include "core/relational/grouped_join.hpp"

namespace btml::boosting::factorised {

struct EqualRows {
    Buffer<relational::RowId> first; // by row: the first row that equals it, itself where none does before it
    Buffer<relational::RowId> kept;  // the rows that are their own first, ascending
};

// Rows are equal that are of one group (see GroupedTable), with the same bins and, where there are any, the same value.
EqualRows find_equal_rows(const BinnedData& data, size_t table, const relational::GroupedTable& grouped,
                          const Buffer<double>* values, ThreadTeam& team, RunContext& context);

// Of an array with `width` elements a row, the rows that are kept.
template <class T>
void keep(Buffer<T>& array, size_t width, const Buffer<relational::RowId>& kept, RunContext& context) {
    relational::RowBlocks(context, "leaving out equal rows", 0).run(kept.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++)
            if (kept[i] != i) std::copy_n(array.data() + kept[i] * width, width, array.data() + i * width);
    });
    array.resize(kept.size() * width);
    array.shrink_to_fit();
}

} // namespace btml::boosting::factorised
