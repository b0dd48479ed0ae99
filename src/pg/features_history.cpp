// The window functions that the SELECT of btml.feature_sql calls: btml.history_features, btml.history_last.
//
// A partition has the rows and the predictions of one thing in the order of their times. A row has no "since"; a
// prediction has one, and gets what the rows before it amount to.
#include "core/features/history.hpp"
#include "core/numbers/number.hpp"
#include "pg/bridge/call_site.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

extern "C" {
#include "datatype/timestamp.h"
#include "windowapi.h"
}

namespace btml::pg {

namespace {

using features::History;

// The arguments of the row at hand: the time, and two arrays.
struct WindowRow {
    static constexpr int size = 3;

    bool begins_partition;
    bool nulls[size];
    Datum values[size];

    Timestamp time() const { return DatumGetTimestamp(values[0]); }

    bool is_prediction() const { return !nulls[1]; }
};

WindowObject window_of(FunctionCallInfo fcinfo, const char* function) {
    const WindowObject window = PG_WINDOW_OBJECT();
    if (window && WindowObjectIsValid(window)) return window;
    throw Error(ErrorCode::invalid_argument, format("%s is a window function", function), "",
                "Call it with OVER (PARTITION BY … ORDER BY …).");
}

void require_order(int64_t before, int64_t now) {
    if (now < before)
        throw Error(ErrorCode::invalid_argument, "rows of a partition must come in the order of their times", "",
                    "Call the function with OVER (PARTITION BY … ORDER BY at, …).");
}

// Reads the row at hand and lets PostgreSQL forget those before it. last_time: the time of the row before it in the
// partition, then the row's own. Errors null_value for a row without a time; invalid_argument for one before last_time.
WindowRow next_row(WindowObject window, int64_t& last_time) {
    const WindowRow row = pg_call([=] {
        WindowRow read = {};
        const int64 position = WinGetCurrentPosition(window);
        WinSetMarkPosition(window, position);
        read.begins_partition = position == 0;
        for (int i = 0; i < WindowRow::size; i++) read.values[i] = WinGetFuncArgCurrent(window, i, &read.nulls[i]);
        return read;
    });
    if (row.nulls[0])
        throw Error(ErrorCode::null_value,
                    row.is_prediction() ? "the time of a prediction must not be NULL"
                                        : "the time of a row must not be NULL",
                    row.is_prediction() ? "It is the source's column that the plan calls \"as_of\"." : "",
                    "Leave such rows out by WHERE … IS NOT NULL.");
    if (row.begins_partition) last_time = History::min_time;
    require_order(std::exchange(last_time, row.time()), row.time());
    return row;
}

// What btml.history_features keeps from row to row.
struct FeatureState {
    explicit FeatureState(std::vector<features::Request> requests)
        : memory(memory_limit_bytes()), history(std::move(requests), memory), result(history.feature_count()) {}

    MemoryBudget memory;
    History history;
    std::vector<double> numbers = {}, result;
    std::vector<int64_t> since = {};
    int64_t last_time = History::min_time;
};

std::unique_ptr<FeatureState> feature_state(WindowObject window) {
    bool is_null = false;
    const Datum given = pg_call([&] { return WinGetFuncArgCurrent(window, 3, &is_null); });
    if (is_null) throw Error(ErrorCode::null_value, "argument \"features\" must not be NULL");
    std::vector<features::Request> requests;
    for (const Datum text : elements_without_null(given, TEXTOID, "features"))
        requests.push_back(features::parse_request(bytes_of(text, TEXTOID)));
    return std::make_unique<FeatureState>(std::move(requests));
}

// A float8[] in which NULL is NULL.
Datum numbers_with_nulls(std::span<const double> numbers) {
    if (std::none_of(numbers.begin(), numbers.end(), is_null)) return number_array(numbers);
    return pg_call([=] {
        auto* const values = static_cast<Datum*>(palloc(sizeof(Datum) * numbers.size()));
        auto* const nulls = static_cast<bool*>(palloc(numbers.size()));
        for (size_t i = 0; i < numbers.size(); i++) {
            values[i] = Float8GetDatum(numbers[i]);
            nulls[i] = is_null(numbers[i]);
        }
        int count = static_cast<int>(numbers.size()), lower = 1;
        return PointerGetDatum(construct_md_array(values, nulls, 1, &count, &lower, FLOAT8OID, sizeof(float8),
                                                  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
    });
}

// What btml.history_last keeps from row to row: the last texts so far.
struct TextState {
    struct Last {
        bool is_known = false;
        int64_t time = 0;
        std::string text = {};
    };

    // Of texts of one time the greatest is the last.
    void add(size_t i, int64_t time, std::string_view text) {
        if (i >= last.size()) last.resize(i + 1);
        if (last[i].is_known && last[i].time == time && text < last[i].text) return;
        last[i].time = time;
        if (text.size() > last[i].text.capacity()) held.grow(text.size() - last[i].text.capacity());
        last[i].text = text;
        last[i].is_known = true;
    }

    MemoryBudget memory{memory_limit_bytes()};
    Reservation held{memory, "texts of one row"};
    std::vector<Last> last = {};
    int64_t last_time = History::min_time;
};

// A text[] of the texts so far.
Datum last_texts(const TextState& state) {
    const std::span<const TextState::Last> last = state.last;
    return pg_call([=] {
        auto* const values = static_cast<Datum*>(palloc0(sizeof(Datum) * last.size()));
        auto* const nulls = static_cast<bool*>(palloc0(last.size()));
        for (size_t i = 0; i < last.size(); i++) {
            nulls[i] = !last[i].is_known;
            const std::string& text = last[i].text;
            values[i] = PointerGetDatum(cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
        }
        int count = static_cast<int>(last.size()), lower = 1;
        return PointerGetDatum(construct_md_array(values, nulls, 1, &count, &lower, TEXTOID, -1, false, TYPALIGN_INT));
    });
}

Datum no_datum(FunctionCallInfo fcinfo) {
    fcinfo->isnull = true;
    return static_cast<Datum>(0);
}

} // namespace

// btml.history_features(at timestamp, since timestamp[], x float8[], features text[]) → float8[]
BTML_FUNCTION(btml_history_features) {
    const WindowObject window = window_of(fcinfo, "history_features");
    auto& state = kept_at_call_site<FeatureState>(fcinfo, [&] { return feature_state(window); });
    const WindowRow row = next_row(window, state.last_time);
    if (row.begins_partition) state.history.clear();
    if (row.is_prediction()) {
        state.since.clear();
        for (const Datum since : elements_without_null(row.values[1], TIMESTAMPOID, "since"))
            state.since.push_back(DatumGetTimestamp(since));
        state.history.features(row.time(), state.since, state.result);
        return numbers_with_nulls(state.result);
    }
    state.numbers.clear();
    if (!row.nulls[2]) read_numbers(row.values[2], "x", state.numbers);
    state.history.add(row.time(), state.numbers);
    return no_datum(fcinfo);
}

// btml.history_last(at timestamp, since timestamp[], t text[]) → text[]
BTML_FUNCTION(btml_history_last) {
    const WindowObject window = window_of(fcinfo, "history_last");
    auto& state = kept_at_call_site<TextState>(fcinfo, [] { return std::make_unique<TextState>(); });
    const WindowRow row = next_row(window, state.last_time);
    if (row.begins_partition)
        for (TextState::Last& last : state.last) last.is_known = false;
    if (row.is_prediction()) return last_texts(state);
    if (row.nulls[2]) return no_datum(fcinfo);
    const ArrayElements texts = elements_of(row.values[2], TEXTOID, "t");
    for (size_t i = 0; i < texts.values.size(); i++)
        if (!texts.nulls[i]) state.add(i, row.time(), bytes_of(texts.values[i], TEXTOID));
    return no_datum(fcinfo);
}

} // namespace btml::pg
