#include "core/base/error.hpp"
#include "core/plot/canvas/ticks.hpp"

#include <cmath>
#include <cstdint>

namespace btml::plot {

namespace {

constexpr double day_s = 86400;

struct CivilDate {
    int64_t year;
    int month, day;
};

int64_t divided(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

// Returns the days from 1970-01-01 to the first day of a month, months counted from January of the year 0. Years are
// counted from March, so that the leap day is a year's last.
int64_t first_day_of(int64_t months) {
    const int64_t from_march = months - 2, year = divided(from_march, 12), month = from_march - 12 * year;
    const int64_t leap_days = divided(year, 4) - divided(year, 100) + divided(year, 400);
    return 365 * year + leap_days + (153 * month + 2) / 5 - 719468;
}

CivilDate civil_date(int64_t days) {
    auto months = static_cast<int64_t>(std::floor(static_cast<double>(days) / 30.436875)) + int64_t{1970} * 12;
    while (first_day_of(months) > days) months--;
    while (first_day_of(months + 1) <= days) months++;
    const int64_t year = divided(months, 12);
    return {year, static_cast<int>(months - 12 * year) + 1, static_cast<int>(days - first_day_of(months)) + 1};
}

std::string year_text(int64_t year) {
    return year > 0 ? format("%04lld", static_cast<long long>(year))
                    : format("%lld BC", static_cast<long long>(1 - year));
}

std::string date_text(double seconds) {
    const CivilDate date = civil_date(static_cast<int64_t>(std::floor(seconds / day_s)));
    return year_text(date.year) + format("-%02d-%02d", date.month, date.day);
}

// decimals: of the seconds; none: no seconds at all.
std::string clock_text(double seconds, int decimals) {
    const double of_day = seconds - std::floor(seconds / day_s) * day_s;
    const double scale = std::pow(10, std::max(decimals, 0));
    auto units = static_cast<int64_t>(std::floor(of_day * scale + 0.5));
    const auto in_second = static_cast<int64_t>(scale);
    const int64_t whole = units / in_second;
    units %= in_second;
    std::string text = format("%02d:%02d", static_cast<int>(whole / 3600), static_cast<int>(whole / 60 % 60));
    if (decimals >= 0) text += format(":%02d", static_cast<int>(whole % 60));
    if (decimals > 0) text += format(".%0*lld", decimals, static_cast<long long>(units));
    return text;
}

std::vector<Tick> month_ticks(double low, double high, int64_t every) {
    std::vector<Tick> ticks;
    const CivilDate start = civil_date(static_cast<int64_t>(std::floor(low / day_s)));
    int64_t month = divided(start.year * 12 + start.month - 1, every) * every;
    for (; static_cast<double>(first_day_of(month)) * day_s <= high; month += every) {
        const double at = static_cast<double>(first_day_of(month)) * day_s;
        if (at < low) continue;
        const int64_t year = divided(month, 12);
        ticks.push_back(
            {at, year_text(year) + (every % 12 == 0 ? "" : format("-%02d", static_cast<int>(month - 12 * year) + 1))});
    }
    return ticks;
}

// Stops after one more than `most`.
std::vector<Tick> second_ticks(double low, double high, double every, size_t most, bool of_day) {
    std::vector<Tick> ticks;
    const int decimals = every >= 60 ? -1 : every >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(every) - 1e-9));
    const double origin = every == 7 * day_s ? 4 * day_s : 0; // weeks begin on a Monday
    const double first = std::ceil((low - origin) / every);
    for (size_t i = 0; i <= most; i++) {
        const double at = (first + static_cast<double>(i)) * every + origin;
        if (at > high) break;
        if (at < low || (!ticks.empty() && at <= ticks.back().value)) continue; // a double cannot tell them apart
        const bool midnight = at == std::floor(at / day_s) * day_s;
        ticks.push_back({at, !of_day && midnight     ? date_text(at)
                             : of_day && at == day_s ? "24:00"
                                                     : clock_text(at, decimals)});
    }
    return ticks;
}

} // namespace

std::vector<Tick> time_ticks(double low, double high, size_t most, bool of_day) {
    const double limit = static_cast<double>(most), width = high - low;
    static constexpr double seconds[] = {1e-6, 2e-6, 5e-6,  1e-5,  2e-5,  5e-5,  1e-4,      2e-4,      5e-4,      1e-3,
                                         2e-3, 5e-3, 0.01,  0.02,  0.05,  0.1,   0.2,       0.5,       1,         2,
                                         5,    10,   15,    30,    60,    120,   300,       600,       900,       1800,
                                         3600, 7200, 10800, 21600, 43200, day_s, 2 * day_s, 7 * day_s, 14 * day_s};
    for (const double every : seconds)
        if (std::floor(high / every) - std::ceil(low / every) + 1 <= limit && width / every < limit + 1) {
            std::vector<Tick> ticks = second_ticks(low, high, every, most, of_day);
            if (!ticks.empty() && ticks.size() <= most) return ticks;
        }
    static constexpr int64_t months[] = {1, 2, 3, 6};
    for (const int64_t every : months)
        if (width / (30.44 * day_s) / static_cast<double>(every) <= limit) {
            std::vector<Tick> ticks = month_ticks(low, high, every);
            if (!ticks.empty() && ticks.size() <= most) return ticks;
        }
    for (int64_t unit = 1;; unit *= 10)
        for (const int64_t every : {unit, 2 * unit, 5 * unit})
            if (width / (365.25 * day_s) / static_cast<double>(every) <= limit) {
                std::vector<Tick> ticks = month_ticks(low, high, 12 * every);
                if (ticks.size() <= most) return ticks;
            }
}

std::string date_context(double low, double high, const std::vector<Tick>& ticks) {
    for (const Tick& tick : ticks)
        if (tick.label.find(':') == std::string::npos) return "";
    const std::string first = date_text(low), last = date_text(high);
    return first == last ? first : first + " \xE2\x80\x93 " + last;
}

std::string described_time(double seconds, bool of_day) {
    if (of_day) return clock_text(seconds, 0);
    const bool midnight = seconds == std::floor(seconds / day_s) * day_s;
    return date_text(seconds) + (midnight ? "" : " " + clock_text(seconds, 0));
}

} // namespace btml::plot
