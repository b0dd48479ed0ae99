// An axis: which ticks it has, and how much room their labels take.
#pragma once

#include "core/plot/canvas/scale.hpp"
#include "core/plot/canvas/ticks.hpp"

namespace btml::plot {

class Axis {
  public:
    // categories: the texts of a domain of categories, in the order of their codes.
    Axis(const Domain& domain, bool vertical, std::vector<std::string> categories);

    // Chooses as many ticks as have room along so many pixels, with labels of at most `room` pixels across. They are
    // turned, and some left out, where categories have none otherwise.
    void fit(double length, double room);

    const Domain& domain() const { return domain_; }
    const std::vector<Tick>& ticks() const { return ticks_; }
    // Returns the pixels across that ticks and labels take; those by which labels stick out at the two ends.
    double thickness() const;
    double overhang_before() const { return before_; }
    double overhang_after() const { return after_; }

    void draw_grid(const Frame& frame, const Scale& scale, Svg& svg) const;
    void draw_labels(const Frame& frame, const Scale& scale, Svg& svg) const;

  private:
    void fit_numbers(double length);
    void fit_categories(double length, double room);
    std::vector<Tick> ticks_for(size_t most) const;
    bool labels_fit(double length) const;
    void measure_overhang(double length);
    double widest() const;

    Domain domain_;
    bool vertical_, turned_ = false;
    std::vector<std::string> categories_;
    std::vector<Tick> ticks_;
    double before_ = 0, after_ = 0;
};

} // namespace btml::plot
