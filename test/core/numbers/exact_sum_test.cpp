#include "core/numbers/exact_sum.hpp"

#include "caught.hpp"

#include "core/base/serial.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <vector>

namespace btml {
namespace {

using test::Caught;
using test::caught;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<double>::max();
constexpr double least = std::numeric_limits<double>::denorm_min();

// The same sum bit by bit: each bit of a term is added to the place it stands for, and carries are made at the end.
class BitSum {
  public:
    void add(double x) {
        int exponent = 0;
        auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
        exponent -= 53;
        while (exponent < -1074) { // only zeros are lost
            mantissa /= 2;
            exponent++;
        }
        for (int bit = 0; bit < 54; bit++)
            if (std::abs(mantissa) >> bit & 1) counts_[exponent + 1074 + bit] += mantissa < 0 ? -1 : 1;
    }
    double value() const {
        std::vector<int64_t> bits = counts_;
        const bool negative = carry(bits) < 0;
        if (negative) {
            for (int64_t& bit : bits) bit = -bit;
            carry(bits);
        }
        int top = static_cast<int>(bits.size()) - 1;
        while (top >= 0 && bits[top] == 0) top--;
        const int last = std::max(0, top - 52);
        uint64_t mantissa = 0;
        for (int i = top; i >= last; i--) mantissa = 2 * mantissa + static_cast<uint64_t>(bits[i]);
        const bool half = last > 0 && bits[last - 1] == 1;
        const bool more = last > 1 && std::any_of(bits.begin(), bits.begin() + last - 1, [](int64_t b) { return b; });
        if (half && (more || mantissa % 2 == 1)) mantissa++;
        const double result = std::ldexp(static_cast<double>(mantissa), last - 1074);
        return negative ? -result : result;
    }

  private:
    // Makes all bits 0 or 1, and returns what is carried out of the highest.
    static int64_t carry(std::vector<int64_t>& bits) {
        int64_t carried = 0;
        for (int64_t& bit : bits) {
            carried += bit;
            bit = carried & 1;
            carried >>= 1;
        }
        return carried;
    }

    std::vector<int64_t> counts_ = std::vector<int64_t>(2300, 0);
};

double sum_of(const std::vector<double>& terms) {
    ExactSum sum;
    for (const double x : terms) sum.add(x);
    return sum.value();
}

// Terms of many kinds: of one magnitude, of all, denormal, that cancel, that are half a unit apart.
std::vector<double> random_terms(uint64_t seed) {
    const auto random = [&](uint64_t stream, uint64_t i) { return random_bits(seed, stream, i); };
    std::vector<double> terms;
    const uint64_t kind = seed % 6, count = 1 + random(0, 0) % 60;
    for (uint64_t i = 0; i < count; i++) {
        double x = std::bit_cast<double>((random(1, i) & ~(uint64_t{0x7ff} << 52)) | uint64_t{0x3ff} << 52);
        if (kind == 1) x = std::ldexp(x, static_cast<int>(random(2, i) % 2000) - 1060);
        if (kind == 2) x = static_cast<double>(static_cast<int64_t>(random(2, i) % 64)) * least * (x < 0 ? -1 : 1);
        if (kind == 3 && i % 2 == 1) x = -terms.back() * (random(2, i) % 8 == 0 ? 1 + 0x1p-52 : 1);
        if (kind == 4) x = std::copysign(std::ldexp(1.0, static_cast<int>(random(2, i) % 110)), x);
        if (kind == 5) x = std::copysign(std::ldexp(1.0, static_cast<int>(random(2, i) % 4) * 64 - 640), x);
        terms.push_back(x);
    }
    return terms;
}

TEST(ExactSum, IsRoundedCorrectly) {
    for (uint64_t seed = 0; seed < 3'000; seed++) {
        const std::vector<double> terms = random_terms(seed);
        BitSum expected;
        for (const double x : terms) expected.add(x);
        EXPECT_EQ(sum_of(terms), expected.value()) << seed;
    }
}

TEST(ExactSum, AgreesWithQuadruplePrecision) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        ExactSum sum;
        __float128 expected = 0; // whose 113 bits hold every sum below
        for (uint64_t i = 0; i < 1'000; i++) {
            const double x = std::ldexp(static_cast<double>(static_cast<int64_t>(random_bits(seed, 0, i)) >> 11),
                                        static_cast<int>(random_bits(seed, 1, i) % 40));
            sum.add(x);
            expected += x;
        }
        EXPECT_EQ(sum.value(), static_cast<double>(expected)) << seed;
    }
}

TEST(ExactSum, OrderAndSplitsDoNotMatter) {
    for (uint64_t seed = 0; seed < 600; seed++) {
        std::vector<double> terms = random_terms(seed);
        ExactSum all;
        for (const double x : terms) all.add(x);
        for (size_t i = terms.size() - 1; i > 0; i--) std::swap(terms[i], terms[random_bits(seed, 7, i) % (i + 1)]);
        std::vector<ExactSum> parts(1 + seed % 5);
        for (size_t i = 0; i < terms.size(); i++) parts[random_bits(seed, 8, i) % parts.size()].add(terms[i]);
        for (size_t i = 1; i < parts.size(); i++) parts[0].add(parts[i]);
        EXPECT_EQ(parts[0], all) << seed; // the same digits, not only the same value
        for (const double x : terms) all.add(-x);
        EXPECT_EQ(all, ExactSum()) << seed;
    }
}

TEST(ExactSum, HardCases) {
    EXPECT_EQ(sum_of({}), 0);
    EXPECT_EQ(sum_of({0.0, -0.0}), 0);
    EXPECT_EQ(sum_of({1e308, 1, -1e308}), 1);
    EXPECT_EQ(sum_of({largest, largest, -largest, -largest, least}), least);
    EXPECT_EQ(sum_of({0.1, 0.2, 0.3, -0.6}), 0x1p-55); // of what the four literals stand for
    // Halfway between two doubles: to the even one, unless anything is beneath.
    EXPECT_EQ(sum_of({1, 0x1p-53}), 1);
    EXPECT_EQ(sum_of({1, 0x1p-53, least}), 1 + 0x1p-52);
    EXPECT_EQ(sum_of({1, 0x1p-52, 0x1p-53}), 1 + 0x1p-51);
    EXPECT_EQ(sum_of({1, 0x1p-52, 0x1p-53, -least}), 1 + 0x1p-52);
    EXPECT_EQ(sum_of({-1, -0x1p-53, -least}), -1 - 0x1p-52);
    EXPECT_EQ(sum_of({2, -0x1p-53}), 2); // nearer to 2 than to the double beneath
    // Denormal numbers are exact.
    EXPECT_EQ(sum_of({0x1p-1022, -least}), 0x1p-1022 - least);
    EXPECT_EQ(sum_of({least, least, least}), 3 * least);
}

TEST(ExactSum, CarriesAreExactAtEveryDigit) {
    for (int place = -1074; place < 1016; place++) {
        ExactSum sum;
        const double x = std::ldexp(1.0, place);
        for (int i = 0; i < 300; i++) sum.add(i % 3 == 0 ? -x : x);
        EXPECT_EQ(sum.value(), 100 * x) << place;
        for (int i = 0; i < 150; i++) sum.add(-x);
        EXPECT_EQ(sum.value(), -50 * x) << place;
    }
}

TEST(ExactSum, ManyEqualTermsByMerging) {
    for (const double x : {1.0, 0.1, -1.0 / 3, 0x1.fffffffffffffp-900, 1e290}) {
        ExactSum sum;
        sum.add(x);
        for (int i = 0; i < 40; i++) {
            const ExactSum half = sum;
            sum.add(half);
        }
        EXPECT_EQ(sum.value(), std::ldexp(x, 40));
    }
}

TEST(ExactSum, OverflowIsThatOfTheResult) {
    ExactSum sum;
    for (int i = 0; i < 1'000; i++) sum.add(largest);
    const Caught error = caught([&] { (void)sum.value(); });
    EXPECT_EQ(error.code, ErrorCode::out_of_range);
    EXPECT_EQ(error.message, "value out of range: overflow");
    EXPECT_EQ(sum.nearest(), infinity);
    for (int i = 0; i < 999; i++) sum.add(-largest);
    EXPECT_EQ(sum.value(), largest);
    sum.add(std::ldexp(1.0, 969)); // beneath half of a unit
    EXPECT_EQ(sum.value(), largest);
    sum.add(std::ldexp(1.0, 969));
    EXPECT_TRUE(caught([&] { (void)sum.value(); }).thrown);
    // Terms whose number no loop reaches.
    ExactSum many;
    many.add(-largest);
    const auto keep_doubling = [&] {
        for (int i = 0; i < 100; i++) many.add(ExactSum(many));
    };
    EXPECT_EQ(caught(keep_doubling).code, ErrorCode::out_of_range);
}

TEST(ExactSum, InfinitiesAndNaN) {
    EXPECT_EQ(sum_of({1, infinity, 2}), infinity);
    EXPECT_EQ(sum_of({-infinity, 1, -infinity}), -infinity);
    EXPECT_EQ(sum_of({largest, largest, -infinity}), -infinity);
    EXPECT_TRUE(std::isnan(sum_of({infinity, 1, -infinity})));
    EXPECT_TRUE(std::isnan(sum_of({std::nan(""), 1, infinity})));
    EXPECT_TRUE(std::isnan(sum_of({-std::nan("")})));
    ExactSum a, b;
    a.add(infinity);
    b.add(-infinity);
    EXPECT_TRUE(caught([&] { (void)a.take_part(); }).thrown);
    a.add(b);
    EXPECT_TRUE(std::isnan(a.value()));
}

template <class Sum>
void expect_parts_add_up(int exponent) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        Sum sum;
        for (const double x : random_terms(seed)) sum.add(ScaledNumber(x, exponent));
        Sum rest = sum, again;
        for (int before = INT_MAX;;) {
            const ScaledNumber part = rest.take_part();
            if (part.mantissa == 0) break;
            EXPECT_LE(part.exponent, before - 52) << seed;
            before = part.exponent;
            again.add(part);
        }
        EXPECT_EQ(again, sum) << seed;
        EXPECT_EQ(rest, Sum()) << seed;
    }
}

TEST(ExactSum, PartsAddUp) {
    expect_parts_add_up<ExactSum>(0);
}

TEST(WideSum, PartsAddUpWhereNoDoubleHoldsThem) {
    for (const int exponent : {-2148, -1500, 0, 1500, 2047}) expect_parts_add_up<WideSum>(exponent);
}

TEST(WideSum, HasTheValuesOfAnExactSumAtAnyScale) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        ExactSum exact;
        WideSum same, small, large;
        for (const double x : random_terms(seed)) {
            exact.add(x);
            same.add(x);
            small.add(ScaledNumber(x, -2000));
            large.add(ScaledNumber(x, 2000));
        }
        EXPECT_EQ(same.nearest(), exact.nearest()) << seed;
        EXPECT_EQ(small.scaled().mantissa, exact.scaled().mantissa) << seed;
        EXPECT_EQ(large.scaled().mantissa, exact.scaled().mantissa) << seed;
    }
}

TEST(WideSum, NumbersBeyondItsDigitsAreRefusedOrLeftOut) {
    WideSum sum;
    EXPECT_EQ(caught([&] { sum.add(ScaledNumber(1, 5000)); }).code, ErrorCode::out_of_range);
    sum.add(ScaledNumber(1, -3222));
    sum.add(ScaledNumber(1, -3223));
    sum.add(ScaledNumber(1, -9000));
    EXPECT_EQ(sum.scaled().exponent, -3221);
}

std::vector<std::byte> flat(const ExactSum& sum) {
    std::vector<std::byte> bytes(sum.flat_size());
    EXPECT_EQ(sum.flatten(bytes.data()), bytes.data() + bytes.size());
    return bytes;
}

ExactSum parsed(const std::vector<std::byte>& bytes) {
    Reader reader(bytes);
    const ExactSum sum = ExactSum::parse(reader);
    reader.finish();
    return sum;
}

TEST(ExactSum, BytesGiveTheSumBack) {
    EXPECT_EQ(flat(ExactSum()).size(), 3U);
    for (uint64_t seed = 0; seed < 600; seed++) {
        ExactSum sum;
        for (const double x : random_terms(seed)) sum.add(x);
        if (seed % 7 == 0) sum.add(infinity);
        const std::vector<std::byte> bytes = flat(sum);
        if (seed % 6 == 0) {
            EXPECT_LE(bytes.size(), 3 + 3 * 8U); // terms of one magnitude
        }
        EXPECT_EQ(parsed(bytes), sum) << seed;
        for (size_t length = 0; length < bytes.size(); length++)
            EXPECT_EQ(caught([&] {
                          parsed({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)});
                      }).code,
                      ErrorCode::corrupt_model);
    }
}

TEST(ExactSum, HostileBytesAreRefused) {
    const auto refusal = [](std::vector<int> head, size_t digits, int digit = 1) {
        std::vector<std::byte> bytes;
        for (const int value : head) bytes.push_back(static_cast<std::byte>(value));
        bytes.resize(head.size() + 8 * digits, static_cast<std::byte>(digit));
        const Caught error = caught([&] { parsed(bytes); });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model);
        return error.detail;
    };
    EXPECT_EQ(refusal({0, 33, 1}, 1), "");
    EXPECT_EQ(refusal({7, 0, 34}, 34, 255), "");
    EXPECT_EQ(refusal({8, 0, 0}, 0), "A sum has the flags 8.");
    EXPECT_EQ(refusal({0, 34, 1}, 1), "A sum has 1 digits from digit 34 on.");
    EXPECT_EQ(refusal({0, 255, 255}, 255), "A sum has 255 digits from digit 255 on.");
    EXPECT_EQ(refusal({0, 5, 0}, 0), "A sum has 0 digits from digit 5 on.");
    EXPECT_EQ(refusal({0, 5, 2}, 2, 0), "A sum has zeros at an end of its digits.");
}

// Any bytes either give a sum that can be used, or are refused.
TEST(ExactSum, RandomBytes) {
    for (uint64_t seed = 0; seed < 3'000; seed++) {
        std::vector<std::byte> bytes(3 + 8 * (random_bits(seed, 0, 0) % 35));
        for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<std::byte>(random_bits(seed, 1, i));
        bytes[0] &= std::byte{7};
        bytes[2] = static_cast<std::byte>(bytes.size() / 8);
        bytes[1] = static_cast<std::byte>(random_bits(seed, 2, 0) % 36);
        const Caught error = caught([&] {
            ExactSum sum = parsed(bytes);
            EXPECT_EQ(flat(sum), bytes) << seed;
            sum.add(sum);
            (void)sum.value();
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model || error.code == ErrorCode::out_of_range);
    }
}

} // namespace
} // namespace btml
