// SumProd queries over a join by message passing (inside-out).
// Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2; semirings as in FAQ (Abo Khamis, Ngo, Rudra 2016).
#pragma once

#include "core/relational/join/inside_out.hpp"

#include <array>
#include <string_view>

namespace btml::relational {

enum class SemiringName { sum_product, max_product, min_plus, max_plus, or_and };
inline constexpr std::array semiring_names = {"sum_product", "max_product", "min_plus", "max_plus", "or_and"};

// Error invalid_argument that lists the valid names.
SemiringName parse_semiring(std::string_view name);

// One value per row of each table, the bags of a cyclic join not counted: φ_t(ρ), the ⊗ of the factors that belong to
// table t. An empty buffer means the identity of ⊗ for every row.
using Factors = std::vector<Buffer<double>>;

// Gives them to a query by inside-out. Bags have no factors.
template <Semiring S>
struct ColumnFactors {
    const Factors& factors;

    template <class Body>
    void visit(int table, Body&& body) const {
        const size_t t = table;
        if (t >= factors.size() || factors[t].empty())
            body([](RowId) { return S::one(); });
        else
            body([numbers = factors[t].data()](RowId row) { return S::of_factor(numbers[row]); });
    }
};

// ⊗ of one table's factor columns, row by row; with no columns its identity. Error wrong_type for a column that is not
// a number, null_value for a NULL in it (filter the join first), invalid_argument for a negative factor under
// max_product, out_of_range where finite factors have no finite product.
Buffer<double> table_factor(const Table& table, const std::vector<int>& columns, SemiringName semiring,
                            RunContext& context);

// ⊕ over the join's rows of ⊗ over the tables of φ_t. The empty join gives the identity of ⊕. Under or_and every factor
// but 0 is true, and results are 0 or 1. NaN factors make every number they enter NaN, and infinite ones what they make
// in the rows: ∞·1 + ∞·0 is NaN. Errors invalid_argument for a negative factor under max_product, out_of_range where
// the finite factors of a row have no finite product, or finite parts of rows no finite sum. Where it depends on the
// order of a row's factors whether their product overflows, it may or may not be an error.
double sum_product(const Join& join, const Factors& factors, SemiringName semiring, RunContext& context);

// Returns the same for each row ρ of `table`, over the join's rows that ρ takes part in (φ of ρ itself included).
Buffer<double> sum_product_by_row(const Join& join, const Factors& factors, SemiringName semiring, int table,
                                  RunContext& context);

// ⊕ and ⊗ of two values, and the identity of ⊕: for aggregates over plain rows. Error out_of_range where two finite
// values have no finite result.
double add(SemiringName semiring, double a, double b);
double multiply(SemiringName semiring, double a, double b);
double zero(SemiringName semiring);
double one(SemiringName semiring);

} // namespace btml::relational
