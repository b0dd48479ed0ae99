#include "caught.hpp"
#include "gp_reference.hpp"

#include "core/gp/tree/leave_one_out.hpp"
#include "covariance_product.hpp"
#include "sros.hpp"

namespace btml::gp::test {
namespace {

// Arrays of rows × columns, column by column.
struct PlainSros {
    size_t rows, columns, parts;
    std::vector<uint32_t> p;
    std::vector<double> c, u;

    ColumnMajor<uint32_t> partition() const { return {rows, columns, p}; }
    ColumnMajor<double> constants() const { return {rows, columns, c}; }
    ColumnMajor<double> vectors() const { return {rows, columns, u}; }
};

// Nested partitions, each as fine as the one before it or finer.
PlainSros random_sros(size_t rows, size_t columns, uint64_t seed, bool equal) {
    Random random(seed);
    PlainSros sros{rows, columns, rows, {}, {}, {}};
    std::vector<uint32_t> part(rows, 0);
    std::vector<double> first;
    for (size_t j = 0; j < rows; j++) first.push_back(random.normal());
    for (size_t i = 0; i < columns; i++) {
        std::vector<uint64_t> split;
        for (size_t j = 0; j < rows; j++) split.push_back(part[j] * 2 + (random.chance(0.3) ? 1 : 0));
        std::vector<uint64_t> distinct = split;
        std::sort(distinct.begin(), distinct.end());
        distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
        std::vector<double> constant;
        for (size_t l = 0; l < distinct.size(); l++) constant.push_back(random.chance(0.2) ? 0 : random.exponential());
        for (size_t j = 0; j < rows; j++) {
            part[j] =
                static_cast<uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), split[j]) - distinct.begin());
            sros.p.push_back(part[j]);
            sros.c.push_back(constant[part[j]]);
            sros.u.push_back(equal ? first[j] : random.normal());
        }
    }
    return sros;
}

// L(P, P', U, U') by its definition.
Dense dense(ColumnMajor<uint32_t> p, ColumnMajor<uint32_t> p_right, ColumnMajor<double> u,
            ColumnMajor<double> u_right) {
    Dense matrix(p.rows * p_right.rows, 0.0L);
    for (size_t i = 0; i < p.columns; i++)
        for (size_t j = 0; j < p.rows; j++)
            for (size_t k = 0; k < p_right.rows; k++)
                if (p.column(i)[j] == p_right.column(i)[k])
                    matrix[j * p_right.rows + k] += static_cast<long double>(u.column(i)[j]) * u_right.column(i)[k];
    return matrix;
}

// L(P, C, U), with or without I.
Dense dense(const PlainSros& sros, std::span<const double> c, std::span<const double> u, bool identity) {
    std::vector<double> scaled;
    for (size_t i = 0; i < c.size(); i++) scaled.push_back(c[i] * u[i]);
    const ColumnMajor<double> left{sros.rows, sros.columns, u}, right{sros.rows, sros.columns, scaled};
    Dense matrix = dense(sros.partition(), sros.partition(), left, right);
    for (size_t j = 0; identity && j < sros.rows; j++) matrix[j * sros.rows + j] += 1;
    return matrix;
}

TEST(Sros, ProductsEqualDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 30; seed++) {
        Random random(seed);
        const size_t columns = 1 + random.below(6);
        const PlainSros one = random_sros(1 + random.below(30), columns, seed, false),
                        other = random_sros(1 + random.below(30), columns, seed + 100, false);
        std::vector<double> x, y(one.rows);
        for (size_t j = 0; j < other.rows; j++) x.push_back(random.normal());
        sros_multiply(one.partition(), other.partition(), one.vectors(), other.vectors(),
                      std::max(one.parts, other.parts), x, y, context);
        const Dense matrix = dense(one.partition(), other.partition(), one.vectors(), other.vectors());
        for (size_t j = 0; j < one.rows; j++) {
            long double expected = 0;
            for (size_t k = 0; k < other.rows; k++) expected += matrix[j * other.rows + k] * x[k];
            expect_near(y[j], static_cast<double>(expected), 1);
        }
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

// (I + L(P, C, U)) times its inverse is I, and the determinant is that of the dense matrix.
void expect_inverse(const PlainSros& sros, const SrosInverse& inverse, uint64_t seed) {
    const Dense matrix = dense(sros, sros.c, sros.u, true);
    const Dense inverted = dense(sros, inverse.c.span(), inverse.u.span(), true);
    for (size_t j = 0; j < sros.rows; j++)
        for (size_t k = 0; k < sros.rows; k++) {
            long double entry = 0;
            for (size_t m = 0; m < sros.rows; m++) entry += matrix[j * sros.rows + m] * inverted[m * sros.rows + k];
            EXPECT_NEAR(static_cast<double>(entry), j == k, 1e-9) << seed;
        }
    expect_near(inverse.log_determinant, static_cast<double>(Cholesky(matrix).log_determinant()), 1e-3);
}

TEST(Sros, InversesEqualDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const PlainSros sros = random_sros(1 + seed % 25, 1 + seed % 7, seed, seed % 3 == 0);
        expect_inverse(sros, sros_invert(sros.partition(), sros.constants(), sros.vectors(), sros.parts, context),
                       seed);
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(Sros, EqualColumnsAreInvertedAsTheGeneralOnes) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const PlainSros sros = random_sros(1 + seed % 25, 1 + seed % 7, seed, true);
        const SrosInverse inverse =
            sros_invert_equal(sros.partition(), sros.constants(), sros.vectors().column(0), sros.parts, context);
        expect_inverse(sros, inverse, seed);
        const SrosInverse general =
            sros_invert(sros.partition(), sros.constants(), sros.vectors(), sros.parts, context);
        for (size_t i = 0; i < sros.c.size(); i++) {
            expect_near(inverse.c[i], general.c[i], 1e-3);
            expect_near(inverse.u[i], general.u[i], 1e-3);
        }
    }
}

// The kernel's matrix (Proposition 2): parts are the rows that share the first levels.
PlainSros kernel_sros(const PlainGp& plain) {
    PlainSros sros{plain.rows(), plain.kernel.levels(), plain.rows(), {}, {}, {}};
    for (size_t level = 1; level <= sros.columns; level++) {
        uint32_t part = 0;
        for (size_t j = 0; j < sros.rows; j++) {
            if (j > 0 && common_levels(plain.strings[j - 1], plain.strings[j]) < level) part++;
            sros.p.push_back(part);
            sros.c.push_back(plain.kernel.weights[level - 1]);
            sros.u.push_back(1);
        }
    }
    return sros;
}

// The tree's inference by the paper's own algorithms.
TEST(Sros, AgreesWithTheTree) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 40; seed++) {
        GpShape shape = shape_of(seed);
        shape.weights = false;
        if (shape.levels == 0) continue;
        const PlainGp plain = sorted(random_gp(shape, seed));
        const std::vector<uint16_t> common = common_of_neighbours(plain);
        const Observations observations = make_observations(plain.target, {}, context);
        PlainSros sros = kernel_sros(plain);
        const std::vector<double> ones(sros.c.size(), 1.0);
        std::vector<double> product(sros.rows), expected(sros.rows);
        sros_multiply(sros.partition(), sros.partition(), {sros.rows, sros.columns, ones}, sros.constants(), sros.parts,
                      plain.target, product, context);
        covariance_product(common, plain.kernel, plain.target, expected, context);
        for (size_t j = 0; j < sros.rows; j++) expect_near(product[j], expected[j], plain.kernel.signal());

        const double noise = plain.kernel.noise;
        for (double& c : sros.c) c /= noise;
        const SrosInverse inverse =
            sros_invert_equal(sros.partition(), sros.constants(), sros.vectors().column(0), sros.parts, context);
        std::vector<double> scaled(sros.c.size()), solved(sros.rows);
        for (size_t i = 0; i < scaled.size(); i++) scaled[i] = inverse.c[i] * inverse.u[i];
        sros_multiply(sros.partition(), sros.partition(), {sros.rows, sros.columns, inverse.u.span()},
                      {sros.rows, sros.columns, scaled}, sros.parts, plain.target, solved, context);
        double quadratic = 0;
        const Normals others = leave_one_out(common, observations, plain.kernel, context);
        for (size_t j = 0; j < sros.rows; j++) {
            solved[j] = (plain.target[j] + solved[j]) / noise;
            quadratic += solved[j] * plain.target[j];
            expect_near((plain.target[j] - others.mean[j]) / (others.variance[j] + noise), solved[j], 1 / noise);
        }
        const auto rows = static_cast<double>(sros.rows);
        expect_near(negative_log_likelihood(common, observations, plain.kernel, context),
                    (quadratic + inverse.log_determinant + rows * std::log(2 * std::numbers::pi * noise)) / 2, rows,
                    std::to_string(seed));
    }
}

TEST(Sros, CanBeCancelled) {
    const PlainSros sros = random_sros(10, 4, 1, true);
    const auto cancelled = [](uint64_t polls, auto&& body) {
        btml::test::ImpatientContext context(polls);
        EXPECT_THROW(body(context), Cancelled);
    };
    cancelled(5, [&](RunContext& context) {
        sros_invert(sros.partition(), sros.constants(), sros.vectors(), sros.parts, context);
    });
    cancelled(3, [&](RunContext& context) {
        sros_invert_equal(sros.partition(), sros.constants(), sros.vectors().column(0), sros.parts, context);
    });
    cancelled(1, [&](RunContext& context) {
        std::vector<double> x(10), y(10);
        sros_multiply(sros.partition(), sros.partition(), sros.vectors(), sros.vectors(), sros.parts, x, y, context);
    });
}

} // namespace
} // namespace btml::gp::test
