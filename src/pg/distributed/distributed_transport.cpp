#include "pg/distributed/distributed_transport.hpp"

namespace btml::pg {

std::string bytea_literal(std::span<const std::byte> bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text = "pg_catalog.decode('";
    text.reserve(text.size() + 2 * bytes.size() + 8);
    for (const std::byte byte : bytes) {
        text += digits[static_cast<unsigned>(byte) >> 4];
        text += digits[static_cast<unsigned>(byte) & 15];
    }
    return text + "', 'hex')";
}

std::string quoted_name(const std::string& name) {
    const char* const text = name.c_str();
    return pg_call([=] { return quote_identifier(text); });
}

std::string qualified(Oid table) {
    return pg_call(
        [=] { return quote_qualified_identifier(get_namespace_name(get_rel_namespace(table)), get_rel_name(table)); });
}

std::string message_call(const FitMessage& message, const Bytes& bytes) {
    Bytes command = to_bytes(message);
    command.insert(command.end(), bytes.begin(), bytes.end());
    return "btml_internal.exchange_messages(" + bytea_literal(command) + ")";
}

void refuse_lost_rows(const std::string& what) {
    throw Error(ErrorCode::internal, what + " does not hold its rows any more",
                "Its connection, or the row that it was reached by, is gone.",
                "Repeat the fit: the same rows give the same model.");
}

} // namespace btml::pg
