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
    Timestamp time;
    ArrayType* arrays[size];

    bool is_prediction() const { return !nulls[1]; }
};

WindowObject window_of(FunctionCallInfo fcinfo, const char* function) {
    const WindowObject window = PG_WINDOW_OBJECT();
    if (window && WindowObjectIsValid(window)) return window;
    throw Error(ErrorCode::invalid_argument, format("%s is a window function", function), "",
                "Call it with OVER (PARTITION BY … ORDER BY …).");
}

// Reads the row at hand and lets PostgreSQL forget those before it.
WindowRow next_row(WindowObject window) {
    const WindowRow row = pg_call([=] {
        WindowRow read = {};
        const int64 position = WinGetCurrentPosition(window);
        WinSetMarkPosition(window, position);
        read.begins_partition = position == 0;
        read.time = DatumGetTimestamp(WinGetFuncArgCurrent(window, 0, &read.nulls[0]));
        for (int i = 1; i < WindowRow::size; i++) {
            const Datum value = WinGetFuncArgCurrent(window, i, &read.nulls[i]);
            if (!read.nulls[i]) read.arrays[i] = DatumGetArrayTypeP(value);
        }
        return read;
    });
    if (row.nulls[0])
        throw Error(ErrorCode::null_value,
                    row.is_prediction() ? "the time of a prediction must not be NULL"
                                        : "the time of a row must not be NULL",
                    row.is_prediction() ? "It is the source's column that the plan calls \"as_of\"." : "",
                    "Leave such rows out by WHERE … IS NOT NULL.");
    return row;
}

void require_order(int64_t before, int64_t now) {
    if (now < before)
        throw Error(ErrorCode::invalid_argument, "rows of a partition must come in the order of their times", "",
                    "Call the function with OVER (PARTITION BY … ORDER BY at, …).");
}

// Calls take(value), null for NULL, for each element of an array of 8 bytes an element.
template <class T, class Take>
void each_element(const ArrayType* array, const char* name, const Take& take) {
    require_one_dimension(array, name);
    if (ARR_NDIM(array) == 0) return;
    const bits8* const valid = ARR_NULLBITMAP(array);
    const char* at = ARR_DATA_PTR(array);
    for (int i = 0; i < ARR_DIMS(array)[0]; i++) {
        if (valid && (valid[i / 8] & (1 << i % 8)) == 0) {
            take(static_cast<const T*>(nullptr));
            continue;
        }
        T value;
        memcpy(&value, at, sizeof(value));
        at += sizeof(value);
        take(&value);
    }
}

// Calls take(text), nothing for NULL, for each element of a text[].
template <class Take>
void each_text(ArrayType* array, const char* name, const Take& take) {
    require_one_dimension(array, name);
    struct Elements {
        Datum* values;
        bool* nulls;
        int count;
    };
    const Elements elements = pg_call([=] {
        Elements found = {};
        deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &found.values, &found.nulls, &found.count);
        return found;
    });
    for (int i = 0; i < elements.count; i++) {
        const auto* const text = reinterpret_cast<const struct varlena*>(elements.values[i]);
        take(elements.nulls[i] ? std::optional<std::string_view>()
                               : std::string_view(VARDATA_ANY(text), VARSIZE_ANY_EXHDR(text)));
    }
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
    ArrayType* const given = pg_call([=] {
        bool is_null = false;
        const Datum value = WinGetFuncArgCurrent(window, 3, &is_null);
        return is_null ? nullptr : DatumGetArrayTypeP(value);
    });
    if (!given) throw Error(ErrorCode::null_value, "argument \"features\" must not be NULL");
    std::vector<features::Request> requests;
    each_text(given, "features", [&](std::optional<std::string_view> text) {
        if (!text) throw Error(ErrorCode::null_value, "argument \"features\" must not contain NULL");
        requests.push_back(features::parse_request(*text));
    });
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
    const WindowRow row = next_row(window);
    if (row.begins_partition) {
        state.history.clear();
        state.last_time = History::min_time;
    }
    require_order(std::exchange(state.last_time, row.time), row.time);
    if (row.is_prediction()) {
        state.since.clear();
        each_element<Timestamp>(row.arrays[1], "since", [&](const Timestamp* since) {
            if (!since) throw Error(ErrorCode::null_value, "argument \"since\" must not contain NULL");
            state.since.push_back(*since);
        });
        state.history.features(row.time, state.since, state.result);
        return numbers_with_nulls(state.result);
    }
    state.numbers.clear();
    if (!row.nulls[2])
        each_element<double>(row.arrays[2], "x",
                             [&](const double* x) { state.numbers.push_back(x ? *x : null_number); });
    state.history.add(row.time, state.numbers);
    return no_datum(fcinfo);
}

// btml.history_last(at timestamp, since timestamp[], t text[]) → text[]
BTML_FUNCTION(btml_history_last) {
    const WindowObject window = window_of(fcinfo, "history_last");
    auto& state = kept_at_call_site<TextState>(fcinfo, [] { return std::make_unique<TextState>(); });
    const WindowRow row = next_row(window);
    if (row.begins_partition) {
        for (TextState::Last& last : state.last) last.is_known = false;
        state.last_time = History::min_time;
    }
    require_order(std::exchange(state.last_time, row.time), row.time);
    if (row.is_prediction()) return last_texts(state);
    if (row.nulls[2]) return no_datum(fcinfo);
    size_t i = 0;
    each_text(row.arrays[2], "t", [&](std::optional<std::string_view> text) {
        if (text) state.add(i, row.time, *text);
        i++;
    });
    return no_datum(fcinfo);
}

} // namespace btml::pg
