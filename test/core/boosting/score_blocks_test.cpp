#include "core/boosting/objectives/score_blocks.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace btml::boosting::test {
namespace {

constexpr double unit = 0x1p-36;

double number(uint64_t seed, uint64_t stream, uint64_t i) {
    return 2 * random_unit(seed, stream, i) - 1;
}

// At every level and for every number of rows within a few lanes, and for whole blocks: the same as row by row.
template <class Body>
void at_all_levels(const Body& body) {
    for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
        if (level > best_level()) continue;
        choose_level(level);
        for (size_t rows = 1; rows <= 3 * lanes; rows++) body(rows);
        body(derivative_block - 3);
        body(derivative_block);
    }
    choose_level(best_level());
}

TEST(ScoreBlocks, ScoresAndTheirLargest) {
    at_all_levels([](size_t rows) {
        std::vector<int64_t> scores(rows);
        std::vector<double> loaded(derivative_block, 77), largest(derivative_block, -1e3);
        for (size_t i = 0; i < rows; i++) scores[i] = static_cast<int64_t>(0x1p62 * number(rows, 0, i));
        load_scores(scores.data(), unit, rows, loaded.data());
        raise_to_scores(loaded.data(), rows, largest.data());
        for (size_t i = 0; i < rows; i++) {
            ASSERT_EQ(loaded[i], static_cast<double>(scores[i]) * unit);
            ASSERT_EQ(largest[i], std::max(-1e3, loaded[i]));
        }
        for (size_t i = rows; i % lanes != 0; i++) ASSERT_EQ(loaded[i], 0);
    });
}

TEST(ScoreBlocks, DerivativesOfALabel) {
    at_all_levels([](size_t rows) {
        std::vector<int64_t> scores(rows);
        std::vector<double> log_sums(rows), labels(rows);
        for (size_t i = 0; i < rows; i++) {
            scores[i] = static_cast<int64_t>(0x1p39 * number(rows, 0, i));
            log_sums[i] = 5 * number(rows, 1, i);
            labels[i] = std::floor(2 + 2 * number(rows, 2, i));
        }
        std::vector<Derivative> kept(rows + 1, {9, 9});
        BlockSums sums, expected;
        const double factor = 4.0 / 3;
        derive_label({rows, scores.data(), log_sums.data(), labels.data(), unit, 1, factor}, kept.data(), sums);
        for (size_t i = 0; i < rows; i++) {
            const double p = exponential(std::min(0.0, static_cast<double>(scores[i]) * unit - log_sums[i]));
            ASSERT_EQ(kept[i].residual, static_cast<float>((labels[i] == 1) - p));
            ASSERT_EQ(kept[i].hessian, static_cast<float>(p * (1 - p) * factor));
            expected.residual = std::max(expected.residual, std::fabs(kept[i].residual));
            expected.hessian = std::max(expected.hessian, kept[i].hessian);
        }
        ASSERT_EQ(sums.residual, expected.residual);
        ASSERT_EQ(sums.hessian, expected.hessian);
        ASSERT_EQ(kept[rows].residual, 9); // nothing is written behind the last row
    });
}

TEST(ScoreBlocks, DerivativesAreKeptAndRounded) {
    at_all_levels([](size_t rows) {
        constexpr double residual_scale = 0x1p21, hessian_scale = 0x1p12, loss_scale = 0x1p33;
        DerivativeBlock block;
        block.rows = rows;
        BlockSums expected;
        for (size_t i = 0; i < rows; i++) {
            block.residuals[i] = static_cast<float>(500 * number(rows, 3, i));
            block.hessians[i] = i % 5 == 0 ? 0 : static_cast<float>(1 + number(rows, 4, i));
            block.losses[i] = static_cast<float>(1000 * number(rows, 5, i));
            expected.residual = std::max(expected.residual, std::fabs(block.residuals[i]));
            expected.hessian = std::max(expected.hessian, block.hessians[i]);
            expected.largest_loss = std::max(expected.largest_loss, std::fabs(double{block.losses[i]}));
            expected.losses += std::llrint(block.losses[i] * loss_scale);
        }
        std::vector<Derivative> kept(rows + 1, {9, 9});
        BlockSums sums;
        keep_derivatives(block, loss_scale, kept.data(), sums);
        ASSERT_EQ(sums.residual, expected.residual);
        ASSERT_EQ(sums.hessian, expected.hessian);
        ASSERT_EQ(sums.largest_loss, expected.largest_loss);
        ASSERT_EQ(sums.losses, expected.losses);
        std::vector<Stats> rounded(rows + 1, {7, 7});
        round_derivatives(kept.data(), rows, residual_scale, hessian_scale, rounded.data());
        for (size_t i = 0; i < rows; i++) {
            ASSERT_EQ(kept[i].residual, block.residuals[i]);
            ASSERT_EQ(kept[i].hessian, block.hessians[i]);
            ASSERT_EQ(rounded[i].sum, std::lrint(block.residuals[i] * residual_scale));
            ASSERT_EQ(rounded[i].hessian, std::max(1L, std::lrint(block.hessians[i] * hessian_scale)));
        }
        ASSERT_EQ(kept[rows].residual, 9); // nothing is written behind the last row
        ASSERT_EQ(rounded[rows].sum, 7);
        std::vector<int64_t> weights(rows);
        for (size_t i = 0; i < rows; i++) weights[i] = int64_t{1} << (i % 50) | static_cast<int64_t>(i);
        std::vector<NodeSums> weighed(rows + 1);
        weighed[rows].total.sum = 7;
        weigh_derivatives(kept.data(), weights.data(), rows, residual_scale, hessian_scale, 0x1p-40, weighed.data());
        for (size_t i = 0; i < rows; i++) {
            const double weight = std::ldexp(weights[i], -40);
            ASSERT_EQ(weighed[i].total.sum, std::lrint(weight * static_cast<double>(rounded[i].sum)));
            ASSERT_EQ(weighed[i].total.hessian,
                      std::max(1L, std::lrint(weight * static_cast<double>(rounded[i].hessian))));
            ASSERT_EQ(weighed[i].tally.squares, 0);
            ASSERT_EQ(weighed[i].tally.count, weights[i]);
        }
        ASSERT_EQ(weighed[rows].total.sum, 7);
    });
}

} // namespace
} // namespace btml::boosting::test
