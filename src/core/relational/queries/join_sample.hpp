// Uniform samples without replacement of the rows of a join that is not built.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/join/inside_out.hpp"
#include "core/relational/join/join_rows.hpp"
#include "core/relational/join/row_groups.hpp"

#include <optional>

namespace btml::relational {

// Rows of one table: those whose byte is 1.
struct RowFilter {
    int table;
    RowMask kept;
};

// Numbers the rows of a join from 0, by the contents of the tables' rows: wherever these lie, the same number is the
// same row, up to rows of one content. A row is found by its number in O(log N) a table: the counts of inside-out
// messages say how many rows of the join each row of a table leads to (Zhao, Christensen, Li, Hu, Yi: Random Sampling
// over Joins Revisited, SIGMOD 2018).
class JoinSampler {
  public:
    // Counts the rows; with a filter those that its table's kept rows are part of. The tables must have contents (error
    // internal), and the join must outlive the sampler. Error out_of_range where there are more than 2^127.
    JoinSampler(const Join& join, std::optional<RowFilter> filter, RunContext& context);

    WideCount count() const { return count_; }

    // The most that drawing n rows holds at one time.
    uint64_t bytes(uint64_t n) const;
    // Every set of n rows with the same probability, in the order of their numbers; all rows where n is larger. The set
    // is a function of contents, n, seed and stream. (Contents are hashes: where two rows of a table differ and theirs
    // do not, of 10 million rows with probability 3e-6, the two are ordered by where they lie, and the set is as
    // uniform.) The bags of a cyclic join have no row ids. Errors limit_exceeded beyond max_rows sampled rows,
    // memory_limit before any work.
    JoinRows draw(uint64_t n, uint64_t seed, uint64_t stream);

  private:
    // φ of the query is 1 for each row, or 0 for one that the filter leaves out.
    struct Kept {
        const std::optional<RowFilter>* filter;

        template <class Body>
        void visit(int table, Body&& body) const {
            if (*filter && (*filter)->table == table)
                body([kept = (*filter)->kept.data()](RowId row) { return WideCount{kept[row]}; });
            else
                body([](RowId) { return WideCounting::one(); });
        }
    };

    RowGroups groups_of(int table) const;
    void sort_by_content(int table, RowGroups& groups, uint64_t group) const;
    // Rows of the join that this row leads to, below it in the tree, for each row above it.
    WideCount rows_of(int table, RowId row) const;
    Buffer<WideCount> count_up(int table, RowGroups& groups, const RowMask& marks) const;
    void place(int table, Buffer<WideCount>& rest, std::vector<Buffer<RowId>>& row_ids, ThreadTeam& team) const;
    const Join& join_;
    const std::optional<RowFilter> filter_;
    RunContext& context_;
    InsideOut<WideCounting, Kept> query_;
    WideCount count_;
};

// Returns the number of a join's rows. Error out_of_range where there are more than 2^127.
WideCount checked_count(WideCount count);

// A uniform set of min(n, count) numbers from 0 to count − 1, ascending.
Buffer<WideCount> draw_ranks(WideCount count, uint64_t n, uint64_t seed, uint64_t stream, RunContext& context);

} // namespace btml::relational
