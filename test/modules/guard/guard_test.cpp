// SQL functions that throw across the boundary, for test/t/006_guard.pl.
#include "pg/bridge/guard.hpp"

#include <map>
#include <stdexcept>

extern "C" {
PG_MODULE_MAGIC;
}

namespace btml::pg {

namespace {

// Objects of this type that are alive.
int alive = 0;

struct Witness {
    Witness() { alive++; }
    ~Witness() { alive--; }
    std::string owned = std::string(100, 'x');
};

const std::map<std::string, ErrorCode>& codes() {
    static const std::map<std::string, ErrorCode> all = {{"invalid_argument", ErrorCode::invalid_argument},
                                                         {"null_value", ErrorCode::null_value},
                                                         {"out_of_range", ErrorCode::out_of_range},
                                                         {"undefined_column", ErrorCode::undefined_column},
                                                         {"duplicate_column", ErrorCode::duplicate_column},
                                                         {"wrong_type", ErrorCode::wrong_type},
                                                         {"not_supported", ErrorCode::not_supported},
                                                         {"limit_exceeded", ErrorCode::limit_exceeded},
                                                         {"memory_limit", ErrorCode::memory_limit},
                                                         {"corrupt_model", ErrorCode::corrupt_model},
                                                         {"internal", ErrorCode::internal}};
    return all;
}

std::string text_argument(FunctionCallInfo fcinfo, int i) {
    return pg_call([=] { return text_to_cstring(PG_GETARG_TEXT_PP(i)); });
}

[[noreturn]] void throw_standard(const std::string& kind) {
    if (kind == "bad_alloc") throw std::bad_alloc();
    if (kind == "invalid_argument") throw std::invalid_argument("message");
    if (kind == "domain_error") throw std::domain_error("message");
    if (kind == "out_of_range") throw std::out_of_range("message");
    if (kind == "length_error") throw std::length_error("message");
    if (kind == "range_error") throw std::range_error("message");
    if (kind == "overflow_error") throw std::overflow_error("message");
    if (kind == "exception") throw std::runtime_error("message");
    if (kind == "cancelled") throw Cancelled{};
    throw 42;
}

} // namespace

// btml_test_error(code, message, detail, hint)
BTML_FUNCTION(btml_test_error) {
    const Witness witness;
    throw Error(codes().at(text_argument(fcinfo, 0)), text_argument(fcinfo, 1), text_argument(fcinfo, 2),
                text_argument(fcinfo, 3));
}

// btml_test_standard(kind)
BTML_FUNCTION(btml_test_standard) {
    const std::string kind = text_argument(fcinfo, 0);
    const Witness witness;
    throw_standard(kind);
}

// btml_test_call(function): calls a SQL function of no arguments in a pg_call below another one.
BTML_FUNCTION(btml_test_call) {
    const Oid function = PG_GETARG_OID(0);
    const Witness outer;
    const auto inner = [=] {
        const Witness witness;
        return pg_call([=] { return OidFunctionCall0(function); });
    };
    const Datum result = inner();
    pg_call([] { CHECK_FOR_INTERRUPTS(); });
    return result;
}

// btml_test_alive() → integer
BTML_FUNCTION(btml_test_alive) {
    return Int32GetDatum(alive);
}

} // namespace btml::pg
