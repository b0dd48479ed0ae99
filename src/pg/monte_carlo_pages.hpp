// Queries of one plain table over a random sample of its pages: TABLESAMPLE SYSTEM, put into a query tree.
#pragma once

#include "pg/source/source.hpp"
#include "pg/values/values.hpp"

namespace btml::pg {

class PageSample {
  public:
    // Returns nothing unless the source of rows is a SELECT from one plain table without children, with at most a
    // WHERE.
    static std::optional<PageSample> of(const Source& source);

    uint64_t pages() const { return pages_; }
    // The largest magnitude among the values that the planner's statistics (pg_stats) hold of the column summed; 0
    // where they hold none, or an expression is summed. The query may leave out the row that has it.
    double largest_known() const;
    // Totals of the pages drawn, of the first output column over the rows that the query gives; NULLs are skipped.
    // The same seed and a larger fraction draw the same pages and more. Error out_of_range for NaN and infinities.
    Buffer<double> totals(double fraction, uint64_t seed, uint64_t& rows, RunContext& context) const;

  private:
    PageSample(const Query* query, const Source& source, Oid table);

    const Query* query_;
    const char* sql_;
    const char* column_;
    NumberKind kind_;
    uint64_t pages_;
};

// A finite number, or error out_of_range naming the column; 0 for NULL.
double summand(Datum value, bool null, NumberKind kind, NumberColumn& column);

} // namespace btml::pg
