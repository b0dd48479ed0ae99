// The SQL function btml.exemplars.
#include "core/exemplar/stream_greedy.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/dissimilarity_function.hpp"
#include "pg/exemplar_options.hpp"
#include "pg/point_source.hpp"

#include <cmath>

namespace btml::pg {

using exemplar::Exemplar;
using exemplar::Metric;
using exemplar::Point;
using exemplar::Selection;
using exemplar::StreamGreedy;

namespace {

// Ends a pass: the rest of its rows would change nothing.
struct EnoughRows {};

// The rows of a source as the core takes them.
class ExemplarSource {
  public:
    ExemplarSource(const ExemplarRequest& request, SqlDissimilarity* function)
        : request_(request),
          function_(function),
          takes_array_(function && function->type() == FLOAT8ARRAYOID),
          points_(request.source, "points", parts(request)) {}

    template <class Take>
    void read(Take&& take, RunContext& context) const {
        const auto take_row = [&](const PointRow& row) {
            Point point;
            point.number = row.number;
            point.x = row.x;
            point.weight = row.weight;
            point.id = row.id;
            point.has_id = row.has_id;
            if (request_.options.needs_target()) {
                if (row.values.empty()) return;
                point.target = row.values[0];
            }
            if (function_) point.value = function_->bytes(takes_array_ ? array_datum(row.x) : row.plain_x);
            if (!take(point)) throw EnoughRows{};
        };
        try {
            if (request_.options.scan_order == exemplar::ScanOrder::random_blocks)
                points_.read_blocks(take_row, request_.options.seed, context);
            else
                points_.read(take_row, context);
        } catch (const EnoughRows&) {
        }
    }

  private:
    PointParts parts(const ExemplarRequest& request) const {
        PointParts parts;
        parts.ids = parts.weights = true;
        parts.values = request.target;
        if (function_ && !takes_array_) parts.plain_x = function_->type();
        return parts;
    }

    static Datum array_datum(std::span<const double> x) {
        return pg_call([=] {
            const Size bytes = ARR_OVERHEAD_NONULLS(1) + x.size_bytes();
            auto* const array = static_cast<ArrayType*>(palloc0(bytes));
            SET_VARSIZE(array, bytes);
            array->ndim = 1;
            array->elemtype = FLOAT8OID;
            ARR_DIMS(array)[0] = static_cast<int>(x.size());
            ARR_LBOUND(array)[0] = 1;
            memcpy(ARR_DATA_PTR(array), x.data(), x.size_bytes());
            return PointerGetDatum(array);
        });
    }

    const ExemplarRequest& request_;
    SqlDissimilarity* const function_;
    const bool takes_array_;
    const PointSource points_;
};

Selection select(const ExemplarRequest& request, RunContext& context) {
    std::optional<SqlDissimilarity> function;
    if (request.options.metric == Metric::function) function.emplace(request.function);
    const ExemplarSource source(request, function ? &*function : nullptr);
    StreamGreedy greedy(request.options, function ? &*function : nullptr, context);
    source.read([&](const Point& point) { return greedy.sample(point), true; }, context);
    if (greedy.start()) do
            source.read([&](const Point& point) { return greedy.offer(point); }, context);
        while (greedy.finish_pass());
    return greedy.finish();
}

void add_number_or_null(ResultRows& rows, std::optional<double> value) {
    value ? rows.add_number(*value) : rows.add_null();
}

Datum numbers_datum(const std::vector<double>& numbers) {
    return pg_call([&] {
        auto* const items = static_cast<Datum*>(palloc(sizeof(Datum) * numbers.size()));
        for (size_t i = 0; i < numbers.size(); i++) items[i] = Float8GetDatum(numbers[i]);
        return PointerGetDatum(construct_array(items, static_cast<int>(numbers.size()), FLOAT8OID, sizeof(float8),
                                               FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
    });
}

} // namespace

// btml.exemplars(source, k, objective, …) → table(slot, id, x, members, mean_dissimilarity, utility, utility_std_error)
BTML_FUNCTION(btml_exemplars) {
    const ExemplarRequest request = read_exemplar_request(NamedArguments(fcinfo));
    ResultRows rows(fcinfo);
    BackendContext context("exemplars", request.verbose);
    const Selection selection = select(request, context);
    const auto found = static_cast<int>(selection.exemplars.size()), wanted = request.options.exemplars;
    if (found < wanted && selection.rows > 0)
        pg_call([=] {
            ereport(NOTICE,
                    (errmsg("%d of %d exemplars: no other row that was tried adds to the utility", found, wanted)));
        });
    for (size_t slot = 0; slot < selection.exemplars.size(); slot++) {
        const Exemplar& exemplar = selection.exemplars[slot];
        rows.add_integer(static_cast<int32>(slot) + 1);
        exemplar.has_id ? rows.add_text(exemplar.id) : rows.add_null();
        exemplar.x.empty() ? rows.add_null() : rows.add(numbers_datum(exemplar.x));
        rows.add_number(exemplar.members);
        add_number_or_null(rows, exemplar.mean_dissimilarity);
        rows.add_number(selection.utility);
        std::isnan(selection.utility_std_error) ? rows.add_null() : rows.add_number(selection.utility_std_error);
        rows.finish_row();
    }
    return rows.done();
}

} // namespace btml::pg
