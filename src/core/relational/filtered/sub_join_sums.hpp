// Sums over a join of numbers that the cells of a sub-join have, for every row of every table: the cells give the
// sub-join's tables their sums, and messages of inside-out pass on what they come to for the other tables.
//
// A step for each cell, for each row and for each key; none for the conditions that made the cells.
#pragma once

#include "core/relational/filtered/sub_join.hpp"

namespace btml::relational {

class SubJoinSums {
  public:
    // The number of some rows of the join, by weight, and what their residuals add up to.
    struct Moments {
        double count = 0, sum = 0, squares = 0;

        Moments& operator+=(const Moments& other) {
            count += other.count;
            sum += other.sum;
            squares += other.squares;
            return *this;
        }
        friend Moments operator*(double factor, const Moments& m) {
            return {factor * m.count, factor * m.sum, factor * m.squares};
        }
        // Of pairs of rows whose residuals add up.
        friend Moments operator*(const Moments& a, const Moments& b) {
            return {a.count * b.count, a.count * b.sum + a.sum * b.count,
                    a.count * b.squares + 2 * a.sum * b.sum + a.squares * b.count};
        }
    };
    // Of a table, null where it is not asked for: by row Σ weight, Σ weight · residual, Σ weight · residual².
    struct Target {
        double *counts, *sums, *squares;

        bool is_asked() const { return counts || sums || squares; }
        void write(RowId row, const Moments& moments) const {
            if (counts) counts[row] = moments.count;
            if (sums) sums[row] = moments.sum;
            if (squares) squares[row] = moments.squares;
        }
    };

    // The sub-join must outlive it.
    explicit SubJoinSums(const SubJoin& sub_join);

    // Looks at the sub-join's tables and cells again, after they have changed.
    void update();
    // Writes the moments of the selected rows, over the selected rows of the join that each is part of. to: by table.
    void write(const Selection& selection, const std::vector<Target>& to);
    Moments total(const Selection& selection);

  private:
    struct OfTable {
        explicit OfTable(MemoryBudget& memory);

        bool is_asked = false, is_asked_below = false; // itself; tables away from the sub-join
        size_t toward = 0;                             // of those that are not held, the edge to the sub-join
        std::vector<size_t> away;                      // edges to tables that are not held, away from the sub-join
        Buffer<double> weights;                        // of the selected rows, by class or, where not held, by group
        Buffer<Moments> moments;                       // of the selected rows of the table of the values
        Buffer<double> factors; // by class: weights times the messages of tables that are not held; of the table of the
                                // values the messages alone
        Buffer<Moments> found;  // by class: of the other tables
        Buffer<double> up;      // of those that are not held, by key of the edge
        Buffer<Moments> down;   // of those that are not held, by key of the edge
    };
    // Cells that one thread sums up at a time, and where it does so.
    struct Chunk {
        struct Classes {
            uint32_t first, last;
            uint64_t at; // of partial_

            uint64_t count() const { return first > last ? 0 : uint64_t{last} - first + 1; }
        };
        uint64_t begin, end;
        std::vector<Classes> classes; // by column
    };

    const FilteredJoin& filtered() const { return sub_join_.filtered(); }
    bool is_value_table(size_t t) const { return t == filtered().value_table; }
    bool needs(size_t t) const { return tables_[t].is_asked || tables_[t].is_asked_below; }
    void direct_edges();
    void cut_into_chunks();
    Chunk chunk_of(uint64_t begin, uint64_t end) const;
    static Chunk both(const Chunk& a, const Chunk& b);
    uint64_t place_sums();
    void ask(const std::vector<Target>& to);

    void weigh_groups(const Selection& selection, size_t table);
    void weigh_classes(const Selection& selection, size_t table);
    double product_from_away(size_t table, uint64_t group, size_t left_out) const;
    void send_up(size_t table);
    void send_all_up(const Selection& selection);
    void find_factors(size_t table);
    void sum_cells();
    void sum_chunk(const Chunk& chunk, RunContext& context);
    void add_chunks(size_t column);
    Moments of_class(size_t table, uint32_t number) const;
    void send_down(size_t table, size_t edge);
    void write_held(const Selection& selection, size_t table, const Target& to);
    void write_other(const Selection& selection, size_t table, const Target& to);

    const SubJoin& sub_join_;
    std::vector<OfTable> tables_;
    std::vector<size_t> others_; // tables that are not held, from the sub-join outwards
    std::vector<Chunk> chunks_;
    Buffer<Moments> partial_; // sums of chunks
    size_t held_ = 0;         // tables of the sub-join at the last update
};

} // namespace btml::relational
