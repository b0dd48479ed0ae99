// Characters as UTF-8.
#pragma once

#include <string>

namespace btml {

// Appends the character with this number, at most 0x10FFFF, in UTF-8.
inline void append_utf8(std::string& text, char32_t c) {
    if (c < 0x80) {
        text += static_cast<char>(c);
        return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xFF00U >> (more + 1) & 0xFFU) | (c >> 6 * more));
    for (int i = more - 1; i >= 0; i--) text += static_cast<char>(0x80U | (c >> 6 * i & 0x3FU));
}

} // namespace btml
