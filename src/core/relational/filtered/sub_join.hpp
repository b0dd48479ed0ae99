// The sub-join of the tables that conditions touch, with a number for each of its cells.
//
// Where a number of a row of the join depends on some tables' rows only, and there on no more than which conditions
// they meet, all rows of the join that are made of the same classes of those tables' rows (see RowClasses) have it in
// common: a cell. Tables between those in the join tree are of the sub-join as well; one without conditions has a class
// for each combination of keys. The cells are held. How often each occurs in the join comes by messages from the other
// tables (SubJoinSums).
//
// The number is the value of a row of one table, less what is subtracted from the rows of leaves. Rows of a class may
// have different values: the cell has the number of its class's centre, an integer as the values are.
#pragma once

#include "core/relational/filtered/row_classes.hpp"

#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

namespace btml::relational {

class SubJoin {
  public:
    // The rows of the join that are made of these rows of each table.
    struct Leaf {
        std::vector<const RowSubset*> rows;
        double value;
    };
    struct Limits {
        uint64_t cells, bytes;
    };

    // Starts with the table of the values alone. Filters are not looked at. weights: of that table's rows, null: 1
    // each; rows without weight have no say in a class's centre, as their values may be anything.
    SubJoin(const FilteredJoin& filtered, const double* weights)
        : filtered_(filtered),
          weights_(weights),
          held_{filtered.value_table},
          classes_(filtered.tables()),
          residuals_(filtered.context.memory(), what_residuals),
          centers_(filtered.context.memory(), what_residuals) {
        auto& classes = classes_[filtered_.value_table];
        classes =
            std::make_unique<RowClasses>(filtered_.table(filtered_.value_table), filtered_.team, filtered_.context);
        centers_ = find_centers();
        Buffer<uint32_t>& cells = columns_.emplace_back(filtered_.context.memory(), what_residuals, classes->count());
        std::iota(cells.begin(), cells.end(), 0);
        residuals_.resize(cells.size());
        std::copy(centers_.begin(), centers_.end(), residuals_.begin());
    }

    // Subtracts each leaf's value from its rows; no two leaves have a row of the join in common. Tells rows apart and
    // takes in tables as the leaves' conditions ask for; false where that would pass the limits, and then the sub-join
    // is of no use any more.
    bool subtract(const std::vector<Leaf>& leaves, const Limits& limits) {
        if (leaves.empty()) return true;
        const size_t words = (leaves.size() + 63) / 64;
        std::vector<std::optional<LeafBits>> bits(filtered_.tables());
        uint64_t of_bits = 0;
        for (size_t t = 0; t < filtered_.tables(); t++) {
            if (std::all_of(leaves.begin(), leaves.end(), [&](const Leaf& leaf) { return leaf.rows[t]->all; }))
                continue;
            for (const auto& [table, edge] : path_to(t))
                if (!take_in(table, edge, limits)) return false;
            const uint64_t scratch = RowClasses::scratch_bytes(filtered_.table(t).rows, words);
            if (of_bits + scratch + bytes() > limits.bytes) return false;
            RowClasses::Refinement refined = classes_[t]->refine(bits_of_rows(leaves, t));
            if (!refine(t, refined, limits)) return false;
            of_bits += refined.leaves.bits.size() * sizeof(uint64_t);
            bits[t] = std::move(refined.leaves);
        }
        subtract_values(leaves, bits);
        return true;
    }

    uint64_t cells() const { return residuals_.size(); }
    // The tables whose classes make cells, that of the values first.
    const std::vector<size_t>& held() const { return held_; }
    bool holds(size_t table) const { return classes_[table] != nullptr; }
    const RowClasses& classes(size_t table) const { return *classes_[table]; }
    // By cell, for each table of held().
    const std::vector<Buffer<uint32_t>>& columns() const { return columns_; }
    const Buffer<double>& residuals() const { return residuals_; }
    // By class of the table of the values: what values residuals() has.
    const Buffer<double>& centers() const { return centers_; }
    const FilteredJoin& filtered() const { return filtered_; }

    // What is held, and what SubJoinSums takes beside it.
    uint64_t bytes() const { return bytes(cells(), held_.size()); }

  private:
    static constexpr const char* what_residuals = "residuals by cell of a sub-join";

    // Which classes stand in a cell in the place of one: items[first[i]] … items[first[i + 1] − 1], or these numbers
    // themselves where there are no items.
    struct Choices {
        const uint32_t *first, *items;

        uint64_t size(uint64_t i) const { return first[i + 1] - first[i]; }
        uint32_t item(uint64_t i, uint64_t n) const {
            const auto at = static_cast<uint32_t>(first[i] + n);
            return items ? items[at] : at;
        }
    };

    uint64_t bytes(uint64_t cells, size_t tables) const {
        constexpr uint64_t of_class = 128, of_key = 48;
        uint64_t bytes = cells * (sizeof(double) + tables * sizeof(uint32_t));
        for (size_t t = 0; t < filtered_.tables(); t++) {
            if (holds(t)) bytes += classes_[t]->bytes() + of_class * classes_[t]->count();
            bytes += sizeof(double) * filtered_.table(t).groups();
            for (const GroupedTable::Edge& edge : filtered_.table(t).edges) bytes += of_key * edge.keys;
        }
        return bytes;
    }
    bool allows(const Limits& limits, uint64_t cells, size_t tables) const {
        return cells <= limits.cells && bytes(cells, tables) <= limits.bytes;
    }
    // The tables that are not held on the way to one of them, each with its edge to the one before, the nearest first.
    std::vector<std::pair<size_t, size_t>> path_to(size_t table) const {
        std::vector<std::pair<size_t, size_t>> steps; // by table that was reached: itself and the edge that leads back
        std::vector<size_t> from(filtered_.tables(), SIZE_MAX);
        for (const size_t t : held_) steps.emplace_back(t, SIZE_MAX);
        for (size_t i = 0; i < steps.size(); i++) {
            const GroupedTable& reached = filtered_.table(steps[i].first);
            for (size_t e = 0; e < reached.edges.size(); e++) {
                const GroupedTable::Edge& edge = reached.edges[e];
                if (e == steps[i].second || holds(edge.neighbour)) continue;
                from[edge.neighbour] = i;
                steps.emplace_back(edge.neighbour, edge.reverse);
            }
        }
        std::vector<std::pair<size_t, size_t>> path;
        for (size_t t = table; !holds(t); t = steps[from[t]].first) {
            const auto step =
                std::find_if(steps.begin(), steps.end(), [&](const auto& other) { return other.first == t; });
            path.insert(path.begin(), *step);
        }
        return path;
    }
    // Puts a class of the table into each cell, for each combination of its keys that the cell meets; the edge leads to
    // a table that is held.
    bool take_in(size_t t, size_t e, const Limits& limits) {
        MemoryBudget& memory = filtered_.context.memory();
        const GroupedTable& table = filtered_.table(t);
        const GroupedTable::Edge& edge = table.edges[e];
        const GroupedTable::Edge& back = filtered_.table(edge.neighbour).edges[edge.reverse];
        classes_[t] = std::make_unique<RowClasses>(table, filtered_.team, filtered_.context);
        Buffer<uint32_t> first(memory, what_residuals), items(memory, what_residuals);
        filtered_.context.for_each(edge.keys, 2, [&](uint64_t key) {
            first.push_back(static_cast<uint32_t>(items.size()));
            for (RowId i = edge.first[key]; i < edge.first[key + 1]; i++)
                if (const auto run = classes_[t]->run_from(edge.group(i))) items.push_back(static_cast<uint32_t>(*run));
        });
        first.push_back(static_cast<uint32_t>(items.size()));
        const size_t met = column_of(edge.neighbour);
        const RowClasses& met_classes = *classes_[edge.neighbour];
        held_.push_back(t);
        columns_.emplace_back(memory, what_residuals);
        return multiply(
            {first.data(), items.data()},
            [&](uint64_t cell) { return back.key[met_classes.group(columns_[met][cell])]; }, held_.size() - 1, limits);
    }
    LeafBits bits_of_rows(const std::vector<Leaf>& leaves, size_t t) const {
        const size_t words = (leaves.size() + 63) / 64;
        LeafBits result{
            words, Buffer<uint64_t>(filtered_.context.memory(), what_residuals, filtered_.table(t).rows * words, 0)};
        for (size_t l = 0; l < leaves.size(); l++) {
            const RowSubset& rows = *leaves[l].rows[t];
            const uint64_t count = rows.all ? filtered_.table(t).rows : rows.rows.size();
            filtered_.context.for_each(count, 1, [&](uint64_t i) {
                result.of(rows.all ? i : rows.rows[i])[l / 64] |= uint64_t{1} << (l % 64);
            });
        }
        return result;
    }
    bool refine(size_t t, const RowClasses::Refinement& refined, const Limits& limits) {
        if (!refined.is_finer) return true;
        const size_t column = column_of(t);
        if (!multiply(
                {refined.first.data(), nullptr}, [&](uint64_t cell) { return columns_[column][cell]; }, column, limits))
            return false;
        if (t == filtered_.value_table) move_centers(refined.first);
        return true;
    }
    // Makes several cells of each that has several choices for what stands in a column.
    template <class At>
    bool multiply(const Choices& choices, const At& at, size_t column, const Limits& limits) {
        uint64_t count = 0;
        filtered_.context.for_each(cells(), 1, [&](uint64_t cell) { count += choices.size(at(cell)); });
        if (!allows(limits, count, held_.size())) return false;
        write(choices, at, column, count);
        return true;
    }
    // From the last to the first, so that none is overwritten before it is read.
    template <class At>
    void write(const Choices& choices, const At& at, size_t column, uint64_t count) {
        const uint64_t before = cells();
        for (Buffer<uint32_t>& of_table : columns_) of_table.resize(count);
        residuals_.resize(count);
        uint64_t to = count;
        filtered_.context.for_each(before, 2 * columns_.size(), [&](uint64_t i) {
            const uint64_t cell = before - 1 - i, place = at(cell), n = choices.size(place);
            to -= n;
            for (size_t c = 0; c < columns_.size(); c++)
                if (c != column) std::fill_n(columns_[c].data() + to, n, uint32_t{columns_[c][cell]});
            std::fill_n(residuals_.data() + to, n, double{residuals_[cell]});
            for (uint64_t k = 0; k < n; k++) columns_[column][to + k] = choices.item(place, k);
        });
    }
    // Whole numbers near the means, so that differences from them are exact.
    Buffer<double> find_centers() const {
        const RowClasses& classes = *classes_[filtered_.value_table];
        const GroupedTable& table = filtered_.table(filtered_.value_table);
        Buffer<double> centers(filtered_.context.memory(), what_residuals, classes.count(), 0.0);
        Buffer<uint32_t> counts(filtered_.context.memory(), what_residuals, classes.count(), 0);
        filtered_.context.for_each(table.rows, 1, [&](uint64_t row) {
            if (weights_ && weights_[row] == 0) return;
            const uint32_t number = classes.of(static_cast<RowId>(row));
            centers[number] += filtered_.values[row];
            counts[number]++;
        });
        filtered_.context.for_each(centers.size(), 1, [&](uint64_t i) {
            if (counts[i] > 0) centers[i] = std::nearbyint(centers[i] / counts[i]);
        });
        return centers;
    }
    void move_centers(const Buffer<uint32_t>& first) {
        Buffer<double> moved = find_centers(), shift(filtered_.context.memory(), what_residuals, moved.size());
        filtered_.context.for_each(centers_.size(), 1, [&](uint64_t old) {
            for (uint32_t i = first[old]; i < first[old + 1]; i++) shift[i] = moved[i] - centers_[old];
        });
        centers_ = std::move(moved);
        for_ranges(filtered_.team, cells(), 2 * cells(), [&](uint64_t begin, uint64_t end, int) {
            for (uint64_t i = begin; i < end; i++) residuals_[i] += shift[columns_[0][i]];
        });
    }
    // A cell's classes all pass one leaf, or none.
    void subtract_values(const std::vector<Leaf>& leaves, const std::vector<std::optional<LeafBits>>& bits) {
        const size_t words = (leaves.size() + 63) / 64;
        std::vector<std::pair<const LeafBits*, const uint32_t*>> of_column;
        for (size_t c = 0; c < held_.size(); c++)
            if (bits[held_[c]]) of_column.emplace_back(&*bits[held_[c]], columns_[c].data());
        for_ranges(filtered_.team, cells(), cells() * (2 + 3 * of_column.size() * words),
                   [&](uint64_t begin, uint64_t end, int) {
                       for (uint64_t cell = begin; cell < end; cell++)
                           for (size_t w = 0; w < words; w++) {
                               uint64_t passed = ~uint64_t{0};
                               for (const auto& [of_class, column] : of_column) passed &= of_class->of(column[cell])[w];
                               if (of_column.empty()) passed = 1; // one leaf without conditions
                               if (passed == 0) continue;
                               residuals_[cell] -= leaves[64 * w + static_cast<size_t>(std::countr_zero(passed))].value;
                               break;
                           }
                   });
    }
    size_t column_of(size_t table) const {
        return static_cast<size_t>(std::find(held_.begin(), held_.end(), table) - held_.begin());
    }

    const FilteredJoin filtered_;
    const double* const weights_;
    std::vector<size_t> held_;
    std::vector<std::unique_ptr<RowClasses>> classes_; // by table; null where it is not held
    std::vector<Buffer<uint32_t>> columns_;
    Buffer<double> residuals_; // by cell
    Buffer<double> centers_;
};

} // namespace btml::relational
