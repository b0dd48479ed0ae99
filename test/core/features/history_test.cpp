#include "core/features/history.hpp"

#include "caught.hpp"
#include "core/numbers/number.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace btml::features::test {
namespace {

template <class Body>
std::string message_of(Body&& body) {
    return btml::test::caught(body).message;
}

constexpr int64_t day = int64_t{86'400} * 1'000'000;

struct Row {
    int64_t time;
    std::vector<double> numbers;
};

// The values of a column in the rows of a window, with their times in days.
struct Values {
    std::vector<double> x, t;
};

// Of rows of one time the greatest value is the last.
Values values_in(std::vector<Row> rows, int64_t since, int64_t before, int column) {
    const auto place = static_cast<size_t>(column);
    std::erase_if(rows, [&](const Row& row) { return std::isnan(row.numbers[place]); });
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        if (a.time != b.time) return a.time < b.time;
        return a.numbers[place] < b.numbers[place];
    });
    Values values;
    for (const Row& row : rows) {
        if (row.time < since || row.time >= before) continue;
        values.x.push_back(row.numbers[place]);
        values.t.push_back(static_cast<double>(row.time) / static_cast<double>(day));
    }
    return values;
}

double mean_of(const std::vector<double>& x) {
    long double sum = 0;
    for (const double v : x) sum += v;
    return static_cast<double>(sum / static_cast<long double>(x.size()));
}

double centred_product(const std::vector<double>& x, const std::vector<double>& y) {
    const double mx = mean_of(x), my = mean_of(y);
    long double sum = 0;
    for (size_t i = 0; i < x.size(); i++) sum += static_cast<long double>(x[i] - mx) * (y[i] - my);
    return static_cast<double>(sum);
}

// The definition of each aggregate, written down a second time.
double plain(Aggregate aggregate, const Values& in, const Values& before) {
    const std::vector<double>& x = in.x;
    if (aggregate == Aggregate::distinct) return static_cast<double>(std::set<double>(x.begin(), x.end()).size());
    if (x.empty()) return aggregate == Aggregate::matches ? 0 : null_number;
    switch (aggregate) {
    case Aggregate::mean:
    case Aggregate::share:
        return mean_of(x);
    case Aggregate::sum:
    case Aggregate::matches:
        return mean_of(x) * static_cast<double>(x.size());
    case Aggregate::min:
        return *std::min_element(x.begin(), x.end());
    case Aggregate::max:
        return *std::max_element(x.begin(), x.end());
    case Aggregate::sd:
        return x.size() < 2 ? null_number : std::sqrt(centred_product(x, x) / static_cast<double>(x.size() - 1));
    case Aggregate::change:
        return x.back() - (before.x.empty() ? x.front() : before.x.back());
    case Aggregate::growth: {
        const double first = before.x.empty() ? x.front() : before.x.back();
        return first == 0 ? null_number : x.back() / first;
    }
    case Aggregate::slope:
        return centred_product(in.t, in.t) > 0 ? centred_product(x, in.t) / centred_product(in.t, in.t) : null_number;
    case Aggregate::last:
        return x.back();
    case Aggregate::previous:
        return x.size() < 2 ? null_number : x[x.size() - 2];
    default:
        ADD_FAILURE();
        return 0;
    }
}

double plain_of_rows(Aggregate aggregate, const std::vector<Row>& rows, int64_t since, int64_t now) {
    std::vector<double> t;
    for (const Row& row : rows)
        if (row.time >= since && row.time < now)
            t.push_back(static_cast<double>(now - row.time) / static_cast<double>(day));
    if (aggregate == Aggregate::count) return static_cast<double>(t.size());
    if (t.empty()) return null_number;
    if (aggregate == Aggregate::since_first) return t.front();
    if (aggregate == Aggregate::since_last) return t.back();
    return t.size() < 2 ? null_number : (t.front() - t.back()) / static_cast<double>(t.size() - 1);
}

const std::vector<Aggregate> of_values = {
    Aggregate::mean,     Aggregate::sum,     Aggregate::min,   Aggregate::max,      Aggregate::sd,
    Aggregate::change,   Aggregate::slope,   Aggregate::last,  Aggregate::previous, Aggregate::share,
    Aggregate::distinct, Aggregate::matches, Aggregate::growth};
const std::vector<Aggregate> of_rows = {Aggregate::count, Aggregate::since_first, Aggregate::since_last,
                                        Aggregate::mean_gap};

void expect_close(double found, double wanted, double tolerance, const std::string& what) {
    if (is_null(wanted) || std::isnan(wanted))
        EXPECT_TRUE(is_null(found)) << what << ": " << found;
    else
        EXPECT_NEAR(found, wanted, tolerance * std::max(1.0, std::abs(wanted))) << what;
}

TEST(History, EqualsThePlainDefinitions) {
    for (unsigned seed = 0; seed < 60; seed++) {
        std::mt19937 random(seed);
        const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        const int columns = 1 + below(3), count = below(seed % 3 == 0 ? 12 : 400);
        std::vector<Request> requests;
        for (int window = 0; window < 3; window++) {
            for (const Aggregate aggregate : of_rows) requests.push_back({aggregate, -1, window});
            for (int c = 0; c < columns; c++)
                for (const Aggregate aggregate : of_values) requests.push_back({aggregate, c, window});
        }
        MemoryBudget memory(uint64_t{1} << 30);
        History history(requests, memory);
        for (int thing = 0; thing < 2; thing++) {
            history.clear();
            std::vector<Row> rows;
            int64_t now = 1000 * day;
            std::vector<double> result(requests.size());
            for (int i = 0; i <= count; i++) {
                if (i % 7 == 0 || i == count) {
                    const std::vector<int64_t> since = {now - 30 * day, History::min_time, now - 3 * day};
                    history.features(now, since, result);
                    for (size_t r = 0; r < requests.size(); r++) {
                        const Request& request = requests[r];
                        const int64_t begin = since[static_cast<size_t>(request.window)];
                        const double wanted =
                            request.column < 0
                                ? plain_of_rows(request.aggregate, rows, begin, now + 1)
                                : plain(request.aggregate, values_in(rows, begin, now + 1, request.column),
                                        values_in(rows, History::min_time, begin, request.column));
                        expect_close(result[r], wanted, 1e-9, facts_of(request.aggregate).name);
                    }
                }
                if (i % 7 == 0) now += day / 2; // no prediction lies between rows of one time
                Row row{now, {}};
                for (int c = 0; c < columns; c++)
                    row.numbers.push_back(below(5) == 0 ? null_number : below(20) - 7 + (c == 1 ? 0.25 * below(4) : 0));
                history.add(row.time, row.numbers);
                rows.push_back(row);
                now += below(3) * day / 2;
            }
        }
        history.clear();
        EXPECT_EQ(history.rows(), 0U);
    }
}

// Sums of rows of a window do not know of a far value before it.
TEST(History, KeepsNoTraceOfAFarValue) {
    const std::vector<Request> requests = {{Aggregate::sum, 0, 0}, {Aggregate::sd, 0, 0}, {Aggregate::mean, 0, 1}};
    MemoryBudget memory(uint64_t{1} << 30);
    History history(requests, memory);
    for (int i = 0; i < 100; i++) {
        const double x = i == 30 ? 1e300 : i % 2;
        history.add(i * day, {&x, 1});
    }
    std::vector<double> result(requests.size());
    const std::vector<int64_t> since = {50 * day, 0};
    history.features(100 * day, since, result);
    EXPECT_EQ(result[0], 25);
    EXPECT_NEAR(result[1], std::sqrt(12.5 / 49), 1e-12);
    EXPECT_NEAR(result[2] / 1e298, 1, 1e-12);
}

// Infinite values make what has no number NULL; rows that are always past have no time.
TEST(History, TakesInfinitiesAndRowsWithoutATime) {
    const std::vector<Request> requests = {{Aggregate::sd, 0, 0},           {Aggregate::max, 0, 0},
                                           {Aggregate::slope, 0, 0},        {Aggregate::count, -1, 0},
                                           {Aggregate::since_first, -1, 0}, {Aggregate::count, -1, 1}};
    MemoryBudget memory(uint64_t{1} << 30);
    History history(requests, memory);
    const double inf = std::numeric_limits<double>::infinity();
    history.add(History::min_time, {&inf, 1});
    const double one = 1;
    history.add(5 * day, {&one, 1});
    std::vector<double> result(requests.size());
    const std::vector<int64_t> since = {History::min_time, 0};
    history.features(7 * day, since, result);
    EXPECT_TRUE(is_null(result[0]));
    EXPECT_EQ(result[1], inf);
    EXPECT_TRUE(is_null(result[2]));
    EXPECT_EQ(result[3], 2);
    EXPECT_EQ(result[4], 2);
    EXPECT_EQ(result[5], 1);
}

// Which of two zeros is the least must not hang on the order of rows.
TEST(History, HasOneZero) {
    for (const double first : {0.0, -0.0}) {
        MemoryBudget memory(uint64_t{1} << 30);
        History history({{Aggregate::min, 0, 0}, {Aggregate::max, 0, 0}}, memory);
        for (const double x : {first, -first}) history.add(0, {&x, 1});
        std::vector<double> result(2);
        const std::vector<int64_t> since = {History::min_time};
        history.features(day, since, result);
        EXPECT_FALSE(std::signbit(result[0]));
        EXPECT_FALSE(std::signbit(result[1]));
    }
}

TEST(History, CountsItsMemory) {
    MemoryBudget memory(10'000);
    History history({{Aggregate::distinct, 0, 0}}, memory);
    const btml::test::Caught error = btml::test::caught([&] {
        for (int i = 0; i < 10'000; i++) {
            const double x = i;
            history.add(i, {&x, 1});
        }
    });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    EXPECT_NE(error.detail.find("rows of one thing"), std::string::npos) << error.detail;
}

TEST(History, CountsTheMemoryOfWindows) {
    constexpr int columns = 100;
    std::vector<Request> requests;
    for (int i = 0; i < columns; i++) requests.push_back({Aggregate::mean, i, 999});
    MemoryBudget memory(2'000'000);
    History history(requests, memory);
    history.add(0, std::vector<double>(columns, 1));
    std::vector<double> result(columns);
    const btml::test::Caught error =
        btml::test::caught([&] { history.features(1, std::vector<int64_t>(1000, 0), result); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    EXPECT_NE(error.detail.find("sums of windows"), std::string::npos) << error.detail;
}

TEST(History, RefusesWhatDoesNotFit) {
    MemoryBudget memory(uint64_t{1} << 30);
    History history({{Aggregate::mean, 1, 2}}, memory);
    const std::vector<double> one = {1}, two = {1, 2}, three = {1, 2, 3};
    EXPECT_EQ(message_of([&] { history.add(0, one); }), "a feature is of column 2, rows have 1 numbers");
    history.add(0, two);
    EXPECT_EQ(message_of([&] { history.add(0, three); }), "a row has 3 numbers, others have 2");
    std::vector<double> result(1);
    const std::vector<int64_t> since = {0, 0};
    EXPECT_EQ(message_of([&] { history.features(1, since, result); }), "a feature is of window 3, there are 2");
}

TEST(ParseRequest, RefusesAllButItsForm) {
    const Request mean = parse_request("mean 2 1");
    EXPECT_EQ(mean.aggregate, Aggregate::mean);
    EXPECT_EQ(mean.column, 1);
    EXPECT_EQ(mean.window, 0);
    EXPECT_EQ(parse_request("count 0 3").column, -1);
    for (const char* const text :
         {"", "mean", "mean 2", "mean 0 1", "mean -1 1", "count 1 1", "value 1 1", "mean 1 0", "mean 1 1 ", "mean  1 1",
          "mode 1 1", "mean 99999999999 1", "mean 2147483647 1", "count 0 10001", "mean 1 1x"})
        EXPECT_EQ(message_of([&] { parse_request(text); }), format("invalid feature \"%s\"", text));
    const std::string hint = btml::test::caught([] { parse_request("mode 1 1"); }).hint;
    for (const AggregateFacts& facts : aggregates) {
        const std::string text = format("%s %d 1", facts.name, facts.types == 0 ? 0 : 1);
        const bool is_taken = !btml::test::caught([&] { parse_request(text); }).thrown;
        EXPECT_EQ(hint.find(format("\"%s\"", facts.name)) != std::string::npos, is_taken) << text;
    }
}

} // namespace
} // namespace btml::features::test
