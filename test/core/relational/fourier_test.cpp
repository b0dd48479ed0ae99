#include "core/relational/queries/fourier.hpp"

#include "caught.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <numbers>

namespace btml::relational {
namespace {

using btml::test::caught;

// Σ_j x_j·exp(−2πi·jw/size), each angle from jw modulo the size.
std::complex<double> definition(const std::vector<double>& numbers, uint64_t w) {
    const uint64_t size = numbers.size();
    std::complex<double> sum;
    for (uint64_t j = 0; j < size; j++)
        sum += std::polar(numbers[j],
                          -2 * std::numbers::pi * static_cast<double>(j * w % size) / static_cast<double>(size));
    return sum;
}

std::vector<double> random_numbers(uint32_t size, uint64_t seed) {
    std::vector<double> numbers;
    for (uint32_t j = 0; j < size; j++) numbers.push_back(random_unit(1, seed, j) - 0.5);
    return numbers;
}

// Compares every `step`-th frequency, and the last one.
void expect_transform(FourierTransform& transform, uint64_t seed, uint64_t step) {
    const std::vector<double> numbers = random_numbers(transform.size(), seed);
    std::copy(numbers.begin(), numbers.end(), transform.input());
    transform.run();
    const uint64_t last = transform.size() / 2;
    for (uint64_t w = 0; w <= last; w = w < last ? std::min(w + step, last) : last + 1)
        EXPECT_LE(std::abs(transform.output()[w] - definition(numbers, w)), 1e-14 * transform.size()) << w;
    EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), transform.input()));
}

TEST(FourierTransform, EqualsItsDefinition) {
    MemoryBudget memory(uint64_t{1} << 30);
    for (uint32_t size = 1; size < 130; size++) {
        SCOPED_TRACE(size);
        FourierTransform transform(size, memory);
        for (uint64_t run = 0; run < 2; run++) expect_transform(transform, run, 1);
    }
    for (const uint32_t size : {243U, 400U, 625U, 1'000U, 1'009U, 1'024U, 2'000U, 2'018U}) {
        SCOPED_TRACE(size);
        FourierTransform transform(size, memory);
        expect_transform(transform, 2, 7);
    }
    EXPECT_EQ(memory.used(), 0U);
}

TEST(FourierTransform, OfLargeSizesEqualsItsDefinition) {
    MemoryBudget memory(uint64_t{1} << 30);
    for (const uint32_t size : {10'007U, 20'250U, 29'160U, 2 * 10'007U, 1U << 18, 1U << 20}) {
        SCOPED_TRACE(size);
        FourierTransform transform(size, memory);
        expect_transform(transform, size, size / 11);
    }
}

TEST(FourierTransform, EqualBytesWhateverWasTransformedBefore) {
    MemoryBudget memory(uint64_t{1} << 30);
    const auto transformed = [&](uint32_t size) {
        FourierTransform first(size, memory);
        FourierTransform transform(std::move(first));
        const std::vector<double> numbers = random_numbers(size, 1);
        std::copy(numbers.begin(), numbers.end(), transform.input());
        transform.run();
        return std::vector<FourierTransform::Complex>(transform.output(), transform.output() + size / 2 + 1);
    };
    const auto before = transformed(1'440);
    for (const uint32_t size : {12U, 30U, 36U, 40U, 48U, 60U, 72U, 120U, 144U, 720U, 2'880U}) transformed(size);
    EXPECT_EQ(transformed(1'440), before);
}

TEST(FourierTransform, KeepsToTheMemoryLimit) {
    MemoryBudget memory(FourierTransform::bytes(5'000));
    EXPECT_EQ(caught([&] { FourierTransform(5'400, memory); }).code, ErrorCode::memory_limit);
    EXPECT_EQ(memory.used(), 0U);
    const FourierTransform transform(5'000, memory);
    EXPECT_LE(memory.used(), memory.limit());
}

bool is_smooth(uint64_t size) {
    for (const uint64_t prime : {2U, 3U, 5U})
        while (size % prime == 0) size /= prime;
    return size == 1;
}

TEST(SmoothSize, IsTheLeastOneWithoutLargePrimeFactors) {
    uint64_t smooth = 1;
    for (uint64_t size = 1; size < 20'000; size++) {
        while (smooth < size || !is_smooth(smooth)) smooth++;
        ASSERT_EQ(smooth_size(size), smooth) << size;
    }
    EXPECT_EQ(smooth_size(29'000), 29'160U);
    EXPECT_EQ(smooth_size((1U << 20) - 1), 1U << 20);
    EXPECT_EQ(smooth_size(uint64_t{1} << 62), uint64_t{1} << 62);
}

} // namespace
} // namespace btml::relational
