#include "core/relational/filtered/filtered_sketch.hpp"

#include "core/relational/queries/tensor_sketch.hpp"

#include <numeric>

namespace btml::relational {

namespace {

constexpr const char* what_sketch = "a sketch of the rows of a join";

using Value = Spectrum::Value;
using kernels::RowSpectra;
using kernels::SpectrumFilters;

// The conditions by word of filters and power.
std::vector<SpectrumFilters> filters_of(const RowFilters& filters, const SubQueries::OfTable& asked) {
    std::vector<SpectrumFilters> result;
    for (size_t i = 0; i < asked.conditions.size(); i++) {
        const auto [power, filter] = asked.conditions[i];
        const uint64_t* const word = filter < 0 ? nullptr : filters.word(static_cast<size_t>(filter) / 64);
        const auto bit = filter < 0 ? 0 : static_cast<size_t>(filter) % 64;
        auto place = std::find_if(result.begin(), result.end(), [&, power = power](const SpectrumFilters& other) {
            return other.word == word && other.power == power;
        });
        if (place == result.end()) place = result.insert(place, {word, 0, power, {}});
        place->mask |= uint64_t{1} << bit;
        place->at[bit] = static_cast<uint32_t>(i);
    }
    return result;
}

} // namespace

// Queries whose messages fit into memory together.
struct FilteredSketch::Block {
    SubQueries queries;
    std::vector<std::vector<SpectrumFilters>> filters; // by table
};

struct FilteredSketch::Sketch {
    Frequencies frequencies;
    RootsOfUnity roots;
    std::vector<Buffer<uint32_t>> buckets; // by table and row
    Buffer<Value> powers;                  // by bucket, for one block of frequencies; empty for large sketches
};

// Queries that ask the same of the largest tables come together: their sub-queries there are one.
std::vector<FilteredSketch::Block> FilteredSketch::blocks_of(std::vector<FilterQuery> queries) const {
    std::vector<int> tables(filtered_.tables());
    std::iota(tables.begin(), tables.end(), 0);
    std::stable_sort(tables.begin(), tables.end(),
                     [&](int a, int b) { return filtered_.table(a).groups() > filtered_.table(b).groups(); });
    std::sort(queries.begin(), queries.end(), [&](const FilterQuery& a, const FilterQuery& b) {
        for (const size_t t : tables) {
            const int of_a = a.filters[t], of_b = b.filters[t];
            if (of_a != of_b) return of_a < of_b;
        }
        return a.power < b.power;
    });
    const uint64_t more = SubQueryMessages<Value>::bytes_per_query(filtered_.join);
    std::vector<Block> blocks;
    for (size_t next = 0; next < queries.size();) {
        SubQueries block(filtered_.join, filtered_.value_table);
        do block.add(queries[next++]);
        while (next < queries.size() && SubQueryMessages<Value>::bytes(filtered_.join, block) + more <= block_memory);
        std::vector<std::vector<SpectrumFilters>> filters;
        for (size_t t = 0; t < filtered_.tables(); t++)
            filters.push_back(filters_of(filtered_.filters[t], block.table(t)));
        blocks.push_back({std::move(block), std::move(filters)});
    }
    return blocks;
}

FilteredSketch::Sketch FilteredSketch::hash_rows(const Selection& selection, const AliveGroups& alive, uint64_t size,
                                                 uint64_t seed) const {
    MemoryBudget& memory = filtered_.context.memory();
    const uint32_t k = TensorSketch::checked_size(size);
    Sketch sketch{Frequencies(k), RootsOfUnity(k, filtered_.context), {}, Buffer<Value>(memory, what_sketch)};
    uint64_t rows = 0;
    for (size_t t = 0; t < filtered_.tables(); t++) {
        const GroupedTable& grouped = filtered_.table(t);
        rows += grouped.rows;
        const SketchHash hash(seed, t);
        Buffer<uint32_t>& buckets = sketch.buckets.emplace_back(memory, what_sketch, grouped.rows, uint32_t{0});
        if (t >= filtered_.join.relations()) continue; // a bag's row follows from those of the tables in it
        filtered_.for_each_alive(alive, t, 20 * grouped.rows, [&](uint64_t g, int) {
            for_each_row(filtered_.selected(selection, t, g), [&](RowId row) {
                const uint64_t name = grouped.content.empty() ? row : grouped.content[row];
                buckets[row] = hash.signed_bucket(name, k);
            });
        });
    }
    if (size <= rows) sketch.powers.resize(size);
    return sketch;
}

void FilteredSketch::pass_messages(const Selection& selection, const AliveGroups& alive, const Block& block,
                                   const Sketch& sketch, uint64_t frequencies) {
    const Value* const powers = sketch.powers.empty() ? nullptr : sketch.powers.data();
    messages_.set(block.queries, alive);
    messages_.send_up(
        {[&](size_t t, uint64_t group, Value* sums, int) {
             std::fill_n(sums, block.queries.table(t).conditions.size(), Spectrum::zero());
             kernels::add_spectra(filtered_.selected(selection, t, group),
                                  {sketch.buckets[t].data(), sketch.roots, frequencies, powers}, block.filters[t],
                                  sums);
         },
         [&](size_t t) { return filtered_.table(t).rows * (10 + 2 * block.queries.table(t).conditions.size()); }});
    messages_.send_down();
}

void FilteredSketch::add_rows(const Selection& selection, const AliveGroups& alive, const Block& block, size_t t,
                              const kernels::SpectrumNorms& out) {
    const uint64_t steps =
        filtered_.table(t).rows * (5 + 2 * block.queries.table(t).conditions.size()) + messages_.steps(t);
    filtered_.for_each_alive(alive, t, steps, [&](uint64_t g, int worker) {
        kernels::add_norms(filtered_.selected(selection, t, g), block.filters[t], messages_.factors(t, g, worker), out);
    });
}

void FilteredSketch::add_norms(const Selection& selection, const std::vector<FilterQuery>& queries, uint64_t size,
                               uint64_t seed, const std::vector<double*>& norms) {
    const AliveGroups alive = filtered_.find_alive(selection);
    const std::vector<Block> blocks = blocks_of(filtered_.relevant(selection, alive, queries));
    Sketch sketch = hash_rows(selection, alive, size, seed);
    std::vector<Buffer<Value>> partial; // by table: the sums of the queries so far, where there are several blocks
    for (size_t t = 0; t < norms.size() && blocks.size() > 1; t++)
        partial.emplace_back(filtered_.context.memory(), what_sketch, norms[t] ? filtered_.table(t).rows : 0);
    for (uint64_t block = 0; block < sketch.frequencies.blocks() && !blocks.empty(); block++) {
        filtered_.context.progress("sketching", block, sketch.frequencies.blocks());
        for_ranges(filtered_.team, sketch.powers.size(), 20 * sketch.powers.size(),
                   [&](uint64_t begin, uint64_t end, int) {
                       for (uint64_t bucket = begin; bucket < end; bucket++)
                           sketch.powers[bucket] = sketch.roots.powers(static_cast<uint32_t>(bucket), block, 1);
                   });
        kernels::SpectrumNorms out{};
        for (size_t i = 0; i < Spectrum::width; i++)
            out.frequency_weights[i] =
                sketch.frequencies.weight(Frequencies::first(block) + i) / static_cast<double>(size);
        for (size_t b = 0; b < blocks.size(); b++) {
            pass_messages(selection, alive, blocks[b], sketch, block);
            for (size_t t = 0; t < norms.size(); t++) {
                if (!norms[t]) continue;
                out.norms = norms[t];
                out.partial = b == 0 ? nullptr : partial[t].data();
                out.partial_sums = b + 1 == blocks.size() ? nullptr : partial[t].data();
                add_rows(selection, alive, blocks[b], t, out);
            }
        }
    }
}

// A row has its bucket, and a value where there are several blocks of queries; a number of the sketch, a root of unity.
uint64_t FilteredSketch::bytes(const GroupedJoin& join, uint64_t size, uint64_t queries) {
    uint64_t rows = 0;
    for (const GroupedTable& table : join.tables()) rows += table.rows;
    const uint64_t query = SubQueryMessages<Value>::bytes_per_query(join);
    const bool fits = queries <= block_memory / query;
    const uint64_t messages = fits ? queries * query : std::max(query, block_memory);
    return messages + rows * (sizeof(uint32_t) + (fits ? 0 : sizeof(Value))) + size * 2 * sizeof(double) +
           std::min(size, rows) * sizeof(Value);
}

} // namespace btml::relational
