// Round values along an axis, with their labels.
#pragma once

#include <string>
#include <vector>

namespace btml::plot {

struct Tick {
    double value;
    std::string label; // as clean_text
};

// The functions below return ticks between low and high, with both ends, no more than `most` of them, and of one tick
// at least the value. low < high, both finite.

// Multiples of 1, 2 or 5 times a power of ten. Their values are the doubles nearest to the decimals of the labels.
// whole: of integers.
std::vector<Tick> number_ticks(double low, double high, size_t most, bool whole = false);
// Returns the distance between those ticks.
double number_step(double low, double high, size_t most, bool whole = false);

// Powers of ten, also 2 and 5 times them where there is room; of a short range, number_ticks. 0 < low.
std::vector<Tick> log_ticks(double low, double high, size_t most);

// Seconds since 1970, at round times of the Gregorian calendar. The labels are in ISO 8601; a time of the day has no
// date in its label unless it is midnight.
std::vector<Tick> time_ticks(double low, double high, size_t most, bool of_day);

// Returns what labels of time_ticks leave out: the date, or first and last date; empty where they have it.
std::string date_context(double low, double high, const std::vector<Tick>& ticks);

// Returns a number with four digits that count, for a description.
std::string described_number(double x);
// Returns a time in ISO 8601, without a time of the day where it is midnight.
std::string described_time(double seconds, bool of_day);

} // namespace btml::plot
