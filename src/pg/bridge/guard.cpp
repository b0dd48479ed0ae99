#include "pg/bridge/guard.hpp"

#include <stdexcept>

extern "C" {
#include "mb/pg_wchar.h"
}

namespace btml::pg {

namespace {

// All that is left of an exception once every C++ object is gone.
struct Failure {
    enum class Kind { none, postgres, cancelled, core } kind = Kind::none;
    ErrorData* postgres = nullptr;
    int sqlstate = 0;
    char message[1024], detail[2048], hint[1024]; // not filled with zeros: this is built at every call

    Failure() { message[0] = detail[0] = hint[0] = '\0'; }
};

template <size_t n>
void copy_text(char (&to)[n], const std::string& from) noexcept {
    const size_t length = std::min(from.size(), n - 1);
    memcpy(to, from.data(), length);
    to[length] = '\0';
}

int sqlstate(ErrorCode code) {
    static constexpr std::pair<ErrorCode, int> states[] = {
        {ErrorCode::invalid_argument, ERRCODE_INVALID_PARAMETER_VALUE},
        {ErrorCode::null_value, ERRCODE_NULL_VALUE_NOT_ALLOWED},
        {ErrorCode::out_of_range, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE},
        {ErrorCode::undefined_column, ERRCODE_UNDEFINED_COLUMN},
        {ErrorCode::duplicate_column, ERRCODE_DUPLICATE_COLUMN},
        {ErrorCode::wrong_type, ERRCODE_DATATYPE_MISMATCH},
        {ErrorCode::not_supported, ERRCODE_FEATURE_NOT_SUPPORTED},
        {ErrorCode::limit_exceeded, ERRCODE_PROGRAM_LIMIT_EXCEEDED},
        {ErrorCode::memory_limit, ERRCODE_OUT_OF_MEMORY},
        {ErrorCode::corrupt_model, ERRCODE_INVALID_BINARY_REPRESENTATION},
    };
    for (const auto& [known, state] : states)
        if (code == known) return state;
    return ERRCODE_INTERNAL_ERROR;
}

void fail(Failure& failure, int state, const char* message, const char* hint = "") noexcept {
    failure.kind = Failure::Kind::core;
    failure.sqlstate = state;
    strlcpy(failure.message, message, sizeof(failure.message));
    strlcpy(failure.hint, hint, sizeof(failure.hint));
}

// The frame in which exceptions end.
template <class Body>
[[gnu::noinline]] void run(const Body& body, Failure& failure) noexcept {
    try {
        body();
    } catch (const PgError& error) {
        failure.kind = Failure::Kind::postgres;
        failure.postgres = error.data;
    } catch (const Cancelled&) {
        failure.kind = Failure::Kind::cancelled;
    } catch (const Error& error) {
        failure.kind = Failure::Kind::core;
        failure.sqlstate = sqlstate(error.code());
        copy_text(failure.message, error.message());
        copy_text(failure.detail, error.detail());
        copy_text(failure.hint, error.hint());
    } catch (const std::bad_alloc&) {
        fail(failure, ERRCODE_OUT_OF_MEMORY, "out of memory",
             "There was less memory than btml.memory_limit allows: lower it, or read fewer rows or columns.");
    } catch (const std::length_error& error) {
        fail(failure, ERRCODE_PROGRAM_LIMIT_EXCEEDED, error.what());
    } catch (const std::invalid_argument& error) {
        fail(failure, ERRCODE_INVALID_PARAMETER_VALUE, error.what());
    } catch (const std::domain_error& error) {
        fail(failure, ERRCODE_INVALID_PARAMETER_VALUE, error.what());
    } catch (const std::out_of_range& error) {
        fail(failure, ERRCODE_INVALID_PARAMETER_VALUE, error.what());
    } catch (const std::range_error& error) {
        fail(failure, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.what());
    } catch (const std::overflow_error& error) {
        fail(failure, ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, error.what());
    } catch (const std::exception& error) {
        fail(failure, ERRCODE_INTERNAL_ERROR, error.what());
    } catch (...) {
        fail(failure, ERRCODE_INTERNAL_ERROR, "unknown C++ exception");
    }
}

// A message cut to its buffer must not end inside a multibyte character.
void clip(char* text) {
    text[pg_mbcliplen(text, static_cast<int>(strlen(text)), static_cast<int>(strlen(text)))] = '\0';
}

[[noreturn]] void report(Failure& failure) {
    if (failure.kind == Failure::Kind::postgres) ReThrowError(failure.postgres);
    if (failure.kind == Failure::Kind::cancelled) {
        CHECK_FOR_INTERRUPTS();
        ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("canceling statement due to user request")));
    }
    clip(failure.message);
    clip(failure.detail);
    clip(failure.hint);
    ereport(ERROR, (errcode(failure.sqlstate), errmsg("%s", failure.message),
                    failure.detail[0] ? errdetail("%s", failure.detail) : 0,
                    failure.hint[0] ? errhint("%s", failure.hint) : 0));
    pg_unreachable();
}

} // namespace

ErrorData* take_error(MemoryContext context) {
    ErrorData* volatile error = nullptr;
    PG_TRY();
    {
        MemoryContextSwitchTo(context);
        error = CopyErrorData();
    }
    PG_CATCH();
    { MemoryContextSwitchTo(context); }
    PG_END_TRY();
    FlushErrorState();
    return error;
}

const char* type_name(Oid type) {
    return pg_call([=] { return format_type_be(type); });
}

void notice(const std::string& message, const std::string& detail, const std::string& hint) {
    pg_call([&] {
        ereport(NOTICE, (errmsg("%s", message.c_str()), detail.empty() ? 0 : errdetail("%s", detail.c_str()),
                         hint.empty() ? 0 : errhint("%s", hint.c_str())));
    });
}

Datum guarded(FunctionBody body, FunctionCallInfo fcinfo) {
    Failure failure;
    auto result = static_cast<Datum>(0);
    run([&] { result = body(fcinfo); }, failure);
    if (failure.kind != Failure::Kind::none) report(failure);
    return result;
}

void guarded(void (*body)(void*), void* argument) {
    Failure failure;
    run([=] { body(argument); }, failure);
    if (failure.kind != Failure::Kind::none) report(failure);
}

} // namespace btml::pg
