#include "core/features/history.hpp"

#include "core/numbers/number.hpp"

#include <charconv>
#include <cmath>
#include <numeric>

namespace btml::features {

namespace {

constexpr char what_rows[] = "rows of one thing";
constexpr int max_place = 10'000; // columns and windows are fewer, as a SELECT has no more features

[[noreturn]] void refuse_request(std::string_view text) {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::size(aggregates); i++)
        if (!is_of_one_row(static_cast<Aggregate>(i))) names.emplace_back(aggregates[i].name);
    throw Error(
        ErrorCode::invalid_argument, format("invalid feature \"%.*s\"", static_cast<int>(text.size()), text.data()),
        "It is an aggregate, the number of a column, 0 for none, and the number of a window, as in \"mean 2 1\".",
        "Valid aggregates are " + quoted_list(names) + ".");
}

int take_number(std::string_view& text) {
    int number = 0;
    if (text.empty() || text.front() != ' ') return -1;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (error != std::errc()) return -1;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return number;
}

// Joins sums of rows with those of the rows that follow.
RowSums joined(const RowSums& a, const RowSums& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    RowSums both = {.count = a.count + b.count,
                    .sum = a.sum + b.sum,
                    .min = std::min(a.min, b.min),
                    .max = std::max(a.max, b.max),
                    .first = a.first,
                    .last = b.last,
                    .previous = b.previous >= 0 ? b.previous : a.last};
    const double share = b.count / both.count, weight = a.count * share;
    const double step = b.sum / b.count - a.sum / a.count, time_step = b.time - a.time;
    both.squares = a.squares + b.squares + step * step * weight;
    both.time = a.time + time_step * share;
    both.time_squares = a.time_squares + b.time_squares + time_step * time_step * weight;
    both.products = a.products + b.products + step * time_step * weight;
    return both;
}

// The time 'infinity'.
constexpr int64_t forever = std::numeric_limits<int64_t>::max();

double ratio(double a, double b) {
    const double ratio = a / b;
    return std::isfinite(ratio) ? ratio : null_number;
}

} // namespace

Request parse_request(std::string_view text) {
    std::string_view rest = text;
    const std::string_view name = rest.substr(0, rest.find(' '));
    const std::optional<Aggregate> aggregate = aggregate_named(name);
    rest.remove_prefix(name.size());
    const int column = take_number(rest), window = take_number(rest);
    const bool takes_column = aggregate && facts_of(*aggregate).types != 0;
    const auto is_place = [](int place) { return place >= 1 && place <= max_place; };
    if (!aggregate || is_of_one_row(*aggregate) || !rest.empty() || !is_place(window) ||
        (takes_column ? !is_place(column) : column != 0))
        refuse_request(text);
    return {*aggregate, column - 1, window - 1};
}

History::Column::Column(MemoryBudget& memory)
    : values(memory, what_rows),
      last_known(memory, what_rows),
      last_row_memory(memory, what_rows),
      marks(memory, what_rows) {}

History::History(std::vector<Request> requests, MemoryBudget& memory)
    : requests_(std::move(requests)), memory_(memory), times_(memory, what_rows), waiting_(memory, what_rows) {
    for (const Request& request : requests_) {
        const auto columns = static_cast<size_t>(request.column + 1);
        if (summed_.size() < columns) summed_.resize(columns), distinct_.resize(columns);
        if (request.column < 0) continue;
        (request.aggregate == Aggregate::distinct ? distinct_ : summed_)[static_cast<size_t>(request.column)] = true;
    }
}

void History::clear() {
    times_.resize(0);
    waiting_.resize(0);
    timeless_ = 0;
    for (Column& column : columns_) {
        column.values.resize(0);
        column.last_known.resize(0);
        for (Buffer<RowSums>& level : column.levels) level.resize(0);
        column.marks.resize(0);
        if (column.last_row.empty()) continue;
        column.last_row.clear();
        column.last_row_memory = Reservation(memory_, what_rows);
    }
}

void History::make_columns(size_t count) {
    if (summed_.size() > count)
        throw Error(ErrorCode::invalid_argument,
                    format("a feature is of column %zu, rows have %zu numbers", summed_.size(), count));
    summed_.resize(count);
    distinct_.resize(count);
    columns_.reserve(count);
    while (columns_.size() < count) columns_.emplace_back(memory_);
}

void History::add(int64_t time, std::span<const double> numbers) {
    if (columns_.empty()) make_columns(numbers.size());
    if (numbers.size() != columns_.size())
        throw Error(ErrorCode::invalid_argument,
                    format("a row has %zu numbers, others have %zu", numbers.size(), columns_.size()));
    if (time != waiting_time_) settle();
    waiting_time_ = time;
    waiting_.append(numbers);
    if (numbers.empty()) append(time, nullptr);
}

// Takes the rows that wait in, each column in its own order, so that no column says which row of a time is the last.
void History::settle() {
    const size_t width = columns_.size(), count = width == 0 ? 0 : waiting_.size() / width;
    for (size_t c = 0; c < width && count > 1; c++) {
        sorted_.resize(count);
        for (size_t row = 0; row < count; row++) sorted_[row] = waiting_[row * width + c];
        std::sort(sorted_.begin(), sorted_.end(),
                  [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
        for (size_t row = 0; row < count; row++) waiting_[row * width + c] = sorted_[row];
    }
    for (size_t row = 0; row < count; row++) append(waiting_time_, &waiting_[row * width]);
    waiting_.resize(0);
}

void History::append(int64_t time, const double* numbers) {
    times_.push_back(time);
    if (time == min_time) timeless_ = times_.size();
    for (size_t c = 0; c < columns_.size(); c++) {
        Column& column = columns_[c];
        column.values.push_back(numbers[c] + 0.0); // −0 is 0, so that none is the least by the order of rows
        if (distinct_[c]) mark_distinct(column, numbers[c]);
        if (!summed_[c]) continue;
        const size_t row = times_.size() - 1;
        const int64_t before = row == 0 ? -1 : column.last_known[row - 1];
        column.last_known.push_back(std::isnan(numbers[c]) ? before : static_cast<int64_t>(row));
        if (times_.size() % block_rows == 0) close_block(column);
    }
}

// Returns the time in days since that of the first row that has one.
double History::days(int64_t time) const {
    constexpr double microseconds_a_day = 86'400e6;
    if (time == min_time || timeless_ == times_.size()) return 0;
    return (static_cast<double>(time) - static_cast<double>(times_[timeless_])) / microseconds_a_day;
}

RowSums History::sums_of_rows(const Column& column, size_t begin, size_t end) const {
    RowSums sums;
    double time = 0;
    for (size_t row = begin; row < end; row++) {
        const double value = column.values[row];
        if (std::isnan(value)) continue;
        sums.min = sums.count == 0 ? value : std::min(sums.min, value);
        sums.max = sums.count == 0 ? value : std::max(sums.max, value);
        sums.count++;
        sums.sum += value;
        time += days(times_[row]);
        if (sums.first < 0) sums.first = static_cast<int64_t>(row);
        sums.previous = std::exchange(sums.last, static_cast<int64_t>(row));
    }
    if (sums.count == 0) return sums;
    const double mean = sums.sum / sums.count;
    sums.time = time / sums.count;
    for (size_t row = begin; row < end; row++) {
        const double value = column.values[row];
        if (std::isnan(value)) continue;
        const double difference = value - mean, time_difference = days(times_[row]) - sums.time;
        sums.squares += difference * difference;
        sums.time_squares += time_difference * time_difference;
        sums.products += difference * time_difference;
    }
    return sums;
}

// Joins the sums of whole blocks, each as large as its place allows, and those of the rows before and after them.
RowSums History::sums(const Column& column, size_t begin, size_t end) const {
    RowSums all;
    while (begin < end) {
        if (begin % block_rows != 0 || end - begin < block_rows) {
            const size_t to = std::min(end, (begin / block_rows + 1) * block_rows);
            all = joined(all, sums_of_rows(column, begin, to));
            begin = to;
            continue;
        }
        size_t level = 0, rows = block_rows;
        while (begin % (2 * rows) == 0 && end - begin >= 2 * rows) level++, rows *= 2;
        all = joined(all, column.levels[level][begin / rows]);
        begin += rows;
    }
    return all;
}

// Adds the block that the last row completes, and the larger ones that it completes in turn.
void History::close_block(Column& column) {
    RowSums block = sums_of_rows(column, times_.size() - block_rows, times_.size());
    for (size_t level = 0;; level++) {
        if (column.levels.size() == level) column.levels.emplace_back(memory_, what_rows);
        Buffer<RowSums>& blocks = column.levels[level];
        blocks.push_back(block);
        if (blocks.size() % 2 != 0) return;
        block = joined(blocks[blocks.size() - 2], blocks[blocks.size() - 1]);
    }
}

// Moves the mark of a value from the row in which it was last to this one.
void History::mark_distinct(Column& column, double value) {
    const size_t row = times_.size() - 1;
    const auto lowest_bit = [](size_t i) { return i & (~i + 1); };
    int64_t mark = 0;
    if (!std::isnan(value)) {
        constexpr uint64_t entry_bytes = 64;
        column.last_row_memory.grow(column.last_row.contains(value) ? 0 : entry_bytes);
        const auto [found, is_new] = column.last_row.try_emplace(value, row);
        if (!is_new)
            for (size_t i = std::exchange(found->second, row) + 1; i <= row; i += lowest_bit(i)) column.marks[i - 1]--;
        mark = 1;
    }
    const size_t number = row + 1;
    for (size_t i = 1; i < lowest_bit(number); i *= 2) mark += column.marks[number - i - 1];
    column.marks.push_back(mark);
}

int64_t History::marks_before(const Column& column, size_t row) {
    int64_t marks = 0;
    for (size_t i = row; i > 0; i &= i - 1) marks += column.marks[i - 1];
    return marks;
}

// Sums the windows of a column, each as what it has beyond the next shorter one, and that.
void History::fill_windows(size_t c) {
    const Column& column = columns_[c];
    Buffer<RowSums>& windows = windows_[c];
    windows.resize(starts_.size());
    RowSums all;
    size_t end = times_.size();
    for (const size_t window : by_start_) {
        all = joined(sums(column, starts_[window], end), all);
        windows[window] = all;
        end = starts_[window];
    }
}

void History::features(int64_t time, std::span<const int64_t> since, std::span<double> result) {
    settle();
    starts_.resize(since.size());
    by_start_.resize(since.size());
    while (windows_.size() < columns_.size()) windows_.emplace_back(memory_, "sums of windows");
    for (size_t i = 0; i < since.size(); i++)
        starts_[i] = static_cast<size_t>(std::lower_bound(times_.begin(), times_.end(), since[i]) - times_.begin());
    std::iota(by_start_.begin(), by_start_.end(), size_t{0});
    std::sort(by_start_.begin(), by_start_.end(), [&](size_t a, size_t b) { return starts_[a] > starts_[b]; });
    for (size_t c = 0; c < columns_.size(); c++)
        if (summed_[c] && rows() > 0) fill_windows(c);
    for (size_t i = 0; i < requests_.size(); i++) {
        if (static_cast<size_t>(requests_[i].window) >= since.size())
            throw Error(ErrorCode::invalid_argument,
                        format("a feature is of window %d, there are %zu", requests_[i].window + 1, since.size()));
        const double x = feature(requests_[i], time);
        result[i] = std::isnan(x) ? null_number : x;
    }
}

double History::feature(const Request& request, int64_t time) const {
    const size_t window = static_cast<size_t>(request.window), start = starts_[window];
    if (request.aggregate == Aggregate::count) return static_cast<double>(rows() - start);
    const bool counts = request.aggregate == Aggregate::distinct || request.aggregate == Aggregate::matches;
    if (start == rows()) return counts ? 0 : null_number;
    if (request.column < 0) return of_rows(request, time);
    const auto column = static_cast<size_t>(request.column);
    if (request.aggregate == Aggregate::distinct)
        return static_cast<double>(marks_before(columns_[column], rows()) - marks_before(columns_[column], start));
    const RowSums& sums = windows_[column][window];
    if (sums.count == 0) return counts ? 0 : null_number;
    return of_values(request, sums);
}

// Computes what the times of a window's rows amount to. A row that is always past has none.
double History::of_rows(const Request& request, int64_t time) const {
    const size_t start = std::max(starts_[static_cast<size_t>(request.window)], timeless_);
    if (start == rows()) return null_number;
    const double first = days(times_[start]), last = days(last_time());
    const auto gaps = static_cast<double>(rows() - start - 1);
    if (last_time() == forever || time == forever) return null_number;
    if (request.aggregate == Aggregate::mean_gap) return gaps > 0 ? (last - first) / gaps : null_number;
    const double now = days(time);
    return now - (request.aggregate == Aggregate::since_first ? first : last);
}

// Computes the slope of values whose times are not all the same.
double History::slope(const RowSums& sums) const {
    if (sums.first < 0) return null_number;
    const int64_t first = times_[static_cast<size_t>(sums.first)], last = times_[static_cast<size_t>(sums.last)];
    return first < last && last != forever && sums.time_squares > 0 ? sums.products / sums.time_squares : null_number;
}

double History::of_values(const Request& request, const RowSums& sums) const {
    const Column& column = columns_[static_cast<size_t>(request.column)];
    const Buffer<double>& values = column.values;
    // The row whose value the window begins with, as it has one from before.
    const size_t start = starts_[static_cast<size_t>(request.window)];
    const int64_t before = start == 0 ? -1 : column.last_known[start - 1];
    const auto value_of = [&](int64_t row) { return row < 0 ? null_number : values[static_cast<size_t>(row)]; };
    switch (request.aggregate) {
    case Aggregate::mean:
    case Aggregate::share:
        return sums.sum / sums.count;
    case Aggregate::sum:
    case Aggregate::matches:
        return sums.sum;
    case Aggregate::min:
        return sums.min;
    case Aggregate::max:
        return sums.max;
    case Aggregate::sd:
        return sums.count < 2 ? null_number : std::sqrt(sums.squares / (sums.count - 1));
    case Aggregate::change:
        return value_of(sums.last) - value_of(before >= 0 ? before : sums.first);
    case Aggregate::growth:
        return ratio(value_of(sums.last), value_of(before >= 0 ? before : sums.first));
    case Aggregate::slope:
        return slope(start < timeless_ ? this->sums(column, timeless_, times_.size()) : sums);
    case Aggregate::last:
        return value_of(sums.last);
    case Aggregate::previous:
        return value_of(sums.previous);
    default:
        return null_number;
    }
}

} // namespace btml::features
