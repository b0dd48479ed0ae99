#include "core/kernel/query_groups.hpp"

#include <algorithm>

namespace btml::kernel {

static constexpr size_t rows_of_item = 1024;

QueryGroups::QueryGroups(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context)
    : keys_(keys),
      rows_(context.memory(), "groups of queries", queries.rows()),
      centres_(context.memory(), "groups of queries") {
    const size_t rows = queries.rows(), dimensions = queries.dimensions(), leaves = keys.tree.leaves();
    Buffer<uint32_t> leaf(context.memory(), "groups of queries", rows);
    team.for_each((rows + rows_of_item - 1) / rows_of_item, [&](size_t item, int) {
        std::vector<double> framed(dimensions);
        for (size_t i = item * rows_of_item; i < std::min(rows, (item + 1) * rows_of_item); i++) {
            keys.distinct.frame.apply(queries.row(i), framed.data());
            leaf[i] = static_cast<uint32_t>(keys.tree.leaf_of(framed.data()));
        }
    });
    std::vector<size_t> first(leaves + 1, 0);
    for (const uint32_t of_row : leaf) first[of_row + 1]++;
    for (size_t i = 0; i < leaves; i++) first[i + 1] += first[i];
    std::vector<size_t> next(first.begin(), first.end() - 1);
    for (size_t i = 0; i < rows; i++) rows_[next[leaf[i]]++] = static_cast<uint32_t>(i);
    team.for_each(leaves, [&](size_t i, int) {
        std::sort(rows_.begin() + first[i], rows_.begin() + first[i + 1], [&](uint32_t a, uint32_t b) {
            return std::lexicographical_compare(queries.row(a), queries.row(a) + dimensions, queries.row(b),
                                                queries.row(b) + dimensions);
        });
    });
    for (size_t i = 0; i < leaves; i++) {
        const size_t count = first[i + 1] - first[i],
                     parts = (count + QueryGroup::most_queries - 1) / QueryGroup::most_queries;
        for (size_t part = 0; part < parts; part++) {
            starts_.push_back(first[i] + part * count / parts);
            leaves_.push_back(static_cast<uint32_t>(i));
        }
    }
    starts_.push_back(rows);
    centres_.resize(groups() * dimensions);
    team.for_each(groups(), [&](size_t group, int) { find_centre(group, queries); });
}

void QueryGroups::find_centre(size_t group, const Points& queries) {
    const size_t dimensions = queries.dimensions();
    double* const centre = centres_.data() + group * dimensions;
    std::fill(centre, centre + dimensions, 0.0);
    std::vector<double> framed(dimensions);
    for (const uint32_t row : rows(group)) {
        keys_.distinct.frame.apply(queries.row(row), framed.data());
        for (size_t k = 0; k < dimensions; k++) centre[k] += framed[k] / static_cast<double>(rows(group).size());
    }
}

size_t QueryGroups::group_of(size_t position) const noexcept {
    return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin()) - 1;
}

double QueryGroups::distance(size_t group, size_t leaf) const noexcept {
    if (leaf == leaves_[group]) return -1;
    const double* const centre = centres_.data() + group * keys_.blocks.dimensions();
    return keys_.distinct.frame.exponent(centre, keys_.blocks.centre(leaf)) + keys_.blocks.spread(leaf);
}

double QueryGroups::padding() const noexcept {
    size_t places = 0;
    for (size_t group = 0; group < groups(); group++)
        places += (rows(group).size() + tile_queries - 1) / tile_queries * tile_queries;
    return static_cast<double>(places) / static_cast<double>(rows_.size());
}

} // namespace btml::kernel
