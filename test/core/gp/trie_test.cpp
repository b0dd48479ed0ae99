#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/tree/joint_posterior.hpp"
#include "core/gp/tree/leave_one_out.hpp"
#include "core/gp/tree/observations.hpp"
#include "covariance_product.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

std::vector<uint64_t> words_of(const std::string& string) {
    std::vector<uint64_t> words((string.size() + 63) / 64, 0);
    for (size_t level = 0; level < string.size(); level++)
        if (string[level] == '1') words[level / 64] |= uint64_t{1} << (63 - level % 64);
    return words;
}

BitRows rows_of(const std::vector<std::string>& strings, size_t levels, RunContext& context) {
    BitRows rows{strings.size(), (levels + 63) / 64, Buffer<uint64_t>(context.memory(), "rows' bits")};
    for (const std::string& string : strings)
        for (const uint64_t word : words_of(string)) rows.data.push_back(word);
    return rows;
}

std::vector<uint16_t> every_level(size_t levels) {
    std::vector<uint16_t> bits(levels);
    std::iota(bits.begin(), bits.end(), 0);
    return bits;
}

Trie trie_of(const PlainGp& plain, RunContext& context) {
    const size_t levels = plain.kernel.levels();
    const BitRows rows = rows_of(plain.strings, levels, context);
    RowSorter sorter(rows, context);
    const SortedRows& sorted = sorter.propose(every_level(levels), context);
    Observations observations = make_observations(plain.target, plain.weight, context), in_order(context.memory());
    gather(observations, sorted.rows.span(), in_order, context);
    return Trie(rows, every_level(levels), sorted, in_order, plain.kernel, context);
}

// The last levels of a string of which `known` are known.
struct Point {
    std::string string;
    size_t known;
    std::vector<uint64_t> words;

    Point(const std::string& text, size_t levels) : string(text), known(levels), words(words_of(text)) {}
    explicit Point(const std::string& text) : Point(text, text.size()) {}
    operator String() const { return {words.data(), known}; }
};

// New points, points of the data, and points with unknown levels.
std::vector<Point> random_points(const PlainGp& plain, const GpShape& shape, size_t count, uint64_t seed) {
    Random random(seed + 1000);
    std::vector<Point> points;
    for (size_t i = 0; i < count; i++) {
        const std::string string = random_string(shape, plain.strings, random);
        points.emplace_back(string, random.chance(0.2) ? random.below(shape.levels + 1) : shape.levels);
    }
    return points;
}

size_t shared_levels(const Point& a, const Point& b) {
    return std::min({a.known, b.known, common_levels(a.string, b.string)});
}

Normal dense_latent(const PlainGp& plain, const Point& point) {
    const Cholesky factor(observed_covariance(plain));
    Dense covariances{0}, with;
    for (const double weight : plain.kernel.weights) covariances.push_back(covariances.back() + weight);
    for (const std::string& string : plain.strings) with.push_back(covariances[shared_levels(point, Point(string))]);
    const Dense solved = factor.solve(with);
    return {static_cast<double>(dot(solved, dense(plain.target))),
            static_cast<double>(covariances.back() - dot(solved, with))};
}

long double posterior_covariance(const PlainGp& plain, const Point& a, const Point& b, bool same) {
    const Cholesky factor(observed_covariance(plain));
    Dense covariances{0}, with_a, with_b;
    for (const double weight : plain.kernel.weights) covariances.push_back(covariances.back() + weight);
    for (const std::string& string : plain.strings) {
        with_a.push_back(covariances[shared_levels(a, Point(string))]);
        with_b.push_back(covariances[shared_levels(b, Point(string))]);
    }
    return (same ? covariances.back() : covariances[shared_levels(a, b)]) - dot(with_a, factor.solve(with_b));
}

TEST(BinaryTreeTrie, PredictionsEqualDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 150; seed++) {
        const GpShape shape = shape_of(seed);
        const PlainGp plain = random_gp(shape, seed);
        const Trie trie = trie_of(plain, context);
        const double signal = plain.kernel.signal();
        expect_near(trie.negative_log_likelihood(), dense_negative_log_likelihood(plain), 1, std::to_string(seed));
        EXPECT_EQ(trie.rows(), static_cast<double>(plain.rows()));
        for (const Point& point : random_points(plain, shape, 12, seed)) {
            const Normal expected = dense_latent(plain, point), latent = trie.latent(point);
            expect_near(latent.mean, expected.mean, 1e-3 * std::sqrt(signal + 1), std::to_string(seed));
            expect_near(latent.variance, expected.variance, 1e-3 * signal, std::to_string(seed));
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(BinaryTreeTrie, WithoutObservationsThePriorIsLeft) {
    QuietContext context;
    PlainGp nothing;
    nothing.kernel = {{0.5, 0.25, 2}, 0.1};
    const Trie trie = trie_of(nothing, context);
    EXPECT_EQ(trie.latent(Point("010")).mean, 0);
    EXPECT_EQ(trie.latent(Point("010")).variance, 2.75);
    EXPECT_EQ(trie.negative_log_likelihood(), 0);
    EXPECT_EQ(trie.strings(), 0u);
}

// Insertions and removals in any order leave what a fit to the rows that remain gives.
TEST(BinaryTreeTrie, InsertAndRemoveEqualAFit) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        Random random(seed);
        const GpShape shape = shape_of(seed);
        PlainGp plain = random_gp(shape, seed);
        Trie trie = trie_of(plain, context);
        for (int step = 0; step < 40; step++) {
            if (plain.rows() > 0 && random.chance(0.5)) {
                const size_t row = random.below(plain.rows());
                trie.remove(Point(plain.strings[row]), plain.target[row], plain.weight_of(row));
                const auto at = static_cast<ptrdiff_t>(row);
                plain.strings.erase(plain.strings.begin() + at);
                plain.target.erase(plain.target.begin() + at);
                if (shape.weights) plain.weight.erase(plain.weight.begin() + at);
            } else {
                plain.strings.push_back(random_string(shape, plain.strings, random));
                plain.target.push_back(random.normal());
                if (shape.weights) plain.weight.push_back(0.1 + random.unit());
                trie.insert(Point(plain.strings.back()), plain.target.back(), shape.weights ? plain.weight.back() : 1);
            }
            const Trie fitted = trie_of(plain, context);
            expect_near(trie.negative_log_likelihood(), fitted.negative_log_likelihood(), 1, std::to_string(seed));
            EXPECT_EQ(trie.strings(), fitted.strings());
            EXPECT_EQ(trie.rows(), fitted.rows());
            for (const Point& point : random_points(plain, shape, 3, seed)) {
                expect_near(trie.latent(point).mean, fitted.latent(point).mean, 1);
                expect_near(trie.latent(point).variance, fitted.latent(point).variance, 1e-3);
            }
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(BinaryTreeTrie, ImpossibleChangesAreRefused) {
    QuietContext context;
    PlainGp plain;
    plain.strings = {"001", "001", "110"};
    plain.target = {1, 2, 3};
    plain.kernel = {{1, 1, 1}, 0.5};
    Trie trie = trie_of(plain, context);
    const double before = trie.negative_log_likelihood();
    const auto removal = [&](const std::string& string, double target, double weight) {
        return caught([&] { trie.remove(Point(string), target, weight); });
    };
    EXPECT_EQ(removal("000", 1, 1).message, "the observation to remove is not in the model");
    EXPECT_EQ(removal("000", 1, 1).detail, "No observation has these features.");
    EXPECT_EQ(removal("110", 4, 1).detail, "The one with these features has another target or weight.");
    EXPECT_EQ(removal("110", 3, 2).detail, "The one with these features has another target or weight.");
    EXPECT_EQ(removal("001", 1, 2).detail, "Those with these features have less weight together.");
    EXPECT_EQ(removal("001", 1, std::nan("")).detail, "Its target or its weight is impossible.");
    EXPECT_EQ(caught([&] { trie.remove(Point("001", 2), 1, 1); }).detail, "No observation has these features.");
    EXPECT_EQ(caught([&] { trie.insert(Point("001", 2), 1, 1); }).message,
              "an observation with an unknown value cannot be inserted");
    EXPECT_EQ(caught([&] { trie.insert(Point("001"), std::nan(""), 1); }).message, "a target of NaN is not finite");
    EXPECT_EQ(caught([&] { trie.insert(Point("001"), 1, 0); }).message, "invalid weight 0");
    EXPECT_EQ(trie.negative_log_likelihood(), before);
}

TEST(LeaveOneOut, EqualsFitsWithoutTheRow) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const PlainGp plain = sorted(random_gp(shape_of(seed), seed));
        const Observations observations = make_observations(plain.target, plain.weight, context);
        const Normals latent = leave_one_out(common_of_neighbours(plain), observations, plain.kernel, context);
        for (size_t row = 0; row < plain.rows(); row += 1 + plain.rows() / 9) {
            PlainGp others = plain;
            const auto at = static_cast<ptrdiff_t>(row);
            others.strings.erase(others.strings.begin() + at);
            others.target.erase(others.target.begin() + at);
            if (!others.weight.empty()) others.weight.erase(others.weight.begin() + at);
            const Normal expected = dense_latent(others, Point(plain.strings[row]));
            expect_near(latent.mean[row], expected.mean, 1e-3, std::to_string(seed));
            expect_near(latent.variance[row], expected.variance, 0, std::to_string(seed));
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(LeaveOneOut, SolvesLinearSystems) {
    QuietContext context;
    const PlainGp plain = sorted(random_gp({.rows = 50, .weights = true}, 7));
    const Normals latent = leave_one_out(common_of_neighbours(plain),
                                         make_observations(plain.target, plain.weight, context), plain.kernel, context);
    const Dense solved = Cholesky(observed_covariance(plain)).solve(dense(plain.target));
    for (size_t i = 0; i < 50; i++)
        expect_near((plain.target[i] - latent.mean[i]) / (latent.variance[i] + plain.kernel.noise / plain.weight[i]),
                    static_cast<double>(solved[i]), 1);
}

TEST(LeaveOneOut, CanBeCancelled) {
    const std::vector<double> target(400'000, 1.0);
    const std::vector<uint16_t> common(target.size(), 0);
    QuietContext quiet;
    const Observations observations = make_observations(target, {}, quiet);
    for (uint64_t polls = 0; polls < 2; polls++) {
        ImpatientContext context(polls);
        EXPECT_THROW(leave_one_out(common, observations, {{1, 0.5}, 0.1}, context), Cancelled) << polls;
    }
}

TEST(CovarianceProduct, EqualsDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const PlainGp plain = sorted(random_gp(shape_of(seed), seed));
        const Dense matrix = dense_covariance(plain.strings, plain.strings, plain.kernel);
        std::vector<double> product = plain.target;
        covariance_product(common_of_neighbours(plain), plain.kernel, product, product, context);
        for (size_t i = 0; i < plain.rows(); i++) {
            const auto row = matrix.begin() + static_cast<ptrdiff_t>(i * plain.rows());
            const Dense entries(row, row + static_cast<ptrdiff_t>(plain.rows()));
            expect_near(product[i], static_cast<double>(dot(entries, dense(plain.target))), plain.kernel.signal());
        }
    }
}

TEST(JointPosterior, EqualsDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 80; seed++) {
        const GpShape shape = shape_of(seed);
        const PlainGp plain = random_gp(shape, seed);
        const Trie trie = trie_of(plain, context);
        std::vector<Point> points = random_points(plain, shape, 10, seed);
        points.push_back(points[3]);
        const std::vector<String> strings(points.begin(), points.end());
        const JointPosterior joint(trie, strings, context);
        const double signal = plain.kernel.signal();
        for (size_t i = 0; i < points.size(); i++) {
            expect_near(joint.mean(i), trie.latent(points[i]).mean, 1e-3 * std::sqrt(signal + 1));
            expect_near(joint.covariance(i, i), trie.latent(points[i]).variance, 1e-3 * signal);
            for (size_t j = 0; j <= i; j += 3) {
                const auto expected = static_cast<double>(posterior_covariance(plain, points[i], points[j], i == j));
                expect_near(joint.covariance(i, j), expected, 1e-2 * signal, std::to_string(seed));
                EXPECT_EQ(joint.covariance(i, j), joint.covariance(j, i));
            }
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

// Means and covariances of many draws, within five standard errors.
TEST(JointPosterior, DrawsHaveItsDistribution) {
    QuietContext context;
    const GpShape shape{.rows = 20, .levels = 8};
    const PlainGp plain = random_gp(shape, 3);
    const Trie trie = trie_of(plain, context);
    std::vector<Point> points = random_points(plain, shape, 6, 3);
    points.emplace_back(points[0].string);
    const std::vector<String> strings(points.begin(), points.end());
    const JointPosterior joint(trie, strings, context);
    constexpr int draws = 20000;
    std::vector<double> values(7), sums(7, 0.0), products(49, 0.0), kurtosis(7, 0.0);
    for (int draw = 0; draw < draws; draw++) {
        joint.draw(11, static_cast<uint64_t>(draw), values);
        for (size_t i = 0; i < 7; i++) {
            const double centred = values[i] - joint.mean(i);
            sums[i] += centred;
            kurtosis[i] += std::pow(centred, 4);
            for (size_t j = 0; j < 7; j++) products[i * 7 + j] += centred * (values[j] - joint.mean(j));
        }
    }
    for (size_t i = 0; i < 7; i++) {
        const double variance = joint.covariance(i, i);
        EXPECT_NEAR(sums[i] / draws, 0, 5 * std::sqrt(variance / draws));
        EXPECT_NEAR(kurtosis[i] / draws, 3 * variance * variance, 5 * variance * variance * std::sqrt(96.0 / draws));
        for (size_t j = 0; j < 7; j++) {
            const double covariance = joint.covariance(i, j);
            const double spread = std::sqrt((variance * joint.covariance(j, j) + covariance * covariance) / draws);
            EXPECT_NEAR(products[i * 7 + j] / draws, covariance, 5 * spread);
        }
    }
    std::vector<double> again(7);
    joint.draw(11, 5, values);
    joint.draw(11, 5, again);
    EXPECT_EQ(values, again);
    joint.draw(12, 5, again);
    EXPECT_NE(values, again);
}

TEST(JointPosterior, NoPoints) {
    QuietContext context;
    const Trie trie = trie_of(random_gp({}, 1), context);
    EXPECT_EQ(JointPosterior(trie, {}, context).points(), 0u);
}

TEST(DistinctRows, HaveTheLikelihoodOfTheRows) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const GpShape shape = shape_of(seed);
        const PlainGp plain = random_gp(shape, seed);
        const BitRows rows = rows_of(plain.strings, shape.levels, context);
        const Observations observations = make_observations(plain.target, plain.weight, context);
        const DistinctRows distinct = merge_equal_rows(rows, shape.levels, observations, context);
        EXPECT_EQ(distinct.rows.rows, trie_of(plain, context).strings());
        const DistinctRows again = merge_equal_rows(distinct.rows, shape.levels, distinct.observations, context);
        EXPECT_EQ(again.rows.rows, distinct.rows.rows);
        for (size_t levels = shape.levels + 1; levels-- > 0;) { // shorter orders have more equal strings
            const auto likelihood = [&](const BitRows& bits, const Observations& of, Gradient& gradient) {
                RowSorter sorter(bits, context);
                const SortedRows& sorted = sorter.propose(every_level(levels), context);
                Observations in_order(context.memory());
                gather(of, sorted.rows.span(), in_order, context);
                Kernel kernel = plain.kernel;
                kernel.weights.resize(levels);
                LikelihoodGradient pass(context);
                return pass(sorted.common.span(), in_order, kernel, gradient, context);
            };
            Gradient gradient, expected, twice;
            const double value = likelihood(rows, observations, expected);
            expect_near(likelihood(distinct.rows, distinct.observations, gradient), value, 1, std::to_string(seed));
            expect_near(likelihood(again.rows, again.observations, twice), value, 1);
            expect_near(gradient.noise, expected.noise, 1);
            expect_near(twice.noise, expected.noise, 1);
            for (size_t l = 0; l < levels; l++)
                expect_near(gradient.weights[l], expected.weights[l], 1 + largest(expected.weights));
            if (levels > 3) levels -= levels / 3;
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

std::string bytes_of(const Trie& trie) {
    QuietContext quiet;
    Writer writer(quiet);
    trie.encode(writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

Trie decode_bytes(const std::string& bytes, RunContext& context) {
    Reader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
    Trie trie = Trie::decode(reader, context);
    reader.finish();
    return trie;
}

TEST(BinaryTreeTrie, BytesAreReadBack) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const GpShape shape = shape_of(seed);
        const PlainGp plain = random_gp(shape, seed);
        Trie trie = trie_of(plain, context);
        trie.insert(Point(std::string(shape.levels, '1')), 0.5, 1);
        trie.remove(Point(plain.strings[0]), plain.target[0], plain.weight_of(0));
        const std::string bytes = bytes_of(trie);
        EXPECT_LE(bytes.size(), 4 + 8 * shape.levels + 28 + trie.strings() * (20 + (shape.levels + 7) / 8));
        const Trie copy = decode_bytes(bytes, context);
        EXPECT_EQ(bytes_of(copy), bytes);
        EXPECT_EQ(copy.rows(), trie.rows());
        expect_near(copy.negative_log_likelihood(), trie.negative_log_likelihood(), 1);
        for (const Point& point : random_points(plain, shape, 5, seed)) {
            expect_near(copy.latent(point).mean, trie.latent(point).mean, 1);
            expect_near(copy.latent(point).variance, trie.latent(point).variance, 1e-3);
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(BinaryTreeTrie, EveryTruncationIsRefused) {
    QuietContext context;
    const std::string bytes = bytes_of(trie_of(random_gp({.weights = true}, 1), context));
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_EQ(caught([&] { decode_bytes(bytes.substr(0, length), context); }).code, ErrorCode::corrupt_model);
    EXPECT_EQ(caught([&] { decode_bytes(bytes + "x", context); }).code, ErrorCode::corrupt_model);
}

// Whatever decodes can be predicted with, changed and encoded.
TEST(BinaryTreeTrie, DamagedBytesAreRefusedOrHarmless) {
    QuietContext context;
    const GpShape shape{.rows = 12, .levels = 70, .alike = 0.97, .weights = true};
    const PlainGp plain = random_gp(shape, 2);
    const std::string bytes = bytes_of(trie_of(plain, context));
    Random random(1);
    int accepted = 0;
    for (int round = 0; round < 20000; round++) {
        std::string damaged = bytes;
        for (size_t flips = 1 + random.below(3); flips > 0; flips--)
            damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
        const auto error = caught([&] {
            Trie trie = decode_bytes(damaged, context);
            accepted++;
            EXPECT_EQ(bytes_of(trie), damaged);
            const std::vector<Point> points = random_points(plain, shape, 3, static_cast<uint64_t>(round));
            for (const Point& point : points) trie.latent(point);
            trie.negative_log_likelihood();
            JointPosterior(trie, std::vector<String>(points.begin(), points.end()), context);
            trie.insert(Point(points[0].string), 1, 1);
        });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model) << error.message;
    }
    EXPECT_GT(accepted, 1000);
    EXPECT_EQ(context.memory().used(), 0u);
}

} // namespace
} // namespace btml::gp::test
