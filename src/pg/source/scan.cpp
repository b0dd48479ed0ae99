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
    Columns(std::span<const ColumnSink> sinks, KeptRows* kept, const char* relation, RunContext& context)
        : sinks_(sinks), kept_(kept), relation_(relation), context_(context) {
        for (const ColumnSink& sink : sinks_) columns_.push_back({sink.name});
    }

    void expect(uint64_t rows) override { expected_rows_ = rows; }

    void add(const Datum* values, const bool* nulls) override {
        if (rows_ % rows_of_fetch == 0) reserve();
        for (size_t i = 0; i < sinks_.size(); i++) {
            const ColumnSink& sink = sinks_[i];
            if (sink.vector)
                append_vector(*sink.vector, values[sink.position], nulls[sink.position], columns_[i]);
            else
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
    // Returns for how many rows to make room in so many columns when the first comes: for all that are expected, unless
    // that would take much of the budget. The planner may be wrong.
    uint64_t first_room(size_t columns) const {
        const uint64_t affordable = context_.memory().left() / 4 / sizeof(double) / (columns + 1);
        return std::max(rows_of_fetch, std::min(expected_rows_ + rows_of_fetch, affordable));
    }

    // Makes room for a batch of rows.
    void reserve() {
        const uint64_t rows = rows_ == 0 ? first_room(sinks_.size()) : rows_of_fetch;
        for (const ColumnSink& sink : sinks_) {
            if (sink.vector)
                for (Buffer<double>& element : sink.vector->elements) element.reserve(element.size() + rows);
            else if (sink.numbers)
                sink.numbers->reserve(sink.numbers->size() + rows);
            else
                sink.codes->reserve(sink.codes->size() + rows);
        }
    }

    void append_vector(VectorColumn& vector, Datum value, bool null, NumberColumn& column) {
        if (null) {
            for (Buffer<double>& element : vector.elements) element.append_reserved(null_number);
            return;
        }
        read_vector(vector.rule, value, vector.length, vector.by_model, numbers_, column);
        if (vector.elements.empty()) begin(vector, numbers_.size());
        for (size_t i = 0; i < numbers_.size(); i++) vector.elements[i].append_reserved(numbers_[i]);
    }

    // In all rows before, the vector is NULL.
    void begin(VectorColumn& vector, size_t length) {
        vector.length = length;
        const uint64_t rows = std::max(rows_ + rows_of_fetch, first_room(sinks_.size() + length));
        vector.elements.reserve(length);
        for (size_t i = 0; i < length; i++) {
            Buffer<double>& element = vector.elements.emplace_back(context_.memory(), "the elements of arrays");
            element.reserve(rows);
            context_.for_each(rows_, 1, [&](uint64_t) { element.append_reserved(null_number); });
        }
    }

    std::span<const ColumnSink> sinks_;
    std::vector<NumberColumn> columns_; // one for each sink
    KeptRows* kept_;
    const char* relation_;
    RunContext& context_;
    uint64_t rows_ = 0, expected_rows_ = 0;
    std::vector<double> numbers_; // of the last array
};

} // namespace

uint64_t scan(const Query* query, const char* sql, const char* relation, const std::vector<ColumnSink>& sinks,
              KeptRows* kept, RunContext& context) {
    Columns columns(sinks, kept, relation, context);
    const uint64_t rows = run_query(query, sql, columns, "reading tables", context);
    columns.tell_of_rounded();
    return rows;
}

} // namespace btml::pg
