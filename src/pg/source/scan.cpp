#include "pg/source/scan.hpp"

#include "pg/source/query_rows.hpp"

namespace btml::pg {

namespace {

constexpr uint64_t rows_of_fetch = 1024; // for which room is made at once

static_assert(relational::null_key == relational::DataColumn::null_code);

void append(const ColumnSink& sink, Datum value, bool null, NumberColumn& column) {
    if (sink.numbers)
        sink.numbers->append_reserved(null ? null_number : to_number(value, sink.number, &column, sink.time_cast));
    else
        sink.codes->append_reserved(null ? relational::null_key : sink.dictionary->number(value, sink.type));
}

class Columns : public RowSink {
  public:
    Columns(std::span<const ColumnSink> sinks, KeptRows* kept, const char* relation, const MemoryBudget& budget)
        : sinks_(sinks), kept_(kept), relation_(relation), budget_(budget) {
        for (const ColumnSink& sink : sinks_) columns_.push_back({sink.name});
    }

    void expect(uint64_t rows) override { expected_rows_ = rows; }

    void add(const Datum* values, const bool* nulls) override {
        if (rows_ % rows_of_fetch == 0) reserve();
        for (size_t i = 0; i < sinks_.size(); i++) {
            const ColumnSink& sink = sinks_[i];
            append(sink, values[sink.position], nulls[sink.position], columns_[i]);
        }
        if (kept_) kept_->add(values, nulls);
        if (++rows_ > relational::max_rows)
            throw Error(ErrorCode::limit_exceeded,
                        format("\"%s\" has more rows than the %" PRIu64 " that a table of a join may have", relation_,
                               relational::max_rows));
    }

    void tell_of_rounded() const {
        for (const NumberColumn& column : columns_) notice_rounded(column);
    }

  private:
    // Makes room for a batch of rows; for all that are expected when they are the first, unless that would take much of
    // the budget: the planner may be wrong.
    void reserve() {
        uint64_t rows = rows_of_fetch;
        if (rows_ == 0) {
            const uint64_t affordable = budget_.left() / 4 / sizeof(double) / (sinks_.size() + 1);
            rows = std::max(rows, std::min(expected_rows_ + rows_of_fetch, affordable));
        }
        for (const ColumnSink& sink : sinks_) {
            if (sink.numbers)
                sink.numbers->reserve(sink.numbers->size() + rows);
            else
                sink.codes->reserve(sink.codes->size() + rows);
        }
    }

    std::span<const ColumnSink> sinks_;
    std::vector<NumberColumn> columns_; // one for each sink
    KeptRows* kept_;
    const char* relation_;
    const MemoryBudget& budget_;
    uint64_t rows_ = 0, expected_rows_ = 0;
};

} // namespace

uint64_t scan(const Query* query, const char* sql, const char* relation, const std::vector<ColumnSink>& sinks,
              KeptRows* kept, RunContext& context) {
    Columns columns(sinks, kept, relation, context.memory());
    const uint64_t rows = run_query(query, sql, columns, "reading tables", context);
    columns.tell_of_rounded();
    return rows;
}

} // namespace btml::pg
