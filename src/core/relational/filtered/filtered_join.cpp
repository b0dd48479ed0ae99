#include "core/relational/filtered/filtered_join.hpp"

namespace btml::relational {

namespace {

constexpr const char* what_groups = "the groups of a join";

struct Passing {
    std::vector<uint64_t> any, all;
};

} // namespace

static uint64_t digest(const Buffer<RowId>& rows, RunContext& context) {
    uint64_t hash = rows.size();
    context.for_each(rows.size(), 1, [&](uint64_t i) { hash = (hash ^ rows[i]) * 0x9E3779B97F4A7C15 + (hash >> 29); });
    return hash;
}

bool RowFilters::equals(int filter, const RowSubset& subset) const {
    const size_t f = filter;
    if (sizes_[f] != subset.rows.size()) return false;
    const uint64_t* const bits = word(f / 64);
    return std::all_of(subset.rows.begin(), subset.rows.end(),
                       [&](RowId row) { return (bits[row] >> (f % 64) & 1) != 0; });
}

int RowFilters::add_empty() {
    if (count_ % 64 == 0) words_.emplace_back(memory_, "row filters of leaves", rows_, uint64_t{0});
    sizes_.push_back(0);
    return count_++;
}

int RowFilters::add_both(const RowFilters& other, int a, int b, RunContext& context) {
    if (a < 0) std::swap(a, b);
    if (a < 0) return -1;
    if (b < 0) b = a;
    const auto [place, is_new] = by_pair_.emplace(std::minmax(a, b), count_);
    if (!is_new) return place->second;
    const int filter = add_empty();
    const uint64_t* const bits_a = other.word(static_cast<size_t>(a) / 64);
    const uint64_t* const bits_b = other.word(static_cast<size_t>(b) / 64);
    uint64_t* const bits = words_.back().data();
    context.in_blocks(rows_, 1, [&](uint64_t begin, uint64_t end) {
        kernels::intersect(bits_a + begin, static_cast<unsigned>(a) % 64, bits_b + begin, static_cast<unsigned>(b) % 64,
                           end - begin, static_cast<unsigned>(filter) % 64, bits + begin);
    });
    return filter;
}

int RowFilters::add(const RowSubset& subset, RunContext& context) {
    const uint64_t key = digest(subset.rows, context);
    const auto [begin, end] = by_digest_.equal_range(key);
    for (auto it = begin; it != end; ++it)
        if (equals(it->second, subset)) return it->second;
    const int filter = add_empty();
    uint64_t* const bits = words_.back().data();
    context.for_each(subset.rows.size(), 1, [&](uint64_t i) { bits[subset.rows[i]] |= uint64_t{1} << (filter % 64); });
    sizes_.back() = subset.rows.size();
    by_digest_.emplace(key, filter);
    return filter;
}

kernels::GroupRows FilteredJoin::selected(const Selection& selection, size_t t, uint64_t group) const {
    const GroupedTable& grouped = table(t);
    const RowSubset& subset = *selection.rows[t];
    const double* const weights = selection.weights[t];
    if (subset.all)
        return {nullptr, grouped.first[group], grouped.first[group + 1] - grouped.first[group], weights, values.data()};
    const RowId begin = subset.first[group];
    return {subset.rows.data() + begin, 0, subset.first[group + 1] - begin, weights, values.data()};
}

// Semi-joins up and down the tree leave the groups whose rows take part in the join of all selected rows.
AliveGroups FilteredJoin::find_alive(const Selection& selection) const {
    AliveGroups alive;
    for (size_t t = 0; t < join.tables().size(); t++) {
        Buffer<uint8_t>& groups = alive.emplace_back(context.memory(), what_groups, table(t).groups());
        const uint64_t steps = table(t).rows;
        for_ranges(team, groups.size(), steps, [&](uint64_t begin, uint64_t end, int) {
            for (uint64_t g = begin; g < end; g++) {
                const kernels::GroupRows rows = selected(selection, t, g);
                groups[g] = !rows.weights && rows.count > 0;
                if (rows.weights) for_each_row(rows, [&](RowId row) { groups[g] |= rows.weights[row] != 0; });
            }
        });
    }
    const auto semi_join = [&](size_t from, size_t e) {
        const GroupedTable::Edge& edge = table(from).edges[e];
        const GroupedTable::Edge& back = table(edge.neighbour).edges[edge.reverse];
        Buffer<uint8_t> keys(context.memory(), what_groups, edge.keys, uint8_t{0});
        const Buffer<uint8_t>& source = alive[from];
        Buffer<uint8_t>& target = alive[edge.neighbour];
        context.for_each(source.size(), 1, [&](uint64_t g) { keys[edge.key[g]] |= source[g]; });
        context.for_each(target.size(), 1, [&](uint64_t g) { target[g] &= keys[back.key[g]]; });
    };
    for (size_t i = join.order().size(); i-- > 1;) semi_join(join.order()[i], 0);
    for (const size_t t : join.order())
        for (size_t e = t == join.order()[0] ? 0 : 1; e < table(t).edges.size(); e++) semi_join(t, e);
    return alive;
}

// Says for each filter whether any, and whether every row that is alive passes.
static Passing find_passing(const FilteredJoin& filtered, const Selection& selection, const AliveGroups& alive,
                            size_t t) {
    const RowFilters& filters = filtered.filters[t];
    const size_t words = filters.words();
    Passing none{std::vector<uint64_t>(words, 0), std::vector<uint64_t>(words, ~uint64_t{0})};
    if (words == 0) return none;
    std::vector<Passing> found(filtered.team.size(), none);
    const Buffer<uint8_t>& groups = alive[t];
    for_ranges(filtered.team, groups.size(), filtered.table(t).rows * words,
               [&](uint64_t begin, uint64_t end, int worker) {
                   Passing& own = found[worker];
                   for (size_t w = 0; w < words; w++) {
                       const uint64_t* const word = filters.word(w);
                       uint64_t any = own.any[w], all = own.all[w];
                       for (uint64_t g = begin; g < end; g++) {
                           if (!groups[g]) continue;
                           const kernels::GroupRows rows = filtered.selected(selection, t, g);
                           for_each_row(rows, [&](RowId row) {
                               if (rows.weights && rows.weights[row] == 0) return;
                               any |= word[row];
                               all &= word[row];
                           });
                       }
                       own.any[w] = any;
                       own.all[w] = all;
                   }
               });
    for (size_t worker = 1; worker < found.size(); worker++)
        for (size_t w = 0; w < words; w++) {
            found[0].any[w] |= found[worker].any[w];
            found[0].all[w] &= found[worker].all[w];
        }
    return std::move(found[0]);
}

std::vector<FilterQuery> FilteredJoin::relevant(const Selection& selection, const AliveGroups& alive,
                                                const std::vector<FilterQuery>& queries) const {
    std::vector<Passing> passing;
    for (size_t t = 0; t < join.tables().size(); t++) passing.push_back(find_passing(*this, selection, alive, t));
    std::map<std::pair<int, std::vector<int>>, size_t> places;
    std::vector<FilterQuery> result;
    for (size_t q = 0; q < queries.size(); q++) {
        context.worked(units_of_query);
        FilterQuery reduced = queries[q];
        bool contradicts = false;
        for (size_t t = 0; t < passing.size() && !contradicts; t++) {
            int& filter = reduced.filters[t];
            if (filter < 0) continue;
            const auto word = static_cast<size_t>(filter) / 64;
            const uint64_t bit = uint64_t{1} << (filter % 64);
            contradicts = (passing[t].any[word] & bit) == 0;
            if (passing[t].all[word] & bit) filter = -1;
        }
        if (contradicts) continue;
        const auto [place, is_new] = places.emplace(std::pair(reduced.power, reduced.filters), result.size());
        if (is_new)
            result.push_back(std::move(reduced));
        else
            result[place->second].coefficient += reduced.coefficient;
    }
    return result;
}

} // namespace btml::relational
