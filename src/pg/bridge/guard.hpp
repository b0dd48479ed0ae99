// The two-way boundary between C++ and PostgreSQL.
//
// PostgreSQL reports errors with longjmp, which must never cross a C++ frame that owns anything; C++ exceptions must
// never reach a C frame. So:
//   pg_call(lambda)          every call that may ereport: a PostgreSQL error becomes the exception PgError.
//   BTML_FUNCTION(name) {…}  every SQL-callable function: an exception becomes a PostgreSQL error, raised when no C++
//                            object is alive any more.
#pragma once

#include <new>

#include "core/base/error.hpp"
#include "pg/bridge/postgres.hpp"

namespace btml::pg {

// A PostgreSQL error on its way to the boundary, which re-throws it unchanged. Nobody else may end it, but outside of a
// subtransaction that it has rolled back (subtransaction.hpp), and but for an error of an expression that leaves
// nothing behind (planner::is_pure).
struct PgError {
    ErrorData* data;
};

// Ends PG_CATCH: the error as it was, in `context`; null when there was no memory left for a copy of it.
ErrorData* take_error(MemoryContext context);

// Runs `f`, in which no object with a destructor may live and from which no exception may escape.
// The result must be trivially copyable.
template <class F>
auto pg_call(F&& f) {
    using Result = std::invoke_result_t<F>;
    using Stored = std::conditional_t<std::is_void_v<Result>, char, Result>;
    static_assert(std::is_trivially_copyable_v<Stored>);
    const MemoryContext context = CurrentMemoryContext;
    ErrorData* volatile error = nullptr;
    volatile bool failed = false;
    alignas(Stored) unsigned char storage[sizeof(Stored)];
    PG_TRY();
    {
        if constexpr (std::is_void_v<Result>)
            f();
        else {
            const Result result = f();
            memcpy(storage, &result, sizeof(result));
        }
    }
    PG_CATCH();
    {
        error = take_error(context);
        failed = true;
    }
    PG_END_TRY();
    if (failed) {
        if (!error) throw std::bad_alloc();
        throw PgError{error};
    }
    if constexpr (!std::is_void_v<Result>) {
        Stored result;
        memcpy(&result, storage, sizeof(result));
        return result;
    }
}

// Returns the name of a type as messages show it.
const char* type_name(Oid type);

// Raises a NOTICE; an empty detail or hint is left out.
void notice(const std::string& message, const std::string& detail = {}, const std::string& hint = {});

using FunctionBody = Datum (*)(FunctionCallInfo);
Datum guarded(FunctionBody body, FunctionCallInfo fcinfo);

void guarded(void (*body)(void*), void* argument);

// Runs body() for PostgreSQL itself, which called a hook or a plan node: an exception becomes a PostgreSQL error,
// raised when the objects of body() are gone. No object with a destructor may be alive around it.
template <class Body>
void guarded_call(Body&& body) {
    guarded([](void* argument) { (*static_cast<std::remove_reference_t<Body>*>(argument))(); }, &body);
}

} // namespace btml::pg

#define BTML_FUNCTION(name)                                                                                            \
    extern "C" {                                                                                                       \
    PG_FUNCTION_INFO_V1(name);                                                                                         \
    }                                                                                                                  \
    static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo);                                                \
    extern "C" Datum name(PG_FUNCTION_ARGS) {                                                                          \
        return btml::pg::guarded(name##_body, fcinfo);                                                                 \
    }                                                                                                                  \
    static Datum name##_body([[maybe_unused]] FunctionCallInfo fcinfo)
