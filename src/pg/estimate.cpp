#include "pg/estimate.hpp"

namespace btml::pg {

Datum estimate_datum(FunctionCallInfo fcinfo, const Estimate& estimate) {
    return pg_call([=] {
        TupleDesc columns;
        if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE)
            ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("the function must return btml.estimate")));
        Datum values[] = {Float8GetDatum(estimate.value), Float8GetDatum(estimate.std_error),
                          Float8GetDatum(estimate.lower), Float8GetDatum(estimate.upper),
                          Int64GetDatum(estimate.evaluations)};
        bool nulls[std::size(values)] = {};
        return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls));
    });
}

} // namespace btml::pg
