// The SQL aggregate btml.kernel_sum_agg and its state, the type btml.kernel_sums.
#include "core/kernel/kernel_options.hpp"
#include "core/kernel/query_sums.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/expanded_state.hpp"
#include "pg/values/number_array.hpp"

namespace btml::pg {

using kernel::QuerySet;
using kernel::QuerySums;

namespace {

constexpr StateNames names{"btml.kernel_sums", "the sums", "Ask for fewer queries at a time."};
using State = ExpandedState<QuerySums, names>;

pairwise::Kernel kernel_named(const std::string& name) {
    const OptionFacts& option = *kernel::options_table.find("kernel");
    option.check(name);
    return pairwise::Kernel{static_cast<uint8_t>(option.index_of(name))};
}

// Numbers of an array where they lie: queries come with every row, and are many.
std::span<const double> numbers_of(const Arguments& arguments, int i, const char* name) {
    const Datum value = arguments.datum(i, name);
    ArrayType* const array = pg_call([=] { return DatumGetArrayTypeP(value); });
    require_one_dimension(array, name);
    if (pg_call([=] { return ARR_HASNULL(array) && array_contains_nulls(array); }))
        throw Error(ErrorCode::null_value, format("argument \"%s\" must not contain NULL", name));
    return {reinterpret_cast<const double*>(ARR_DATA_PTR(array)),
            static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

} // namespace

// btml_internal.kernel_sums_accumulate(state, x float8[], weight float8, queries float8[], bandwidth float8,
//     kernel text) → state, where a call without the last argument means a Gaussian kernel
BTML_FUNCTION(btml_kernel_sums_accumulate) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    const QuerySet set{numbers_of(arguments, 3, "queries"), arguments.number(4, "bandwidth"),
                       arguments.count() > 5 ? kernel_named(arguments.string(5, "kernel"))
                                             : pairwise::kernel_of<pairwise::Gaussian>};
    state->content().add(numbers_of(arguments, 1, "x"), arguments.number(2, "weight"), set);
    return state->datum();
}

// btml_internal.kernel_sums_final(state) → float8[]; NULL when there was no row
BTML_FUNCTION(btml_kernel_sums_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    MemoryBudget budget(memory_limit_bytes());
    std::optional<QuerySums> parsed;
    const QuerySums& sums = State::read(fcinfo, parsed, budget);
    if (sums.empty()) PG_RETURN_NULL();
    return number_array(sums.values());
}

BTML_STATE_TYPE(kernel_sums, State)

} // namespace btml::pg
