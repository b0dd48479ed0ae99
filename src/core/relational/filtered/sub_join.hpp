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

#include <memory>

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
    SubJoin(const FilteredJoin& filtered, const double* weights);

    // Subtracts each leaf's value from its rows; no two leaves have a row of the join in common. Tells rows apart and
    // takes in tables as the leaves' conditions ask for; false where that would pass the limits, and then the sub-join
    // is of no use any more.
    bool subtract(const std::vector<Leaf>& leaves, const Limits& limits);

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

    uint64_t bytes(uint64_t cells, size_t tables) const;
    bool allows(const Limits& limits, uint64_t cells, size_t tables) const;
    std::vector<std::pair<size_t, size_t>> path_to(size_t table) const;
    bool take_in(size_t table, size_t edge, const Limits& limits);
    LeafBits bits_of_rows(const std::vector<Leaf>& leaves, size_t table) const;
    bool refine(size_t table, const RowClasses::Refinement& refined, const Limits& limits);
    template <class At>
    bool multiply(const Choices& choices, const At& at, size_t column, const Limits& limits);
    template <class At>
    void write(const Choices& choices, const At& at, size_t column, uint64_t cells);
    Buffer<double> find_centers() const;
    void move_centers(const Buffer<uint32_t>& first);
    void subtract_values(const std::vector<Leaf>& leaves, const std::vector<std::optional<LeafBits>>& bits);
    size_t column_of(size_t table) const;

    const FilteredJoin filtered_;
    const double* const weights_;
    std::vector<size_t> held_;
    std::vector<std::unique_ptr<RowClasses>> classes_; // by table; null where it is not held
    std::vector<Buffer<uint32_t>> columns_;
    Buffer<double> residuals_; // by cell
    Buffer<double> centers_;
};

} // namespace btml::relational
