// Student's t distribution.
#pragma once

namespace btml {

// Returns −ln of the density at z of the distribution with location 0 and scale 1, whatever the sizes of z and of df,
// which is positive. The same bits on every processor.
double student_t_nll(double z, double df);

// Returns the probability of a magnitude of z or more; df may be infinite, which is the normal distribution.
double student_t_tail(double z, double df);
// Returns the magnitude whose probability of being reached this is, which is between 0 and 1.
double student_t_quantile(double tail, double df);

} // namespace btml
