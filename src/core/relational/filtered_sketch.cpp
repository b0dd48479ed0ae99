#include "core/relational/filtered_sketch.hpp"

#include "core/relational/tensor_sketch.hpp"

#include <cmath>

namespace btml::relational {

namespace {

constexpr const char* what = "a sketch of the rows of a join";
constexpr uint64_t groups_per_poll = 256;

// The numbers of the selected rows of one table, and their keys on its edges: `key_of(edge)` is that edge's attribute.
Table selected_table(const GroupedTable& grouped, const RowSubset& subset, const double* weights,
                     const std::vector<int>& attributes, RowBlocks& blocks, MemoryBudget& memory) {
    Table table;
    for (const int attribute : attributes) table.keys.push_back({attribute, Buffer<Key>(memory, what)});
    Buffer<RowId> rows(memory, what);
    const auto place = [&](uint64_t group, RowId row) {
        if (weights && weights[row] == 0) return;
        rows.push_back(row);
        for (size_t e = 0; e < grouped.edges.size(); e++) table.keys[e].values.push_back(grouped.edges[e].key[group]);
    };
    blocks.run(
        grouped.groups(),
        [&](uint64_t begin, uint64_t end) {
            for (uint64_t g = begin; g < end; g++) {
                if (subset.all)
                    for (RowId row = grouped.first[g]; row < grouped.first[g + 1]; row++) place(g, row);
                else
                    for (RowId i = subset.first[g]; i < subset.first[g + 1]; i++) place(g, subset.rows[i]);
            }
        },
        groups_per_poll);
    table.rows = rows.size();
    table.columns.push_back({"row", DataColumn::Kind::category, Buffer<double>(memory, what), std::move(rows), {}});
    return table;
}

// An attribute for each edge of the join tree, named by its lower end.
Join selected_join(const GroupedJoin& join, const Selection& selection, RunContext& context) {
    RowBlocks blocks(context, "preparing a sketch", 0);
    std::vector<Table> tables;
    for (size_t t = 0; t < join.tables().size(); t++) {
        const GroupedTable& grouped = join.tables()[t];
        const int number = static_cast<int>(t);
        std::vector<int> attributes;
        for (size_t e = 0; e < grouped.edges.size(); e++) // the first one leads to the parent, but for the root
            attributes.push_back(e == 0 && number != join.order()[0] ? number : grouped.edges[e].neighbour);
        tables.push_back(
            selected_table(grouped, *selection.rows[t], selection.weights[t], attributes, blocks, context.memory()));
        tables.back().name = format("%d", number);
    }
    return {std::move(tables), {}, context};
}

} // namespace

class FilteredSketch::Vector {
  public:
    explicit Vector(const FilteredSketch& sketch) : sketch_(sketch) {}

    size_t terms() const { return sketch_.queries_.size(); }
    double coefficient(size_t q) const { return sketch_.queries_[q].coefficient; }
    template <class Body>
    void visit(size_t q, int table, Body&& body) const {
        const auto t = static_cast<size_t>(table);
        const FilterQuery& query = sketch_.queries_[q];
        const bool with_value = query.power > 0 && table == sketch_.value_table_;
        const double* const factors = with_value ? sketch_.values_.data() : sketch_.weights_[t].data();
        if (query.filters[t] < 0) {
            body([factors](RowId row) { return factors[row]; });
        } else {
            const auto filter = static_cast<size_t>(query.filters[t]);
            const uint64_t* const word = sketch_.filters_[t].word(filter / 64);
            const RowId* const rows = sketch_.rows_of(table).data();
            const auto bit = filter % 64;
            body([=](RowId row) { return (word[rows[row]] >> bit & 1) != 0 ? factors[row] : 0; });
        }
    }

  private:
    const FilteredSketch& sketch_;
};

FilteredSketch::FilteredSketch(const GroupedJoin& join, const std::vector<RowFilters>& filters, int value_table,
                               const Buffer<double>& values, const Selection& selection,
                               std::vector<FilterQuery> queries, RunContext& context)
    : grouped_(join),
      filters_(filters),
      value_table_(value_table),
      queries_(std::move(queries)),
      context_(context),
      join_(selected_join(join, selection, context)),
      values_(context.memory(), what) {
    for (int t = 0; t < static_cast<int>(join.tables().size()); t++) {
        const Buffer<RowId>& rows = rows_of(t);
        const double* const weights = selection.weights[static_cast<size_t>(t)];
        Buffer<double>& roots = weights_.emplace_back(context.memory(), what, rows.size(), 1.0);
        for (size_t i = 0; weights && i < rows.size(); i++) roots[i] = std::sqrt(weights[rows[i]]);
        if (t != value_table) continue;
        values_.resize(rows.size());
        for (size_t i = 0; i < rows.size(); i++) values_[i] = roots[i] * values[rows[i]];
    }
}

const Buffer<RowId>& FilteredSketch::rows_of(int table) const {
    return join_.tables()[static_cast<size_t>(table)].columns[0].codes;
}

Buffer<double> FilteredSketch::squared_norms(int table, uint64_t size, uint64_t seed) const {
    Buffer<double> norms(context_.memory(), what, grouped_.tables()[static_cast<size_t>(table)].rows, 0.0);
    const Buffer<RowId>& rows = rows_of(table);
    if (rows.empty()) return norms;
    TensorSketch sketch(join_, size, seed, table, context_);
    const Buffer<double> selected = sketch.squared_norm_by_row(Vector(*this));
    for (size_t i = 0; i < rows.size(); i++) norms[rows[i]] = selected[i];
    return norms;
}

// By row: its number, weight and value, and in the sketch its group, bucket and sign; on each edge four keys. By number
// of the sketch: a root of unity. By thread: a block of frequencies for each key and twice for each row of a table.
uint64_t FilteredSketch::bytes(const GroupedJoin& join, uint64_t size, int threads) {
    uint64_t rows = 0, edges = 0, keys = 0, most_rows = 0;
    for (const GroupedTable& table : join.tables()) {
        rows += table.rows;
        most_rows = std::max(most_rows, table.rows);
        for (const GroupedTable::Edge& edge : table.edges) {
            edges += table.rows;
            keys += edge.keys;
        }
    }
    const uint64_t by_thread = (keys + 2 * most_rows) * sizeof(Spectrum::Value) + most_rows * sizeof(double);
    return rows * (sizeof(RowId) + 2 * sizeof(double) + 4 * sizeof(RowId)) + edges * 4 * sizeof(Key) +
           2 * most_rows * sizeof(double) + size * 2 * sizeof(double) + static_cast<uint64_t>(threads) * by_thread;
}

} // namespace btml::relational
