#include "core/relational/filtered_sums.hpp"

#include <array>
#include <map>

namespace btml::relational {

namespace {

constexpr const char* what = "the messages of queries over a join";
constexpr size_t lanes = 8;
constexpr uint64_t piece_steps = uint64_t{1} << 20; // between two polls

// The bits of every byte as numbers.
constexpr auto bits_of_bytes = [] {
    std::array<std::array<double, lanes>, 256> table{};
    for (size_t byte = 0; byte < 256; byte++)
        for (size_t i = 0; i < lanes; i++) table[byte][i] = static_cast<double>(byte >> i & 1);
    return table;
}();

inline void add_bits(double* sums, double weight, uint8_t byte) {
    const double* const bits = bits_of_bytes[byte].data();
    for (size_t i = 0; i < lanes; i++) sums[i] += weight * bits[i];
}

inline void add_products(double* sums, const double* factors, uint8_t byte) {
    const double* const bits = bits_of_bytes[byte].data();
    for (size_t i = 0; i < lanes; i++) sums[i] += factors[i] * bits[i];
}

inline double add_up(const double* sums) {
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

double power_of(double x, int power) {
    return power == 0 ? 1 : power == 1 ? x : x * x;
}

// body(begin, end, worker) over ranges of 0 ≤ i < count of about piece_steps steps each.
template <class Body>
void for_ranges(ThreadTeam& team, uint64_t count, uint64_t steps_each, const Body& body) {
    const uint64_t size = std::max<uint64_t>(1, piece_steps / std::max<uint64_t>(1, steps_each));
    team.for_each((count + size - 1) / size, [&](size_t piece, int worker) {
        body(piece * size, std::min<uint64_t>(count, (piece + 1) * size), worker);
    });
}

// body(row) for the selected rows of one group.
template <class Body>
inline void for_each_row(const GroupedTable& table, const RowSubset& subset, RowId group, const Body& body) {
    if (subset.all) {
        for (RowId row = table.first[group]; row < table.first[group + 1]; row++) body(row);
    } else {
        for (RowId i = subset.first[group]; i < subset.first[group + 1]; i++) body(subset.rows[i]);
    }
}

} // namespace

// What the queries of a block ask of one table's rows: for each power of the value that occurs, the sum over all rows
// of a group and those over the rows that pass each filter, eight filters at a time.
struct FilteredSums::Local {
    // Eight filters' sums, from the bits of one byte.
    struct Place {
        int power;
        size_t word;
        unsigned shift;
        uint32_t at;
    };
    std::vector<Place> places;
    std::array<int, 3> plain{-1, -1, -1}; // by power: where the sum over all rows is; −1: not asked for
    size_t size = 0;                      // sums, filled up to whole lanes
    std::vector<uint32_t> index;          // by query: its sum
    bool shared = false;                  // every query asks for the same sum
    Buffer<double> sums;                  // by group and query; by group if shared

    explicit Local(MemoryBudget& memory) : sums(memory, what) {}

    uint32_t take_lanes() { return static_cast<uint32_t>(std::exchange(size, size + lanes)); }
    uint32_t find_or_place(int power, int filter) {
        if (filter < 0) {
            int& at = plain[static_cast<size_t>(power)];
            if (at < 0) at = static_cast<int>(take_lanes());
            return static_cast<uint32_t>(at);
        }
        const auto bit = static_cast<unsigned>(filter) % 64, lane = bit % static_cast<unsigned>(lanes);
        const Place wanted{power, static_cast<size_t>(filter) / 64, bit - lane, 0};
        auto place = std::find_if(places.begin(), places.end(), [&](const Place& other) {
            return other.power == wanted.power && other.word == wanted.word && other.shift == wanted.shift;
        });
        if (place == places.end()) {
            place = places.insert(places.end(), wanted);
            place->at = take_lanes();
        }
        return place->at + lane;
    }
};

struct FilteredSums::Block {
    const Selection& selection;
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

std::vector<FilterQuery> FilteredSums::relevant(const Selection& selection, const std::vector<FilterQuery>& queries) {
    struct Bits {
        std::vector<uint64_t> any, all;
    };
    std::vector<Bits> bits;
    for (size_t t = 0; t < join_.tables().size(); t++) {
        const size_t words = filters_[t].words();
        const RowSubset& subset = *selection.rows[t];
        const double* const weights = selection.weights[t];
        const uint64_t rows = subset.all ? join_.tables()[t].rows : subset.rows.size();
        std::vector<Bits> found(static_cast<size_t>(team_.size()),
                                {std::vector<uint64_t>(words, 0), std::vector<uint64_t>(words, ~uint64_t{0})});
        if (words > 0)
            for_ranges(team_, rows, words, [&](uint64_t begin, uint64_t end, int worker) {
                Bits& own = found[static_cast<size_t>(worker)];
                for (size_t w = 0; w < words; w++) {
                    const uint64_t* const word = filters_[t].word(w);
                    uint64_t any = own.any[w], all = own.all[w];
                    for (uint64_t i = begin; i < end; i++) {
                        const RowId row = subset.all ? static_cast<RowId>(i) : subset.rows[i];
                        if (weights && weights[row] == 0) continue;
                        any |= word[row];
                        all &= word[row];
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
        bits.push_back(std::move(found[0]));
    }
    std::map<std::pair<int, std::vector<int>>, size_t> places;
    std::vector<FilterQuery> result;
    for (const FilterQuery& query : queries) {
        FilterQuery reduced = query;
        bool contradicts = false;
        for (size_t t = 0; t < bits.size() && !contradicts; t++) {
            int& filter = reduced.filters[t];
            if (filter < 0) continue;
            const auto word = static_cast<size_t>(filter) / 64;
            const uint64_t bit = uint64_t{1} << (filter % 64);
            contradicts = (bits[t].any[word] & bit) == 0;
            if (bits[t].all[word] & bit) filter = -1;
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

// body(block) over as many queries at a time as memory allows; the first block's first query is the plain count, with
// coefficient 0, when that is asked for.
template <class Body>
void FilteredSums::for_each_block(const Selection& selection, const std::vector<FilterQuery>& queries, bool with_count,
                                  const Body& body) {
    std::vector<FilterQuery> all = relevant(selection, queries);
    if (with_count) all.insert(all.begin(), {0, 0, std::vector<int>(join_.tables().size(), -1)});
    const uint64_t most = std::max<uint64_t>(1, block_memory / (lanes * bytes_per_query(join_))) * lanes;
    for (size_t begin = 0; begin < all.size(); begin += most) {
        const size_t count = std::min<size_t>(most, all.size() - begin);
        Block block{selection, (count + lanes - 1) / lanes * lanes, {}, {}, {}};
        for (size_t i = 0; i < count; i++) block.coefficients.push_back(all[begin + i].coefficient);
        block.coefficients.resize(block.width, 0);
        for (size_t t = 0; t < join_.tables().size(); t++) {
            Local& local = block.locals.emplace_back(context_.memory());
            for (size_t i = 0; i < block.width; i++) {
                const FilterQuery& query = all[begin + std::min(i, count - 1)];
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
        body(block, with_count && begin == 0);
    }
}

void FilteredSums::sum_locally(Block& block, int t) {
    const GroupedTable& grouped = table(t);
    Local& local = block.locals[static_cast<size_t>(t)];
    const RowSubset& subset = *block.selection.rows[static_cast<size_t>(t)];
    const double* const weights = block.selection.weights[static_cast<size_t>(t)];
    const RowFilters& filters = filters_[static_cast<size_t>(t)];
    const size_t width = local.shared ? 1 : block.width;
    local.sums.resize(grouped.groups() * width);
    std::vector<std::vector<double>> scratch(static_cast<size_t>(team_.size()), std::vector<double>(local.size));
    const uint64_t rows_each = grouped.rows / std::max<uint64_t>(1, grouped.groups()) + 1;
    for_ranges(team_, grouped.groups(), rows_each * (1 + local.places.size()) + width,
               [&](uint64_t begin, uint64_t end, int worker) {
                   double* const sums = scratch[static_cast<size_t>(worker)].data();
                   for (uint64_t g = begin; g < end; g++) {
                       std::fill_n(sums, local.size, 0.0);
                       for_each_row(grouped, subset, static_cast<RowId>(g), [&](RowId row) {
                           const double weight = weights ? weights[row] : 1;
                           for (int power = 0; power < 3; power++)
                               if (local.plain[static_cast<size_t>(power)] >= 0)
                                   sums[local.plain[static_cast<size_t>(power)]] +=
                                       power == 0 ? weight : weight * power_of(values_[row], power);
                           for (const Local::Place& place : local.places)
                               add_bits(sums + place.at,
                                        place.power == 0 ? weight : weight * power_of(values_[row], place.power),
                                        static_cast<uint8_t>(filters.word(place.word)[row] >> place.shift));
                       });
                       double* const out = local.sums.data() + g * width;
                       for (size_t i = 0; i < width; i++) out[i] = sums[local.index[i]];
                   }
               });
}

// The group's own sums times the messages of its neighbours but one.
double* FilteredSums::product(const Block& block, int t, RowId group, size_t except, double* products) const {
    const GroupedTable& grouped = table(t);
    const Local& local = block.locals[static_cast<size_t>(t)];
    const size_t width = block.width;
    if (local.shared)
        std::fill_n(products, width, local.sums[group]);
    else
        std::copy_n(local.sums.data() + group * width, width, products);
    for (size_t e = 0; e < grouped.edges.size(); e++) {
        if (e == except) continue;
        const double* const message =
            block.inward[static_cast<size_t>(t)][e].data() + grouped.edges[e].key[group] * width;
        for (size_t i = 0; i < width; i += lanes)
            for (size_t j = 0; j < lanes; j++) products[i + j] *= message[i + j];
    }
    return products;
}

void FilteredSums::send(Block& block, int t, size_t e) {
    const GroupedTable::Edge& edge = table(t).edges[e];
    double* const message = block.inward[static_cast<size_t>(edge.neighbour)][static_cast<size_t>(edge.reverse)].data();
    const size_t width = block.width;
    std::vector<std::vector<double>> scratch(static_cast<size_t>(team_.size()), std::vector<double>(width));
    const uint64_t groups_each = table(t).groups() / std::max<uint64_t>(1, edge.keys) + 1;
    for_ranges(team_, edge.keys, groups_each * width * table(t).edges.size(),
               [&](uint64_t begin, uint64_t end, int worker) {
                   double* const products = scratch[static_cast<size_t>(worker)].data();
                   for (uint64_t key = begin; key < end; key++) {
                       double* const out = message + key * width;
                       for (RowId i = edge.first[key]; i < edge.first[key + 1]; i++) {
                           const RowId group = edge.group(i);
                           if (i == edge.first[key]) {
                               product(block, t, group, e, out);
                               continue;
                           }
                           product(block, t, group, e, products);
                           for (size_t w = 0; w < width; w += lanes)
                               for (size_t j = 0; j < lanes; j++) out[w + j] += products[w + j];
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
    const RowSubset& subset = *block.selection.rows[static_cast<size_t>(t)];
    const double* const weights = block.selection.weights[static_cast<size_t>(t)];
    const RowFilters& filters = filters_[static_cast<size_t>(t)];
    const size_t width = block.width;
    struct Scratch {
        std::vector<double> products, factors;
    };
    std::vector<Scratch> scratch(static_cast<size_t>(team_.size()),
                                 {std::vector<double>(width), std::vector<double>(local.size)});
    const uint64_t rows_each = grouped.rows / std::max<uint64_t>(1, grouped.groups()) + 1;
    for_ranges(team_, grouped.groups(), rows_each * (1 + local.places.size()) + width * (1 + grouped.edges.size()),
               [&](uint64_t begin, uint64_t end, int worker) {
                   double* const products = scratch[static_cast<size_t>(worker)].products.data();
                   double* const factors = scratch[static_cast<size_t>(worker)].factors.data();
                   for (uint64_t g = begin; g < end; g++) {
                       std::fill_n(products, width, 1.0);
                       for (size_t e = 0; e < grouped.edges.size(); e++) {
                           const double* const message =
                               block.inward[static_cast<size_t>(t)][e].data() + grouped.edges[e].key[g] * width;
                           for (size_t i = 0; i < width; i += lanes)
                               for (size_t j = 0; j < lanes; j++) products[i + j] *= message[i + j];
                       }
                       const double count = products[0];
                       std::fill_n(factors, local.size, 0.0);
                       for (size_t i = 0; i < width; i++)
                           factors[local.index[i]] += block.coefficients[i] * products[i];
                       for_each_row(grouped, subset, static_cast<RowId>(g), [&](RowId row) {
                           double by_power[3] = {0, 0, 0};
                           for (int power = 0; power < 3; power++)
                               if (local.plain[static_cast<size_t>(power)] >= 0)
                                   by_power[power] = factors[local.plain[static_cast<size_t>(power)]];
                           double filtered[3][lanes] = {};
                           for (const Local::Place& place : local.places)
                               add_products(filtered[place.power], factors + place.at,
                                            static_cast<uint8_t>(filters.word(place.word)[row] >> place.shift));
                           double sum = by_power[0] + add_up(filtered[0]);
                           if (t == value_table_)
                               sum += values_[row] * (by_power[1] + add_up(filtered[1])) +
                                      values_[row] * values_[row] * (by_power[2] + add_up(filtered[2]));
                           const double weight = weights ? weights[row] : 1;
                           sums[row] += weight * sum;
                           if (counts) counts[row] = weight * count;
                       });
                   }
               });
}

void FilteredSums::add(const Selection& selection, const std::vector<FilterQuery>& queries,
                       const std::vector<double*>& sums, const std::vector<double*>& counts) {
    const bool with_count = std::any_of(counts.begin(), counts.end(), [](const double* to) { return to != nullptr; });
    for_each_block(selection, queries, with_count, [&](Block& block, bool has_count) {
        send_down(block);
        for (size_t t = 0; t < sums.size(); t++)
            if (sums[t]) add_rows(block, static_cast<int>(t), sums[t], has_count ? counts[t] : nullptr);
    });
}

FilteredSums::Total FilteredSums::total(const Selection& selection, const std::vector<FilterQuery>& queries) {
    Total total{0, 0};
    const int root = join_.order()[0];
    std::vector<double> products;
    for_each_block(selection, queries, true, [&](Block& block, bool has_count) {
        products.resize(block.width);
        for (uint64_t g = 0; g < table(root).groups(); g++) {
            if (g % 4096 == 0) context_.poll();
            product(block, root, static_cast<RowId>(g), SIZE_MAX, products.data());
            for (size_t i = 0; i < block.width; i++) total.sum += block.coefficients[i] * products[i];
            if (has_count) total.count += products[0];
        }
    });
    return total;
}

} // namespace btml::relational
