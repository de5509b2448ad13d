#include "dcomp/split.hpp"

#include <bit>
#include <cmath>

#include "dcomp/parallel.hpp"
#include "dcomp/random.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kDocuments = 256;  // a task

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of x reaches every bit.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

template <class Task>
void for_documents(const CsrView& W, int n_threads, const Task& task) {
  parallel_for(n_threads, (W.n_docs + kDocuments - 1) / kDocuments, [&](std::int64_t t, int) {
    const std::int64_t last = (t + 1) * kDocuments < W.n_docs ? (t + 1) * kDocuments : W.n_docs;
    for (std::int64_t i = t * kDocuments; i < last; ++i) task(i);
  });
}

// A stream has 32 bits for its sweep, and room in its unit for the other 40 of the key.
Stream stream_of(std::uint64_t key, std::uint64_t seed) {
  return {seed, Purpose::split, static_cast<std::uint32_t>(key >> 40),
          key & ((std::uint64_t{1} << 40) - 1)};
}

}  // namespace

void content_keys(const CsrView& W, std::uint64_t* key, int n_threads) {
  for_documents(W, n_threads, [&](std::int64_t i) {
    std::uint64_t hash = 0x9E3779B97F4A7C15;
    for (std::int64_t e = W.indptr[i]; e < W.indptr[i + 1]; ++e) {
      const auto feature = static_cast<std::uint64_t>(static_cast<std::uint32_t>(W.indices[e]));
      if (W.weight == nullptr) {
        const auto count = static_cast<std::uint64_t>(static_cast<std::uint32_t>(W.data[e]));
        hash = mixed(hash ^ (feature << 32 | count)) + 0x9E3779B97F4A7C15;
      } else {
        const auto bits = std::bit_cast<std::uint64_t>(W.weight[e]);
        hash = mixed(mixed(hash ^ feature) ^ bits) + 0x9E3779B97F4A7C15;
      }
    }
    key[i] = hash;
  });
}

void split_tokens(const CsrView& W, const std::uint64_t* key, double fraction, std::uint64_t seed,
                  std::int32_t* first, int n_threads) {
  for_documents(W, n_threads, [&](std::int64_t i) {
    Stream rng = stream_of(key[i], seed);
    for (std::int64_t e = W.indptr[i]; e < W.indptr[i + 1]; ++e)
      first[e] = draw_binomial(rng, W.data[e], fraction);
  });
}

void split_weights(const CsrView& W, const std::uint64_t* key, double fraction, std::uint64_t seed,
                   double* first, int n_threads) {
  for_documents(W, n_threads, [&](std::int64_t i) {
    Stream rng = stream_of(key[i], seed);
    for (std::int64_t e = W.indptr[i]; e < W.indptr[i + 1]; ++e) {
      const double w = W.weight[e];
      if (fraction <= 0 || fraction >= 1) {
        first[e] = fraction <= 0 ? 0 : w;
        continue;
      }
      const double log_first = draw_log_gamma(rng, fraction * w);
      first[e] = w / (1 + std::exp(draw_log_gamma(rng, (1 - fraction) * w) - log_first));
    }
  });
}

void start_counts(const CsrView& W, std::int64_t K, std::uint64_t seed, std::int32_t* c,
                  std::int32_t* n) {
  for (std::int64_t i = 0; i < W.n_docs; ++i) {
    Stream rng(seed, Purpose::start, 1, static_cast<std::uint64_t>(W.first + i));
    for (std::int64_t e = W.indptr[i]; e < W.indptr[i + 1]; ++e) {
      std::int32_t left = W.data[e];
      stop_point(16 * K);  // draws
      for (std::int64_t k = 0; k < K && left > 0; ++k) {
        // Given the components before it, a component's share is even among those that are left.
        const std::int32_t own = draw_binomial(rng, left, 1.0 / static_cast<double>(K - k));
        c[i * K + k] += own;
        n[W.indices[e] * K + k] += own;
        left -= own;
      }
    }
  }
}

}  // namespace dcomp
