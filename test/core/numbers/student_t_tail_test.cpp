#include "core/numbers/student_t.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace btml {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Tail {
    double z, df, tail;
};

// Numbers of SciPy 1.16.
TEST(StudentTTails, Values) {
    for (const Tail& of :
         {Tail{0.1, 1, 0.93654896513889296}, Tail{1, 2, 0.42264973081037421}, Tail{2.5, 3.5, 0.075694643809490023},
          Tail{12, 7, 6.3583103781850978e-06}, Tail{1.96, 1e+06, 0.049996067585269852},
          Tail{3, 1e+09, 0.0026997961297379131}, Tail{40, 30, 1.3726045194406417e-27},
          Tail{1e-08, 5, 0.99999999240786619}, Tail{100000, 1, 6.3661977234636078e-06},
          Tail{300, 2, 1.1110925929355216e-05}, Tail{5, infinity, 5.733031437583866e-07}}) {
        EXPECT_NEAR(student_t_tail(of.z, of.df) / of.tail, 1, 1e-11) << of.z << ", " << of.df;
        EXPECT_EQ(student_t_tail(-of.z, of.df), student_t_tail(of.z, of.df));
    }
    EXPECT_EQ(student_t_tail(0, 3), 1);
    EXPECT_EQ(student_t_tail(infinity, 3), 0);
}

TEST(StudentTTails, Quantiles) {
    for (const Tail& of : {Tail{12.706204736174705, 1, 0.05}, Tail{2.2281388519862753, 10, 0.05},
                           Tail{494.91983285011582, 4, 1e-10}, Tail{0.13659819935369891, 3, 0.9},
                           Tail{2.5758297952037492, 1e7, 0.01}, Tail{1.9599639845400545, infinity, 0.05}})
        EXPECT_NEAR(student_t_quantile(of.tail, of.df) / of.z, 1, 1e-11) << of.tail << ", " << of.df;
}

// The tail falls by the density.
TEST(StudentTTails, AreIntegralsOfTheDensity) {
    for (const double df : {0.7, 1.0, 3.0, 12.5, 200.0, 1e5, 0.99e6, 1e6, 1e8})
        for (double z = 0.01; z < 30; z *= 1.7) {
            const double step = z * 1e-4, density = std::exp(-student_t_nll(z, df));
            const double fall = student_t_tail(z - step, df) - student_t_tail(z + step, df);
            if (density < 1e-5) continue;
            EXPECT_NEAR(fall / (4 * step) / density, 1, 1e-6) << z << ", " << df;
        }
}

} // namespace
} // namespace btml
