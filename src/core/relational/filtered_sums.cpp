#include "core/relational/filtered_sums.hpp"

#include "core/relational/filtered_kernels.hpp"

#include <array>
#include <map>

namespace btml::relational {

using kernels::lanes;

namespace {

constexpr const char* what = "the messages of queries over a join";
constexpr uint64_t piece_steps = uint64_t{1} << 20; // between two polls

// body(begin, end, worker) over ranges of 0 ≤ i < count that take about `steps` steps in all.
template <class Body>
void for_ranges(ThreadTeam& team, uint64_t count, uint64_t steps, const Body& body) {
    const uint64_t ranges = std::max<uint64_t>(static_cast<uint64_t>(team.size()), steps / piece_steps + 1);
    const uint64_t size = (count + ranges - 1) / ranges;
    if (count == 0) return;
    team.for_each((count + size - 1) / size, [&](size_t range, int worker) {
        body(range * size, std::min<uint64_t>(count, (range + 1) * size), worker);
    });
}

// The selected rows of one group.
kernels::GroupRows rows_of(const GroupedTable& table, const RowSubset& subset, uint64_t group, const double* weights,
                           const double* values) {
    if (subset.all) return {nullptr, table.first[group], table.first[group + 1] - table.first[group], weights, values};
    const RowId begin = subset.first[group];
    return {subset.rows.data() + begin, 0, subset.first[group + 1] - begin, weights, values};
}

template <class Body>
void for_each_row(const kernels::GroupRows& rows, const Body& body) {
    for (size_t i = 0; i < rows.count; i++) body(rows.rows ? rows.rows[i] : rows.first + static_cast<uint32_t>(i));
}

uint64_t edge_steps(const GroupedTable& table) {
    return table.groups() * (1 + table.edges.size());
}

} // namespace

// What the queries of a block ask of one table's rows: for each power of the value that occurs, the sum over all rows
// of a group and those over the rows that pass each filter, eight filters at a time.
struct FilteredSums::Local {
    const RowFilters& filters;
    std::vector<kernels::FilterBits> bits;
    std::array<int, 3> plain{-1, -1, -1}; // by power: where the sum over all rows is; −1: not asked for
    size_t size = 0;                      // sums, filled up to whole lanes
    std::vector<uint32_t> index;          // by query: its sum
    bool shared = false;                  // every query asks for the same sum
    Buffer<double> sums;                  // by group and query; by group if shared

    Local(const RowFilters& of_table, MemoryBudget& memory) : filters(of_table), sums(memory, what) {}

    uint32_t take_lanes() { return static_cast<uint32_t>(std::exchange(size, size + lanes)); }
    uint32_t find_or_place(int power, int filter) {
        if (filter < 0) {
            int& at = plain[static_cast<size_t>(power)];
            if (at < 0) at = static_cast<int>(take_lanes());
            return static_cast<uint32_t>(at);
        }
        const auto bit = static_cast<unsigned>(filter) % 64, lane = bit % static_cast<unsigned>(lanes);
        const uint64_t* const word = filters.word(static_cast<size_t>(filter) / 64);
        auto place = std::find_if(bits.begin(), bits.end(), [&](const kernels::FilterBits& other) {
            return other.power == power && other.word == word && other.shift == bit - lane;
        });
        if (place == bits.end()) place = bits.insert(place, {word, bit - lane, power, take_lanes()});
        return place->at + lane;
    }
};

// Queries that are evaluated together.
struct FilteredSums::Block {
    const Selection& selection;
    const Alive& alive;
    size_t width; // queries, filled up to whole lanes
    std::vector<double> coefficients;
    std::vector<Local> locals;                       // by table
    std::vector<std::vector<Buffer<double>>> inward; // by table and edge: the neighbour's message, by key and query
};

FilteredSums::FilteredSums(const GroupedJoin& join, const std::vector<RowFilters>& filters, int value_table,
                           const Buffer<double>& values, ThreadTeam& team, RunContext& context)
    : join_(join), filters_(filters), value_table_(value_table), values_(values), team_(team), context_(context) {}

uint64_t FilteredSums::bytes_per_query(const GroupedJoin& join) {
    uint64_t values = 0;
    for (const GroupedTable& table : join.tables()) {
        values += table.groups();
        for (const GroupedTable::Edge& edge : table.edges) values += edge.keys;
    }
    return std::max<uint64_t>(1, values) * sizeof(double);
}

kernels::GroupRows FilteredSums::selected(const Selection& selection, int t, uint64_t group) const {
    const auto i = static_cast<size_t>(t);
    return rows_of(join_.tables()[i], *selection.rows[i], group, selection.weights[i], values_.data());
}

// Semi-joins up and down the tree leave the groups whose rows take part in the join of all selected rows.
FilteredSums::Alive FilteredSums::find_alive(const Selection& selection) const {
    Alive alive;
    for (size_t t = 0; t < join_.tables().size(); t++) {
        Buffer<uint8_t>& groups = alive.emplace_back(context_.memory(), what, table(static_cast<int>(t)).groups());
        const uint64_t steps = table(static_cast<int>(t)).rows;
        for_ranges(team_, groups.size(), steps, [&](uint64_t begin, uint64_t end, int) {
            for (uint64_t g = begin; g < end; g++) {
                const kernels::GroupRows rows = selected(selection, static_cast<int>(t), g);
                groups[g] = !rows.weights && rows.count > 0;
                if (rows.weights) for_each_row(rows, [&](RowId row) { groups[g] |= rows.weights[row] != 0; });
            }
        });
    }
    const auto semi_join = [&](int from, size_t e) {
        const GroupedTable::Edge& edge = table(from).edges[e];
        const GroupedTable::Edge& back = table(edge.neighbour).edges[static_cast<size_t>(edge.reverse)];
        Buffer<uint8_t> keys(context_.memory(), what, edge.keys, uint8_t{0});
        const Buffer<uint8_t>& source = alive[static_cast<size_t>(from)];
        Buffer<uint8_t>& target = alive[static_cast<size_t>(edge.neighbour)];
        for (uint64_t g = 0; g < source.size(); g++) keys[edge.key[g]] |= source[g];
        for (uint64_t g = 0; g < target.size(); g++) target[g] &= keys[back.key[g]];
        context_.poll();
    };
    for (size_t i = join_.order().size(); i-- > 1;) semi_join(join_.order()[i], 0);
    for (const int t : join_.order())
        for (size_t e = t == join_.order()[0] ? 0 : 1; e < table(t).edges.size(); e++) semi_join(t, e);
    return alive;
}

// By filter: does any, and does every row that is alive pass.
FilteredSums::Passing FilteredSums::find_passing(const Selection& selection, const Alive& alive, int t) const {
    const RowFilters& filters = filters_[static_cast<size_t>(t)];
    const size_t words = filters.words();
    Passing none{std::vector<uint64_t>(words, 0), std::vector<uint64_t>(words, ~uint64_t{0})};
    if (words == 0) return none;
    std::vector<Passing> found(static_cast<size_t>(team_.size()), none);
    const Buffer<uint8_t>& groups = alive[static_cast<size_t>(t)];
    for_ranges(team_, groups.size(), table(t).rows * words, [&](uint64_t begin, uint64_t end, int worker) {
        Passing& own = found[static_cast<size_t>(worker)];
        for (size_t w = 0; w < words; w++) {
            const uint64_t* const word = filters.word(w);
            uint64_t any = own.any[w], all = own.all[w];
            for (uint64_t g = begin; g < end; g++) {
                if (!groups[g]) continue;
                const kernels::GroupRows rows = selected(selection, t, g);
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

std::vector<FilterQuery> FilteredSums::relevant(const Selection& selection,
                                                const std::vector<FilterQuery>& queries) const {
    return relevant(selection, find_alive(selection), queries);
}

std::vector<FilterQuery> FilteredSums::relevant(const Selection& selection, const Alive& alive,
                                                const std::vector<FilterQuery>& queries) const {
    std::vector<Passing> passing;
    for (size_t t = 0; t < join_.tables().size(); t++)
        passing.push_back(find_passing(selection, alive, static_cast<int>(t)));
    std::map<std::pair<int, std::vector<int>>, size_t> places;
    std::vector<FilterQuery> result;
    for (const FilterQuery& query : queries) {
        FilterQuery reduced = query;
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

FilteredSums::Block FilteredSums::make_block(const Selection& selection, const Alive& alive,
                                             std::span<const FilterQuery> queries) {
    Block block{selection, alive, (queries.size() + lanes - 1) / lanes * lanes, {}, {}, {}};
    for (const FilterQuery& query : queries) block.coefficients.push_back(query.coefficient);
    block.coefficients.resize(block.width, 0);
    for (size_t t = 0; t < join_.tables().size(); t++) {
        Local& local = block.locals.emplace_back(filters_[t], context_.memory());
        for (size_t i = 0; i < block.width; i++) {
            const FilterQuery& query = queries[std::min(i, queries.size() - 1)];
            const int power = static_cast<int>(t) == value_table_ ? query.power : 0;
            local.index.push_back(local.find_or_place(power, query.filters[t]));
        }
        local.shared = std::all_of(local.index.begin(), local.index.end(),
                                   [&](uint32_t index) { return index == local.index[0]; });
        std::vector<Buffer<double>>& inward = block.inward.emplace_back();
        for (const GroupedTable::Edge& edge : join_.tables()[t].edges)
            inward.emplace_back(context_.memory(), what, edge.keys * block.width);
    }
    for (size_t t = 0; t < join_.tables().size(); t++) sum_locally(block, static_cast<int>(t));
    send_up(block);
    return block;
}

// body(block, is_first) over as many queries at a time as memory allows. The first block's first query is the plain
// count, with coefficient 0.
template <class Body>
void FilteredSums::for_each_block(const Selection& selection, const std::vector<FilterQuery>& queries,
                                  const Body& body) {
    const Alive alive = find_alive(selection);
    std::vector<FilterQuery> all = relevant(selection, alive, queries);
    all.insert(all.begin(), {0, 0, std::vector<int>(join_.tables().size(), -1)});
    const uint64_t most = std::max<uint64_t>(1, block_memory / (lanes * bytes_per_query(join_))) * lanes;
    for (size_t begin = 0; begin < all.size(); begin += most) {
        const size_t count = std::min<size_t>(most, all.size() - begin);
        Block block = make_block(selection, alive, std::span(all).subspan(begin, count));
        body(block, begin == 0);
    }
}

void FilteredSums::sum_locally(Block& block, int t) {
    const GroupedTable& grouped = table(t);
    Local& local = block.locals[static_cast<size_t>(t)];
    const Buffer<uint8_t>& alive = block.alive[static_cast<size_t>(t)];
    const size_t width = local.shared ? 1 : block.width;
    local.sums.resize(grouped.groups() * width);
    std::vector<std::vector<double>> scratch(static_cast<size_t>(team_.size()), std::vector<double>(local.size));
    const uint64_t steps = grouped.rows * (1 + local.bits.size()) + grouped.groups() * width;
    for_ranges(team_, grouped.groups(), steps, [&](uint64_t begin, uint64_t end, int worker) {
        double* const sums = scratch[static_cast<size_t>(worker)].data();
        for (uint64_t g = begin; g < end; g++) {
            if (!alive[g]) continue;
            std::fill_n(sums, local.size, 0.0);
            kernels::add_local_sums(selected(block.selection, t, g), local.bits.data(), local.bits.size(),
                                    local.plain.data(), sums);
            double* const out = local.sums.data() + g * width;
            for (size_t i = 0; i < width; i++) out[i] = sums[local.index[i]];
        }
    });
}

// The messages that a group's rows are multiplied with, but for one edge's, and its own sums where they differ by
// query.
size_t FilteredSums::factors_of(const Block& block, int t, uint64_t group, size_t except,
                                const double** factors) const {
    const GroupedTable& grouped = table(t);
    size_t count = 0;
    for (size_t e = 0; e < grouped.edges.size(); e++)
        if (e != except)
            factors[count++] =
                block.inward[static_cast<size_t>(t)][e].data() + grouped.edges[e].key[group] * block.width;
    return count;
}

void FilteredSums::send(Block& block, int t, size_t e) {
    const GroupedTable& grouped = table(t);
    const GroupedTable::Edge& edge = grouped.edges[e];
    const Local& local = block.locals[static_cast<size_t>(t)];
    const Buffer<uint8_t>& alive = block.alive[static_cast<size_t>(t)];
    const size_t width = block.width;
    double* const message = block.inward[static_cast<size_t>(edge.neighbour)][static_cast<size_t>(edge.reverse)].data();
    std::vector<std::vector<const double*>> scratch(static_cast<size_t>(team_.size()),
                                                    std::vector<const double*>(grouped.edges.size() + 1));
    for_ranges(team_, edge.keys, edge_steps(grouped) * width, [&](uint64_t begin, uint64_t end, int worker) {
        const double** const factors = scratch[static_cast<size_t>(worker)].data();
        for (uint64_t key = begin; key < end; key++) {
            bool is_first = true;
            for (RowId i = edge.first[key]; i < edge.first[key + 1]; i++) {
                const RowId group = edge.group(i);
                if (!alive[group]) continue;
                size_t count = factors_of(block, t, group, e, factors);
                if (!local.shared) factors[count++] = local.sums.data() + group * width;
                const double scale = local.shared ? local.sums[group] : 1;
                (std::exchange(is_first, false) ? kernels::multiply : kernels::multiply_add)(
                    message + key * width, scale, factors, count, width);
            }
        }
    });
}

// A table's first edge leads to its parent, but for the root.
void FilteredSums::send_up(Block& block) {
    for (size_t i = join_.order().size(); i-- > 1;) send(block, join_.order()[i], 0);
}

void FilteredSums::send_down(Block& block) {
    for (const int t : join_.order())
        for (size_t e = t == join_.order()[0] ? 0 : 1; e < table(t).edges.size(); e++) send(block, t, e);
}

void FilteredSums::add_rows(Block& block, int t, double* sums, double* counts) {
    const GroupedTable& grouped = table(t);
    const Local& local = block.locals[static_cast<size_t>(t)];
    const Buffer<uint8_t>& alive = block.alive[static_cast<size_t>(t)];
    const size_t width = block.width;
    struct Scratch {
        std::vector<const double*> messages;
        std::vector<double> products, factors;
    };
    std::vector<Scratch> scratch(static_cast<size_t>(team_.size()),
                                 {std::vector<const double*>(grouped.edges.size()), std::vector<double>(width),
                                  std::vector<double>(local.size)});
    const uint64_t steps = grouped.rows * (1 + local.bits.size()) + edge_steps(grouped) * width;
    for_ranges(team_, grouped.groups(), steps, [&](uint64_t begin, uint64_t end, int worker) {
        auto& [messages, products, factors] = scratch[static_cast<size_t>(worker)];
        for (uint64_t g = begin; g < end; g++) {
            if (!alive[g]) continue;
            const size_t count = factors_of(block, t, g, SIZE_MAX, messages.data());
            kernels::multiply(products.data(), 1, messages.data(), count, width);
            std::fill(factors.begin(), factors.end(), 0.0);
            for (size_t i = 0; i < width; i++) factors[local.index[i]] += block.coefficients[i] * products[i];
            const kernels::GroupRows rows = selected(block.selection, t, g);
            kernels::add_row_sums(rows, local.bits.data(), local.bits.size(), local.plain.data(), factors.data(), sums);
            if (counts)
                for_each_row(rows, [&](RowId row) {
                    counts[row] = rows.weights ? rows.weights[row] * products[0] : products[0];
                });
        }
    });
}

void FilteredSums::add(const Selection& selection, const std::vector<FilterQuery>& queries,
                       const std::vector<double*>& sums, const std::vector<double*>& counts) {
    for_each_block(selection, queries, [&](Block& block, bool is_first) {
        send_down(block);
        for (size_t t = 0; t < sums.size(); t++)
            if (sums[t]) add_rows(block, static_cast<int>(t), sums[t], is_first ? counts[t] : nullptr);
    });
}

FilteredSums::Total FilteredSums::total(const Selection& selection, const std::vector<FilterQuery>& queries) {
    Total total{0, 0};
    const int root = join_.order()[0];
    std::vector<const double*> factors(table(root).edges.size() + 1);
    std::vector<double> products;
    for_each_block(selection, queries, [&](Block& block, bool is_first) {
        const Local& local = block.locals[static_cast<size_t>(root)];
        products.assign(block.width, 0);
        for (uint64_t g = 0; g < table(root).groups(); g++) {
            if (g % 4096 == 0) context_.poll();
            if (!block.alive[static_cast<size_t>(root)][g]) continue;
            size_t count = factors_of(block, root, g, SIZE_MAX, factors.data());
            if (!local.shared) factors[count++] = local.sums.data() + g * block.width;
            kernels::multiply_add(products.data(), local.shared ? local.sums[g] : 1, factors.data(), count,
                                  block.width);
        }
        for (size_t i = 0; i < block.width; i++) total.sum += block.coefficients[i] * products[i];
        if (is_first) total.count = products[0];
    });
    return total;
}

} // namespace btml::relational
