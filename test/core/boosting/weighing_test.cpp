#include "boosting_data.hpp"
#include "core/boosting/rows/weighing.hpp"

namespace btml::boosting::test {
namespace {

using Weigh = double (*)(Random&);

double one_to_thousand(Random& random) {
    return static_cast<double>(1 + random.below(1000));
}
double around_one(Random& random) {
    return 0.5 + random.unit();
}
double of_any_size(Random& random) {
    return std::exp(20 * (random.unit() - 0.5));
}

struct Weighted {
    QuietContext context;
    ThreadTeam team{context};
    Dataset dataset;
    TrainingRows training;

    explicit Weighted(const PlainData& plain) : dataset(to_dataset(plain, context)), training(dataset, team, context) {}
};

PlainData rows_of_weights(size_t rows, Weigh weigh, uint64_t seed) {
    Random random(seed);
    PlainData data;
    data.rows = rows;
    data.tables = {{rows, {}}};
    data.target.assign(rows, 1);
    for (size_t i = 0; i < rows; i++) data.weight.push_back(weigh(random));
    return data;
}

// Rounds weight · number, to be exact wherever that fits 64 bits.
int64_t plainly(double weight, int shift, int64_t number) {
    const long double exact = std::ldexp(static_cast<long double>(weight), shift) * static_cast<long double>(number);
    return std::llrint(exact);
}

TEST(Weighing, IsTheSameAtAllLevelsAndRowByRow) {
    for (const Weigh weigh_of : {one_to_thousand, around_one, of_any_size})
        for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
            if (level > best_level()) continue;
            choose_level(level);
            for (size_t rows = 1; rows < 40; rows++) {
                const PlainData plain = rows_of_weights(rows, weigh_of, rows);
                const Weighted weighted(plain);
                const TrainingRows& training = weighted.training;
                Random random(rows);
                std::vector<int64_t> numbers(rows), weights(rows);
                for (size_t i = 0; i < rows; i++) {
                    numbers[i] = static_cast<int64_t>(0x1p40 * (2 * random.unit() - 1));
                    weights[i] = training.weight(static_cast<uint32_t>(i));
                }
                const std::vector<int64_t> before = numbers;
                weigh(training, weights.data(), rows, max_weighed_at_once, numbers.data());
                for (size_t i = 0; i < rows; i++) {
                    ASSERT_EQ(numbers[i], training.weigh_by(weights[i], before[i]));
                    ASSERT_NEAR(numbers[i], plainly(plain.weight[i], training.shift(), before[i]), 1);
                }
            }
        }
    choose_level(best_level());
}

// A row of an integer weight is so many copies of it, bit for bit.
TEST(Weighing, IsExactForIntegers) {
    const PlainData plain = rows_of_weights(1000, one_to_thousand, 1);
    const Weighted weighted(plain);
    Random random(2);
    for (uint32_t row = 0; row < 1000; row++)
        for (const int bits : {5, 30, 40, 42, 45, 50}) {
            const auto number = static_cast<int64_t>(std::ldexp(2 * random.unit() - 1, bits));
            ASSERT_EQ(weighted.training.weigh(row, number), static_cast<int64_t>(plain.weight[row]) * number);
        }
}

} // namespace
} // namespace btml::boosting::test
