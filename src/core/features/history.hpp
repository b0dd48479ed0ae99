// The rows of one thing in the order of their times, and what they amount to before a moment, in windows of any
// lengths.
//
// Sums of blocks of rows are kept in a binary tree, so that a window takes time in proportion to the logarithm of its
// rows, and no sum ever has a row subtracted: a far value leaves no trace in windows without it.
#pragma once

#include "core/base/buffer.hpp"
#include "core/features/aggregate.hpp"

#include <unordered_map>
#include <vector>

namespace btml::features {

// A feature as History computes it.
struct Request {
    Aggregate aggregate;
    int column = -1; // of the rows' numbers; −1 for an aggregate of rows
    int window = 0;
};

// Reads requests such as "mean 2 1": the aggregate, the number of the column and that of the window, both from 1, the
// column 0 for an aggregate of rows. Error invalid_argument.
Request parse_request(std::string_view text);

// Sums of consecutive rows with a value.
struct RowSums {
    double count = 0, sum = 0, squares = 0; // squares: of the differences from the mean
    double min = 0, max = 0;
    double time = 0, time_squares = 0, products = 0; // mean time in days, and centred sums with it
    int64_t first = -1, last = -1, previous = -1;    // rows, −1: none
};

class History {
  public:
    History(std::vector<Request> requests, MemoryBudget& memory);

    // Forgets the rows: another thing comes.
    void clear();
    // Adds a row, no earlier than those before it. time: in microseconds, min_time for a row that is always past.
    // numbers: NULL and NaN for what is missing. Of rows of one time a column's greatest value is its last. Error
    // invalid_argument for another number of numbers than before.
    void add(int64_t time, std::span<const double> numbers);
    // Computes the features as of a time from all rows so far. since: of each window, the time at which it begins; rows
    // of that time are in it. NULL for what cannot be known. Error invalid_argument for a request of a window or column
    // that is not there.
    void features(int64_t time, std::span<const int64_t> since, std::span<double> result);

    size_t feature_count() const { return requests_.size(); }
    uint64_t rows() const { return times_.size(); }

    static constexpr int64_t min_time = std::numeric_limits<int64_t>::min();

  private:
    static constexpr size_t block_rows = 16;

    struct Column {
        explicit Column(MemoryBudget& memory);

        Buffer<double> values;
        Buffer<int64_t> last_known;          // by row: the last one with a value so far, −1: none
        std::vector<Buffer<RowSums>> levels; // of blocks of 16 rows, 32, 64 …
        // For the number of distinct values: the row in which each value was last, and a Fenwick tree of marks at these
        // rows.
        std::unordered_map<double, uint64_t> last_row;
        Reservation last_row_memory;
        Buffer<int64_t> marks;
    };

    void make_columns(size_t count);
    void settle();
    void append(int64_t time, const double* numbers);
    int64_t last_time() const { return times_[times_.size() - 1]; }
    double days(int64_t time) const;
    RowSums sums_of_rows(const Column& column, size_t begin, size_t end) const;
    RowSums sums(const Column& column, size_t begin, size_t end) const;
    void close_block(Column& column);
    void mark_distinct(Column& column, double value);
    static int64_t marks_before(const Column& column, size_t row);
    void fill_windows(size_t c);
    double feature(const Request& request, int64_t time) const;
    double of_rows(const Request& request, int64_t time) const;
    double slope(const RowSums& sums) const;
    double of_values(const Request& request, const RowSums& sums) const;

    std::vector<Request> requests_;
    std::vector<bool> summed_, distinct_; // by column: whether a request needs it
    MemoryBudget& memory_;
    Buffer<int64_t> times_;
    Buffer<double> waiting_; // numbers of the rows of the latest time, row by row, until a later one comes
    int64_t waiting_time_ = 0;
    std::vector<double> sorted_; // one column of them
    size_t timeless_ = 0;        // number of rows that are always past, which come first
    std::vector<Column> columns_;
    std::vector<size_t> starts_, by_start_; // of the windows: first rows, and their numbers, the shortest first
    std::vector<Buffer<RowSums>> windows_;  // by column and window
};

} // namespace btml::features
