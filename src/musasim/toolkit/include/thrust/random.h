// Random engines and distributions for host and device, with the numbers that Thrust's give. Absent: ranlux and taus88.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace thrust {
namespace random {

// x becomes a * x + c modulo m.
template <class T, T a, T c, T m>
class linear_congruential_engine {
 public:
  using result_type = T;
  static constexpr T multiplier = a, increment = c, modulus = m, min = c == 0 ? 1 : 0, max = m - 1, default_seed = 1;

  explicit linear_congruential_engine(T value = default_seed) { seed(value); }
  void seed(T value = default_seed) { x_ = c % m == 0 && value % m == 0 ? 1 : value % m; }
  T operator()() { return x_ = step(x_, a, c); }
  // As many steps, in so many turns as their number has bits.
  void discard(unsigned long long steps) {
    for (T factor = a, summand = c; steps != 0; steps >>= 1) {
      if (steps & 1) x_ = step(x_, factor, summand);
      summand = step(summand, factor, summand);
      factor = step(factor, factor, 0);
    }
  }
  friend bool operator==(const linear_congruential_engine& one, const linear_congruential_engine& other) {
    return one.x_ == other.x_;
  }
  friend bool operator!=(const linear_congruential_engine& one, const linear_congruential_engine& other) {
    return !(one == other);
  }

 private:
  static T step(T x, T factor, T summand) {
    return static_cast<T>((static_cast<std::uint64_t>(factor) * x + summand) % m);
  }
  T x_;
};
using minstd_rand0 = linear_congruential_engine<std::uint32_t, 16807, 0, 2147483647>;
using minstd_rand = linear_congruential_engine<std::uint32_t, 48271, 0, 2147483647>;
using default_random_engine = minstd_rand;

namespace detail {

// What a distribution does that two numbers describe.
template <class Number>
class with_two_parameters {
 public:
  using result_type = Number;
  using param_type = std::pair<Number, Number>;
  void reset() {}
  param_type param() const { return param_; }
  void param(const param_type& param) { param_ = param; }

 protected:
  explicit with_two_parameters(const param_type& param) : param_(param) {}
  param_type param_;
};

}  // namespace detail

template <class Real = double>
class uniform_real_distribution : public detail::with_two_parameters<Real> {
  using base = detail::with_two_parameters<Real>;

 public:
  using typename base::param_type;
  explicit uniform_real_distribution(Real a = 0, Real b = 1) : base({a, b}) {}
  explicit uniform_real_distribution(const param_type& param) : base(param) {}
  template <class Engine>
  Real operator()(Engine& engine) {
    return (*this)(engine, this->param_);
  }
  template <class Engine>
  Real operator()(Engine& engine, const param_type& param) {
    const Real steps = Real(1) + static_cast<Real>(Engine::max - Engine::min);
    return static_cast<Real>(engine() - Engine::min) / steps * (param.second - param.first) + param.first;
  }
  Real a() const { return this->param_.first; }
  Real b() const { return this->param_.second; }
  Real min() const { return a(); }
  Real max() const { return b(); }
};

template <class Integer = int>
class uniform_int_distribution : public detail::with_two_parameters<Integer> {
  using base = detail::with_two_parameters<Integer>;

 public:
  using typename base::param_type;
  explicit uniform_int_distribution(Integer a = 0, Integer b = std::numeric_limits<Integer>::max()) : base({a, b}) {}
  explicit uniform_int_distribution(const param_type& param) : base(param) {}
  template <class Engine>
  Integer operator()(Engine& engine) {
    return (*this)(engine, this->param_);
  }
  template <class Engine>
  Integer operator()(Engine& engine, const param_type& param) {
    const double low = static_cast<double>(param.first), high = static_cast<double>(param.second);
    return static_cast<Integer>(uniform_real_distribution<double>(low, high + 1)(engine));
  }
  Integer a() const { return this->param_.first; }
  Integer b() const { return this->param_.second; }
  Integer min() const { return a(); }
  Integer max() const { return b(); }
};

// By Box and Muller. The numbers are not those of CUDA, which takes the inverse of the error function.
template <class Real = double>
class normal_distribution : public detail::with_two_parameters<Real> {
  using base = detail::with_two_parameters<Real>;

 public:
  using typename base::param_type;
  explicit normal_distribution(Real mean = 0, Real deviation = 1) : base({mean, deviation}) {}
  explicit normal_distribution(const param_type& param) : base(param) {}
  template <class Engine>
  Real operator()(Engine& engine) {
    return (*this)(engine, this->param_);
  }
  template <class Engine>
  Real operator()(Engine& engine, const param_type& param) {
    uniform_real_distribution<double> uniform;
    const double radius = std::sqrt(-2 * std::log(1 - uniform(engine)));
    return static_cast<Real>(param.first + param.second * radius * std::cos(2 * 3.14159265358979323846 * uniform(engine)));
  }
  Real mean() const { return this->param_.first; }
  Real stddev() const { return this->param_.second; }
};

}  // namespace random

using random::default_random_engine;
using random::linear_congruential_engine;
using random::minstd_rand;
using random::minstd_rand0;
using random::normal_distribution;
using random::uniform_int_distribution;
using random::uniform_real_distribution;

}  // namespace thrust
