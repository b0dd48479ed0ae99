// The aggregate btml.boost_fit_agg.
#include "core/boosting/booster.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/model.hpp"
#include "pg/options.hpp"
#include "pg/training_rows.hpp"

namespace btml::pg {

// btml.boost_fit_accumulate(state, y float8, x float8[], options jsonb) → state
BTML_FUNCTION(btml_boost_fit_accumulate) {
    return accumulate_with_options(fcinfo,
                                   [](const std::string& options) { parse_options(options, boosting::options_table); });
}

// btml.boost_fit_final(state) → model; NULL when there was no row
BTML_FUNCTION(btml_boost_fit_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("boost_fit_agg");
    return train_on_rows(fcinfo, context, [&](const RowCollection& rows) {
        const boosting::Options options =
            rows.options().empty() ? boosting::Options{} : parse_options(rows.options(), boosting::options_table);
        boosting::FitResult result = boosting::fit(rows.dataset(context), options, context);
        result.model.target = "y";
        result.model.rows_skipped = rows.rows_skipped();
        result.model.strategy = "enumerate";
        result.model.strategy_reason = "the rows were aggregated";
        return model_datum(result, context);
    });
}

} // namespace btml::pg
