#include "core/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <numeric>

namespace btml {

std::string format(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, pattern, args);
    va_end(args);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    if (length > 0) std::vsnprintf(text.data(), text.size() + 1, pattern, again);
    va_end(again);
    return text;
}

std::string shortest(double x) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x > 0 ? "Infinity" : "-Infinity";
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof(digits), x).ptr};
}

std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty()) text += ", ";
        text += '"' + name + '"';
    }
    return text;
}

// Letters that differ in case only are equal here: names are not folded, so that is the most likely mistake.
static char folded(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

static bool are_swapped(std::string_view a, std::string_view b, size_t i, size_t j) {
    return folded(a[i]) == folded(b[j + 1]) && folded(a[i + 1]) == folded(b[j]);
}

// Letters put in, left out and replaced, and neighbours swapped, each as one edit.
static size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); i++) {
        before.swap(last);
        last.swap(row);
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            const size_t replaced = last[j - 1] + (folded(a[i - 1]) != folded(b[j - 1]));
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && are_swapped(a, b, i - 2, j - 2)) row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

// Misspelling seldom changes how a word begins.
static bool begin_alike(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return false;
    return folded(a[0]) == folded(b[0]) || (a.size() > 1 && b.size() > 1 && are_swapped(a, b, 0, 0));
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& choices) {
    size_t best = name.size() / 3 + 1;
    std::string nearest;
    for (const std::string& choice : choices) {
        if (!begin_alike(name, choice)) continue;
        const size_t distance = edit_distance(name, choice);
        if (distance < best) {
            best = distance;
            nearest = choice;
        }
    }
    return nearest;
}

} // namespace btml
