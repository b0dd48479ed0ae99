// Plans as bytes: each struct lists its fields once, which are written and read in that order.
#pragma once

#include "core/base/serial.hpp"

#include <tuple>
#include <type_traits>
#include <vector>

namespace btml::relational {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

// Writes a value to a Writer, or reads it from a Reader: numbers, enumerations, lists and pairs of such, and structs,
// whose fields() ties their fields. An enumeration has a last_of(), which no number that is read is beyond.
template <class Stream, class T>
void transfer(Stream& stream, T& value) {
    constexpr bool writes = std::is_same_v<Stream, Writer>;
    using Plain = std::remove_const_t<T>;
    if constexpr (is_list<Plain>) {
        if constexpr (writes)
            stream.put_count(value.size());
        else {
            const size_t count = stream.get_count(1);
            stream.hold(count * sizeof(typename Plain::value_type));
            value.resize(count);
        }
        for (auto& each : value) transfer(stream, each);
    } else if constexpr (std::is_enum_v<Plain>) {
        auto number = static_cast<uint8_t>(value);
        transfer(stream, number);
        if (number > static_cast<uint8_t>(last_of(value))) corrupt_model(format("The number %d says nothing.", number));
        if constexpr (!writes) value = static_cast<Plain>(number);
    } else if constexpr (std::is_arithmetic_v<Plain>) {
        if constexpr (writes)
            stream.put(value);
        else if constexpr (std::is_same_v<Plain, bool>)
            value = stream.get_bool();
        else
            value = stream.template get<Plain>();
    } else if constexpr (requires { value.first; }) {
        transfer(stream, value.first);
        transfer(stream, value.second);
    } else
        std::apply([&](auto&... field) { (transfer(stream, field), ...); }, Plain::fields(value));
}

} // namespace btml::relational
