// Measures where the time of a fit goes.
#pragma once

#include "core/base/error.hpp"

#include <chrono>
#include <string>

namespace btml {

struct Timing {
    std::string phase;
    double seconds;
};

// Adds the time between its construction and its end to a total.
class Stopwatch {
  public:
    explicit Stopwatch(double& total) : total_(total) {}
    ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& total_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Returns "about 3 s", for people who compare forecasts.
inline std::string about_seconds(double seconds) {
    if (seconds < 0.01) return "less than 0.01 s";
    return seconds < 9.5 ? format("about %.1g s", seconds) : format("about %.0f s", seconds);
}

} // namespace btml
