#include "core/relational/filtered/filtered_sums.hpp"

namespace btml::relational {

using kernels::lanes;

// The conditions of a block on one table's rows: for each power of the value that occurs, the sum over all rows of a
// group and those over the rows that pass each filter, eight filters at a time.
struct FilteredSums::Local {
    std::vector<kernels::FilterBits> bits;
    std::array<int, 3> plain{-1, -1, -1}; // by power: where the sum over all rows is; −1: not asked for
    size_t size = 0;                      // sums, filled up to whole lanes
    std::vector<uint32_t> places;         // by condition: its sum

    Local(const RowFilters& filters, const SubQueries::OfTable& asked) {
        for (const SubQueries::Condition& condition : asked.conditions)
            places.push_back(condition.filter < 0
                                 ? place(condition.power)
                                 : place(filters, condition.power, static_cast<unsigned>(condition.filter)));
    }

  private:
    uint32_t take_lanes() { return static_cast<uint32_t>(std::exchange(size, size + lanes)); }
    uint32_t place(int power) {
        int& at = plain[power];
        if (at < 0) at = static_cast<int>(take_lanes());
        return static_cast<uint32_t>(at);
    }
    uint32_t place(const RowFilters& filters, int power, unsigned filter) {
        const unsigned bit = filter % 64, lane = bit % static_cast<unsigned>(lanes);
        const uint64_t* const word = filters.word(filter / 64);
        auto place = std::find_if(bits.begin(), bits.end(), [&](const kernels::FilterBits& other) {
            return other.power == power && other.word == word && other.shift == bit - lane;
        });
        if (place == bits.end()) place = bits.insert(place, {word, bit - lane, power, take_lanes()});
        return place->at + lane;
    }
};

uint64_t FilteredSums::bytes_per_query(const GroupedJoin& join) {
    return SubQueryMessages<double>::bytes_per_query(join);
}

// body(sub-queries, locals by table) after the upward messages of as many queries at a time as memory allows. With a
// count, the first one is the plain count, apart from the others.
template <class Body>
void FilteredSums::for_each_block(const Selection& selection, const AliveGroups& alive,
                                  const std::vector<FilterQuery>& queries, bool with_count, const Body& body) {
    const uint64_t more = lanes * bytes_per_query(filtered_.join);
    std::vector<std::vector<double>> scratch(filtered_.team.size());
    size_t next = 0;
    do {
        SubQueries block(filtered_.join, filtered_.value_table);
        size_t count = 0;
        if (with_count && next == 0 && ++count) block.add({1, 0, std::vector<int>(filtered_.tables(), -1)}, true);
        for (; next < queries.size() &&
               (count < lanes || SubQueryMessages<double>::bytes(filtered_.join, block) + more <= block_memory);
             count++) {
            filtered_.context.worked(units_of_query);
            block.add(queries[next++]);
        }
        if (count == 0) return;
        std::vector<Local> locals;
        for (size_t t = 0; t < filtered_.tables(); t++) locals.emplace_back(filtered_.filters[t], block.table(t));
        for (std::vector<double>& sums : scratch)
            for (const Local& local : locals) sums.resize(std::max(sums.size(), local.size));
        messages_.set(block, alive);
        messages_.send_up({[&](size_t t, uint64_t group, double* conditions, int worker) {
                               const Local& local = locals[t];
                               double* const sums = scratch[worker].data();
                               std::fill_n(sums, local.size, 0.0);
                               kernels::add_local_sums(filtered_.selected(selection, t, group), local.bits.data(),
                                                       local.bits.size(), local.plain.data(), sums);
                               for (size_t i = 0; i < local.places.size(); i++) conditions[i] = sums[local.places[i]];
                           },
                           [&](size_t t) {
                               const Local& local = locals[t];
                               return filtered_.table(t).rows * (1 + local.bits.size()) +
                                      filtered_.table(t).groups() * local.places.size();
                           }});
        body(block, locals);
    } while (next < queries.size());
}

void FilteredSums::add_rows(const Selection& selection, const AliveGroups& alive, const Local& local, size_t t,
                            bool has_count, double* sums, double* counts) {
    const GroupedTable& grouped = filtered_.table(t);
    std::vector<std::vector<double>> scratch(filtered_.team.size(), std::vector<double>(local.size, 0));
    const uint64_t steps = grouped.rows * (1 + local.bits.size()) + messages_.steps(t);
    filtered_.for_each_alive(alive, t, steps, [&](uint64_t g, int worker) {
        double* const factors = scratch[worker].data();
        const double* const conditions = messages_.factors(t, g, worker);
        if (has_count) factors[local.places[0]] = 0; // unless another condition has that place
        for (size_t i = has_count ? 1 : 0; i < local.places.size(); i++) factors[local.places[i]] = conditions[i];
        const kernels::GroupRows rows = filtered_.selected(selection, t, g);
        kernels::add_row_sums(rows, local.bits.data(), local.bits.size(), local.plain.data(), factors, sums);
        if (has_count && counts)
            for_each_row(rows, [&](RowId row) {
                counts[row] = rows.weights ? rows.weights[row] * conditions[0] : conditions[0];
            });
    });
}

void FilteredSums::add(const Selection& selection, const std::vector<FilterQuery>& queries,
                       const std::vector<double*>& sums, const std::vector<double*>& counts) {
    const AliveGroups alive = filtered_.find_alive(selection);
    bool with_count = std::any_of(counts.begin(), counts.end(), [](const double* of_table) { return of_table; });
    for_each_block(selection, alive, filtered_.relevant(selection, alive, queries), with_count,
                   [&](const SubQueries&, const std::vector<Local>& locals) {
                       messages_.send_down();
                       for (size_t t = 0; t < sums.size(); t++)
                           if (sums[t]) add_rows(selection, alive, locals[t], t, with_count, sums[t], counts[t]);
                       with_count = false;
                   });
}

FilteredSums::Total FilteredSums::total(const Selection& selection, const std::vector<FilterQuery>& queries) {
    const AliveGroups alive = filtered_.find_alive(selection);
    Total total{0, 0};
    bool is_first = true;
    for_each_block(selection, alive, filtered_.relevant(selection, alive, queries), true,
                   [&](const SubQueries& block, const std::vector<Local>&) {
                       const std::vector<double> totals = messages_.totals();
                       if (is_first) total.count = totals[0];
                       for (size_t q = is_first ? 1 : 0; q < block.coefficients().size(); q++)
                           total.sum += block.coefficients()[q] * totals[q];
                       is_first = false;
                   });
    return total;
}

} // namespace btml::relational
