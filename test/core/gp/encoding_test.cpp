#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/tree/row_sorter.hpp"
#include "core/numbers/number.hpp"

#include <limits>

namespace btml::gp::test {
namespace {

using btml::test::caught;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

FeatureView numbers(const std::vector<double>& values) {
    return {false, values, {}, 0};
}

FeatureView codes(const std::vector<uint32_t>& values, uint32_t categories) {
    return {true, {}, values, categories};
}

Encoding encoding_of(const std::vector<FeatureView>& features, int bits, const std::vector<double>& target = {},
                     const std::vector<double>& shifts = {}, const std::vector<double>& weight = {}) {
    QuietContext context;
    return Encoding(features, target, weight, bits, shifts, context);
}

uint32_t code_of(const Encoding& encoding, double x, size_t feature = 0) {
    return encoding.value_bits(feature, x).code;
}

// The bits of a row as characters.
std::string row_string(const BitRows& rows, size_t row, const std::vector<uint16_t>& bits) {
    std::string string;
    for (const uint16_t bit : bits) string.push_back(rows.row(row)[bit / 64] >> (63 - bit % 64) & 1 ? '1' : '0');
    return string;
}

std::vector<uint16_t> all_bits(const Encoding& encoding) {
    std::vector<uint16_t> bits(encoding.bits());
    std::iota(bits.begin(), bits.end(), 0);
    return bits;
}

TEST(BitEncoding, NumbersGiveTheirBinaryExpansion) {
    const std::vector<double> x = {-1, 3, 0.5, 0.4};
    const Encoding encoding = encoding_of({numbers(x)}, 3);
    EXPECT_EQ(encoding.bits(), 3u);
    EXPECT_EQ(code_of(encoding, -1), 0u);
    EXPECT_EQ(code_of(encoding, 0.5), 3u); // 0.375 = 0.011 in base 2
    EXPECT_EQ(code_of(encoding, 0.499), 2u);
    EXPECT_EQ(code_of(encoding, 3), 7u);
    for (const double outside : {-1.001, 3.001, infinity, -infinity, nan}) {
        const ValueBits bits = encoding.value_bits(0, outside);
        EXPECT_TRUE(bits.outside);
        EXPECT_EQ(bits.known, 3);
        EXPECT_EQ(bits.code, outside < 0 ? 0u : 7u);
    }
    EXPECT_FALSE(encoding.value_bits(0, 2).outside);
}

TEST(BitEncoding, ShiftedGridsCutElsewhere) {
    const std::vector<double> x = {0, 1, 0.1, 0.7777};
    const Encoding encoding = encoding_of({numbers(x)}, 10, {}, {0.6});
    for (const double value : {0.0, 0.1, 0.77, 1.0})
        EXPECT_EQ(code_of(encoding, value), static_cast<uint32_t>((value + 0.3) / 1.5 * 1024)) << value;
    EXPECT_EQ(code_of(encoding, 5), code_of(encoding, 1));
}

TEST(BitEncoding, ExtremeRangesKeepTheirOrder) {
    for (const std::vector<double>& x : {std::vector{-1.7e308, 1.7e308, 0.0, 1e300},
                                         {0, 5e-324, 1e-323},
                                         {-infinity, infinity, nan, 4},
                                         {4, infinity}}) {
        const Encoding encoding = encoding_of({numbers(x)}, 8);
        ASSERT_EQ(encoding.bits(), 8u);
        std::vector<double> ascending = x;
        std::sort(ascending.begin(), ascending.end(), sql_less);
        EXPECT_EQ(code_of(encoding, ascending.front()), 0u);
        EXPECT_EQ(code_of(encoding, ascending.back()), 255u);
        for (size_t i = 1; i < x.size(); i++)
            EXPECT_LE(code_of(encoding, ascending[i - 1]), code_of(encoding, ascending[i]));
    }
}

// Whole numbers, and clusters and a long tail whose values repeat.
std::vector<double> discrete_numbers(size_t count, Random& random) {
    std::vector<double> x;
    const size_t shape = random.below(3);
    for (size_t i = 0; i < count; i++) {
        if (shape == 0)
            x.push_back(std::floor(20 * random.unit()));
        else if (shape == 1)
            x.push_back(100 * std::floor(5 * random.unit()) + random.unit());
        else
            x.push_back(std::pow(random.unit(), -3));
        if (shape > 0) x.push_back(x.back());
    }
    return x;
}

double nearest(const std::vector<double>& ascending, double x) {
    const auto after = std::upper_bound(ascending.begin(), ascending.end(), x);
    if (after == ascending.begin()) return ascending.front();
    if (after == ascending.end()) return ascending.back();
    return x - after[-1] <= after[0] - x ? after[-1] : after[0];
}

TEST(BitEncoding, WhatIsBetweenDiscreteValuesHasTheCellOfOne) {
    Random random(3);
    size_t moved = 0;
    for (int round = 0; round < 200; round++) {
        std::vector<double> x = discrete_numbers(2 + random.below(60), random);
        const int bits = 1 + static_cast<int>(random.below(NumberScale::max_gap_bits));
        const Encoding grid = encoding_of({numbers(x)}, bits);
        std::sort(x.begin(), x.end());
        if (x.front() == x.back()) continue;
        for (const double shift : {0.0, random.unit()}) {
            const Encoding encoding = grid.shifted(std::vector{shift});
            std::vector<uint32_t> cells;
            for (const double value : x) cells.push_back(code_of(encoding, value));
            for (int i = 0; i < 50; i++) {
                const double at = x.front() + (x.back() - x.front()) * random.unit();
                const uint32_t cell = code_of(encoding, at);
                ASSERT_TRUE(std::binary_search(cells.begin(), cells.end(), cell)) << at;
                const double close = nearest(x, at);
                const double width = 2 * (x.back() - x.front()) / (1 << bits);
                if (std::abs(at - close) < width) continue;
                moved++;
                ASSERT_EQ(cell, code_of(encoding, close)) << at;
            }
        }
    }
    EXPECT_GT(moved, 100u);
}

TEST(BitEncoding, WhatIsBetweenOtherNumbersHasACellOfItsOwn) {
    const std::vector<double> x = {0, 1, 0.123, 0.7777};
    const Encoding encoding = encoding_of({numbers(x)}, 8);
    for (const double at : {0.05, 0.3, 0.5, 0.9}) EXPECT_EQ(code_of(encoding, at), static_cast<uint32_t>(at * 256));
}

Encoding ranks_of(const std::vector<double>& x, int bits, const std::vector<double>& shifts = {}) {
    QuietContext context;
    return Encoding(std::vector{numbers(x)}, {}, {}, bits, shifts, context, NumberPlaces::ranks);
}

// Against ranks by counting: a cell has its share of the rows, however the values are spread.
TEST(BitEncoding, RanksAreThoseOfTheTrainingValues) {
    Random random(4);
    for (int round = 0; round < 60; round++) {
        std::vector<double> x;
        const size_t count = 2 + random.below(400);
        for (size_t i = 0; i < count; i++) x.push_back(std::exp(8 * random.normal()));
        for (size_t i = 0; i < count; i++)
            if (random.chance(0.3)) x[i] = x[random.below(count)];
        std::vector<double> ascending = x;
        std::sort(ascending.begin(), ascending.end());
        if (ascending.front() == ascending.back()) continue;
        const auto rank = [&](double value) {
            const auto [from, to] = std::equal_range(ascending.begin(), ascending.end(), value);
            return static_cast<double>((from - ascending.begin()) + (to - ascending.begin()) - 1) / 2;
        };
        const double first = rank(ascending.front()), last = rank(ascending.back());
        const int bits = 2 + static_cast<int>(random.below(6));
        QuietContext context;
        const NumberScale scale(x, bits, NumberPlaces::ranks, context);
        EXPECT_EQ(scale.places(), NumberPlaces::ranks);
        for (const double value : x)
            ASSERT_NEAR(scale.place(value), (rank(value) - first) / (last - first), 1.0 / (1 << bits));
        for (size_t i = 1; i < count; i++) ASSERT_LE(scale.place(ascending[i - 1]), scale.place(ascending[i]));
        EXPECT_EQ(scale.place(ascending.front()), 0);
        EXPECT_EQ(scale.place(ascending.back()), 1);
    }
}

TEST(BitEncoding, RanksDoNotDependOnTheScale) {
    std::vector<double> x, cubes;
    for (int i = 0; i < 100; i++) x.push_back(i % 7 == 0 ? 50 : 0.37 * i), cubes.push_back(std::pow(x.back(), 3));
    const Encoding a = ranks_of(x, 6, {0.3}), b = ranks_of(cubes, 6, {0.3});
    size_t otherwise = 0;
    for (size_t i = 0; i < x.size(); i++) {
        EXPECT_EQ(code_of(a, x[i]), code_of(b, cubes[i]));
        otherwise += code_of(encoding_of({numbers(x)}, 6), x[i]) != code_of(encoding_of({numbers(cubes)}, 6), cubes[i]);
    }
    EXPECT_GT(otherwise, 50u);
}

TEST(BitEncoding, ConstantFeaturesGiveNoBits) {
    const std::vector<double> same = {2, 2, 2}, endless = {infinity, nan, infinity}, with_null = {2, null_number, 2};
    const std::vector<double> nothing = {null_number, null_number}, varied = {1, 2, 3};
    const std::vector<uint32_t> one = {4, 4, 4};
    const Encoding encoding =
        encoding_of({numbers(same), numbers(endless), codes(one, 6), numbers(varied)}, 5, {1, 2, 3});
    EXPECT_EQ(encoding.bits(), 5u);
    EXPECT_EQ(encoding.first_bit(3), 0u);
    EXPECT_TRUE(encoding.value_bits(0, 2.5).outside);
    EXPECT_FALSE(encoding.value_bits(0, 2).outside);
    EXPECT_EQ(encoding_of({numbers(with_null)}, 5).bits(), 1u); // whether it is NULL
    EXPECT_EQ(encoding_of({numbers(nothing)}, 5).bits(), 1u);
}

TEST(BitEncoding, NullIsABitBeforeTheOthers) {
    const std::vector<double> x = {0, null_number, 1, 0.5};
    const Encoding encoding = encoding_of({numbers(x)}, 2);
    EXPECT_EQ(encoding.bits(), 3u);
    EXPECT_EQ(code_of(encoding, null_number), 4u);
    EXPECT_EQ(code_of(encoding, 1), 3u);
    EXPECT_EQ(encoding.value_bits(0, null_number).known, 3);
    const std::vector<double> whole = {0, 1};
    const ValueBits unknown = encoding_of({numbers(whole)}, 2).value_bits(0, null_number);
    EXPECT_EQ(unknown.known, 0);
    EXPECT_FALSE(unknown.outside);
}

// Many rows each, so that means say something; of noise alone a few say nothing.
TEST(BitEncoding, CategoriesStandInOrderOfTheirTargetMean) {
    constexpr uint32_t null = FeatureView::null_code;
    std::vector<uint32_t> c;
    std::vector<double> y, w;
    for (int copy = 0; copy < 20; copy++) {
        for (const uint32_t code : {0u, 1u, 2u, 2u, 4u, null, 4u}) c.push_back(code);
        for (const double target : {3, -1, 0, 1, 10, 50, -10}) y.push_back(target);
        for (const double weight : {1, 1, 1, 3, 1, 1, 1}) w.push_back(weight);
    }
    const auto places = [&](const std::vector<double>& weight) {
        return encoding_of({codes(c, 6)}, 8, y, {}, weight).features()[0].places;
    };
    constexpr uint32_t unseen = FeatureBits::unseen;
    EXPECT_EQ(places({}), (std::vector<uint32_t>{3, 0, 2, unseen, 1, unseen}));
    EXPECT_EQ(places(w), (std::vector<uint32_t>{3, 0, 2, unseen, 1, unseen}));
    std::vector<double> less = w;
    for (size_t i = 6; i < less.size(); i += 7) less[i] = 0.1;
    EXPECT_EQ(places(less), (std::vector<uint32_t>{2, 0, 1, unseen, 3, unseen}));
    const Encoding encoding = encoding_of({codes(c, 6)}, 8, y);
    EXPECT_EQ(encoding.bits(), 3u); // NULL, and four places
    EXPECT_EQ(code_of(encoding, 0), 3u);
    EXPECT_EQ(code_of(encoding, null_number), 4u);
    for (const double never_seen : {3.0, 5.0, 6.0, -1.0, 1e300, nan}) {
        const ValueBits bits = encoding.value_bits(0, never_seen);
        EXPECT_EQ(bits.code, 0u);
        EXPECT_EQ(bits.known, 1); // it is not NULL
        EXPECT_FALSE(bits.outside);
    }
    EXPECT_EQ(code_of(encoding_of({codes(c, 6)}, 1, y), 2), 1u); // the upper half of the places
}

TEST(BitEncoding, CategoriesOfFewRowsStandInOrderOfMeansThatDiffer) {
    const auto are_in_order_of_codes = [](size_t of_category, double apart, uint64_t seed) {
        constexpr uint32_t categories = 50;
        Random random(seed);
        std::vector<uint32_t> c;
        std::vector<double> y;
        for (size_t i = 0; i < categories * of_category; i++) {
            c.push_back(static_cast<uint32_t>(i % categories));
            y.push_back(apart * std::sin(37.0 * c.back()) + random.normal());
        }
        const std::vector<uint32_t> places = encoding_of({codes(c, categories)}, 8, y).features()[0].places;
        return std::is_sorted(places.begin(), places.end());
    };
    int by_chance = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        by_chance += !are_in_order_of_codes(2, 0, seed);
        EXPECT_FALSE(are_in_order_of_codes(2, 3, seed));
        EXPECT_FALSE(are_in_order_of_codes(20, 0, seed)); // many rows
        EXPECT_TRUE(are_in_order_of_codes(1, 3, seed));   // one row tells nothing of another
    }
    EXPECT_LE(by_chance, 4);
}

TEST(BitEncoding, RowsHoldTheBitsOfTheirValues) {
    QuietContext context;
    Random random(3);
    for (int round = 0; round < 20; round++) {
        const size_t rows = 1 + random.below(30), features = 1 + random.below(40);
        std::vector<std::vector<double>> columns(features);
        std::vector<std::vector<uint32_t>> code_columns(features);
        std::vector<FeatureView> views;
        std::vector<double> target, shifts;
        for (size_t i = 0; i < rows; i++) target.push_back(random.normal());
        for (size_t f = 0; f < features; f++) {
            for (size_t i = 0; i < rows; i++) {
                columns[f].push_back(random.chance(0.1) ? null_number : random.normal());
                code_columns[f].push_back(random.chance(0.1) ? FeatureView::null_code
                                                             : static_cast<uint32_t>(random.below(9)));
            }
            views.push_back(random.chance(0.3) ? codes(code_columns[f], 9) : numbers(columns[f]));
            shifts.push_back(random.unit());
        }
        const Encoding encoding = encoding_of(views, 1 + static_cast<int>(random.below(30)), target, shifts);
        const BitRows bit_rows = encoding.encode_rows(views, context);
        ASSERT_EQ(bit_rows.rows, rows);
        for (size_t i = 0; i < rows; i++) {
            std::string expected;
            for (size_t f = 0; f < features; f++) {
                const double value = !views[f].categorical                          ? columns[f][i]
                                     : code_columns[f][i] == FeatureView::null_code ? null_number
                                                                                    : code_columns[f][i];
                const uint32_t code = code_of(encoding, value, f);
                for (int bit = encoding.features()[f].bits(); bit-- > 0;)
                    expected.push_back(code >> bit & 1 ? '1' : '0');
            }
            EXPECT_EQ(row_string(bit_rows, i, all_bits(encoding)), expected);
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(BitEncoding, DefaultBits) {
    EXPECT_EQ(Encoding::default_value_bits(3), 8);
    EXPECT_EQ(Encoding::default_value_bits(26), 6);
    EXPECT_EQ(Encoding::default_value_bits(90), 2);
    EXPECT_EQ(Encoding::default_value_bits(385), 1);
    EXPECT_EQ(Encoding::default_value_bits(0), 8);
}

TEST(BitEncoding, Errors) {
    const std::vector<double> x = {1, 2};
    EXPECT_EQ(caught([&] { encoding_of({numbers(x)}, 0); }).message, "invalid bits 0");
    EXPECT_EQ(caught([&] { encoding_of({numbers(x)}, 31); }).hint, "It is a number of bits per feature from 1 to 30.");
    EXPECT_EQ(caught([&] { encoding_of(std::vector<FeatureView>(1200, numbers(x)), 30); }).message,
              "1200 features of 30 bits have 36000 bits together, the limit is 32767");
    const Encoding encoding = encoding_of({numbers(x), numbers(x)}, 2);
    EXPECT_EQ(bits_of_levels(encoding, {1, 0, 1}), (std::vector<uint16_t>{2, 0, 3}));
    EXPECT_EQ(caught([&] {
                  bits_of_levels(encoding, {1, 0, 1, 1});
              }).message,
              "a bit order takes more than the 2 bits of feature 1");
    EXPECT_EQ(caught([&] { bits_of_levels(encoding, {2}); }).message, "a bit order names feature 2 of 2");
}

TEST(PointEncoder, PointsHaveTheStringsOfRows) {
    QuietContext context;
    Random random(9);
    for (int round = 0; round < 20; round++) {
        std::vector<std::vector<double>> columns(12);
        std::vector<FeatureView> views;
        for (std::vector<double>& column : columns) {
            for (int i = 0; i < 25; i++) column.push_back(random.chance(0.1) ? null_number : random.normal());
            views.push_back(numbers(column));
        }
        const Encoding encoding = encoding_of(views, 1 + static_cast<int>(random.below(9)));
        BitOrder order;
        std::vector<int> used(12, 0);
        for (int tries = 0; tries < 200; tries++) {
            const auto feature = static_cast<uint16_t>(random.below(12));
            if (used[feature]++ < encoding.features()[feature].bits()) order.push_back(feature);
        }
        PointEncoder encoder(encoding, order);
        const BitRows rows = encoding.encode_rows(views, context);
        const std::vector<uint16_t> bits = bits_of_levels(encoding, order);
        const std::vector<StringWord> words = string_words(bits);
        for (size_t i = 0; i < 25; i++) {
            std::vector<double> point;
            for (const std::vector<double>& column : columns) point.push_back(column[i]);
            const String string = encoder(point);
            EXPECT_EQ(string.known, order.size());
            for (size_t w = 0; w < words.size(); w++) EXPECT_EQ(string.words[w], words[w](rows.row(i)));
            const std::string expected = row_string(rows, i, bits);
            for (size_t level = 0; level < order.size(); level++)
                EXPECT_EQ(string.words[level / 64] >> (63 - level % 64) & 1, expected[level] == '1');
        }
    }
}

TEST(PointEncoder, UnknownValuesEndWhatIsKnown) {
    QuietContext context;
    const std::vector<double> x = {0, 1}, with_null = {null_number, 1};
    const std::vector<double> y = {0, 1};
    const std::vector<uint32_t> c = {0, 1};
    const std::vector<FeatureView> views = {numbers(x), numbers(with_null), codes(c, 3)};
    {
        const Encoding encoding(views, y, {}, 4, {}, context);
        PointEncoder encoder(encoding, {1, 0, 0, 2});
        const auto known = [&](double a, double b, double category) {
            return encoder(std::vector<double>{a, b, category}).known;
        };
        EXPECT_EQ(known(0.5, 1, 0), 4u);
        EXPECT_EQ(known(0.5, null_number, 0), 4u); // NULL is a bit
        EXPECT_EQ(known(null_number, 1, 0), 1u);   // no training row had one
        EXPECT_EQ(known(0.5, 1, 2), 3u);           // never seen
        EXPECT_EQ(known(0.5, 1, null_number), 3u);
        EXPECT_EQ(known(null_number, 1, 2), 1u);
        EXPECT_EQ(known(1.5, 1, 0), 4u);
        EXPECT_EQ(known(0.5, 7, 0), 4u);        // beyond a constant
        PointEncoder without(encoding, {1, 2}); // bits that the order leaves out
        EXPECT_EQ(without(std::vector<double>{null_number, 1, 0}).known, 2u);
    }
}

std::string bytes_of(const Encoding& encoding) {
    QuietContext quiet;
    Writer writer(quiet);
    encoding.encode(writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

Encoding decode_bytes(const std::string& bytes) {
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
    Encoding encoding = Encoding::decode(reader);
    reader.finish();
    return encoding;
}

TEST(BitEncoding, BytesOfRanksAreReadBackOrRefused) {
    const Encoding encoding = ranks_of({1, 2, 4, 8, 16, 16, 16, 90, null_number}, 3);
    const std::string bytes = bytes_of(encoding);
    EXPECT_EQ(bytes_of(decode_bytes(bytes)), bytes);
    Random random(2);
    int accepted = 0;
    for (int round = 0; round < 5000; round++) {
        std::string damaged = bytes;
        damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
        const auto error = caught([&] {
            const Encoding copy = decode_bytes(damaged);
            for (const double value : {0.0, 3.0, 16.0, 50.0, null_number, infinity, nan}) {
                const ValueBits bits = copy.value_bits(0, value);
                EXPECT_EQ(static_cast<uint64_t>(bits.code) >> copy.features()[0].bits(), 0u);
            }
            EXPECT_EQ(bytes_of(copy), damaged);
            accepted++;
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model) << error.message;
    }
    EXPECT_GT(accepted, 100);
}

TEST(BitEncoding, BytesAreReadBackOrRefused) {
    const std::vector<double> x = {1, 2, null_number}, z = {0, 7, 3}, y = {1, 2, 3};
    const std::vector<uint32_t> c = {0, 3, 2};
    const Encoding encoding = encoding_of({numbers(x), codes(c, 5), numbers(z)}, 4, y, {0.25, 0, 0.5}); // has gaps
    const std::string bytes = bytes_of(encoding);
    EXPECT_EQ(bytes_of(decode_bytes(bytes)), bytes);
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_EQ(caught([&] { decode_bytes(bytes.substr(0, length)); }).code, ErrorCode::corrupt_model);
    Random random(1);
    int accepted = 0;
    for (int round = 0; round < 5000; round++) {
        std::string damaged = bytes;
        damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
        const auto error = caught([&] {
            const Encoding copy = decode_bytes(damaged);
            for (size_t f = 0; f < copy.features().size(); f++)
                for (const double value : {0.0, 1.5, 3.0, null_number, infinity, nan}) {
                    const ValueBits bits = copy.value_bits(f, value);
                    EXPECT_EQ(static_cast<uint64_t>(bits.code) >> copy.features()[f].bits(), 0u);
                }
            EXPECT_EQ(bytes_of(copy), damaged);
            accepted++;
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model) << error.message;
    }
    EXPECT_GT(accepted, 500);
}

// Rows of random bits, many alike.
BitRows random_rows(size_t rows, size_t bits, Random& random, RunContext& context) {
    const size_t words = (bits + 63) / 64;
    BitRows result{rows, words, Buffer<uint64_t>(context.memory(), "rows' bits", rows * words, 0)};
    for (size_t i = 0; i < rows; i++) {
        const size_t like = i > 0 ? random.below(i) : 0, differing = random.below(bits / 2 + 2);
        if (i > 0) std::copy_n(result.row(like), words, result.data.data() + i * words);
        for (size_t flip = 0; flip < differing; flip++) {
            const size_t bit = random.below(bits);
            result.data[i * words + bit / 64] ^= uint64_t{1} << (63 - bit % 64);
        }
    }
    return result;
}

void expect_sorted(const SortedRows& sorted, const BitRows& rows, const std::vector<uint16_t>& bits) {
    std::vector<bool> seen(rows.rows, false);
    std::string last;
    for (size_t i = 0; i < rows.rows; i++) {
        ASSERT_LT(sorted.rows[i], rows.rows);
        EXPECT_FALSE(seen[sorted.rows[i]]);
        seen[sorted.rows[i]] = true;
        const std::string string = row_string(rows, sorted.rows[i], bits);
        EXPECT_LE(last, string);
        if (i > 0) {
            EXPECT_EQ(sorted.common[i - 1], common_levels(last, string));
        }
        last = string;
    }
    if (rows.rows > 0) {
        EXPECT_EQ(sorted.common[rows.rows - 1], 0);
    }
}

// Some change of a bit order: bits moved, exchanged, put in, taken out or replaced.
std::vector<uint16_t> changed(std::vector<uint16_t> bits, size_t most, Random& random) {
    const auto place = [&] { return bits.begin() + static_cast<ptrdiff_t>(random.below(bits.size())); };
    std::vector<uint16_t> unused;
    for (uint16_t bit = 0; bit < most; bit++)
        if (std::find(bits.begin(), bits.end(), bit) == bits.end()) unused.push_back(bit);
    const size_t kind = random.below(6);
    if (bits.empty() || kind == 0) { // more levels
        for (const uint16_t bit : unused)
            if (random.chance(0.3)) bits.push_back(bit);
    } else if (kind == 1) {
        std::iter_swap(place(), place());
    } else if (kind == 2) {
        const uint16_t bit = bits.back();
        bits.pop_back();
        bits.insert(bits.empty() ? bits.begin() : place(), bit);
    } else if (kind == 3 && !unused.empty()) {
        *place() = unused[random.below(unused.size())];
    } else if (kind == 4 && !unused.empty()) {
        bits.insert(place(), unused[random.below(unused.size())]);
    } else if (random.chance(0.5)) {
        bits.erase(place());
    } else { // fewer levels
        bits.resize(random.below(bits.size() + 1));
    }
    return bits;
}

TEST(RowSorter, ProposalsAreSortedWhateverWasAccepted) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        Random random(seed);
        static constexpr size_t sizes[] = {0, 1, 2, 30, 300};
        const size_t rows = sizes[seed % 5], most = 1 + random.below(seed % 3 == 0 ? 200 : 20);
        const BitRows bit_rows = random_rows(rows, most, random, context);
        RowSorter sorter(bit_rows, context);
        std::vector<uint16_t> bits;
        for (int step = 0; step < 60; step++) {
            const std::vector<uint16_t> proposal = changed(bits, most, random);
            expect_sorted(sorter.propose(proposal, context), bit_rows, proposal);
            if (random.chance(0.5)) continue;
            sorter.accept();
            bits = proposal;
            expect_sorted(sorter.accepted(), bit_rows, bits);
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(RowSorter, LargeSetsAreSorted) {
    QuietContext context;
    for (const size_t bits : {40, 100}) {
        Random random(bits);
        const BitRows rows = random_rows(20000, bits, random, context);
        RowSorter sorter(rows, context);
        std::vector<uint16_t> order(bits);
        std::iota(order.rbegin(), order.rend(), 0);
        expect_sorted(sorter.propose(order, context), rows, order);
    }
}

TEST(RowSorter, EqualStringsKeepTheOrderOfRows) {
    QuietContext context;
    Random random(1);
    const BitRows rows = random_rows(3000, 6, random, context);
    RowSorter sorter(rows, context);
    const SortedRows& sorted = sorter.propose(std::vector<uint16_t>{3, 1, 5}, context);
    size_t equal = 0;
    for (size_t i = 1; i < 3000; i++) {
        if (sorted.common[i - 1] != 3) continue;
        EXPECT_LT(sorted.rows[i - 1], sorted.rows[i]);
        equal++;
    }
    EXPECT_GT(equal, 2900U);
}

TEST(RowSorter, CanBeCancelled) {
    QuietContext context;
    Random random(1);
    const BitRows rows = random_rows(300, 20, random, context);
    btml::test::ImpatientContext impatient(0);
    RowSorter sorter(rows, impatient);
    EXPECT_THROW(sorter.propose(std::vector<uint16_t>{1, 2, 3}, impatient), Cancelled);
}

} // namespace
} // namespace btml::gp::test
