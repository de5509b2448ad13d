#include "split.hpp"

#include <algorithm>

#include "corpus.hpp"
#include "dcomp/split.hpp"

namespace dcomp::bindings {

namespace {

void keys_of_contents(Corpus& corpus, Vector<std::uint64_t> key, int n_threads) {
  const CsrView& W = corpus.weights();
  require(static_cast<std::int64_t>(key.shape(0)) == W.n_docs,
          "key must hold one number per document");
  nb::gil_scoped_release release;
  content_keys(W, key.data(), std::max(n_threads, 1));
}

void split(Corpus& corpus, Vector<const std::uint64_t> key, double fraction, std::uint64_t seed,
           Vector<std::int32_t> first, int n_threads) {
  const CsrView& W = corpus.W();
  require(static_cast<std::int64_t>(key.shape(0)) == W.n_docs,
          "key must hold one number per document");
  require(static_cast<std::int64_t>(first.shape(0)) == W.indptr[W.n_docs],
          "first must hold one number per stored count");
  require(fraction >= 0 && fraction <= 1, "fraction must lie between 0 and 1");
  nb::gil_scoped_release release;
  split_tokens(W, key.data(), fraction, seed, first.data(), std::max(n_threads, 1));
}

void split_fractional(Corpus& corpus, Vector<const std::uint64_t> key, double fraction,
                      std::uint64_t seed, Vector<double> first, int n_threads) {
  const CsrView& W = corpus.weights();
  require(W.weight != nullptr, "the counts must be fractional; whole ones are split_tokens'");
  require(static_cast<std::int64_t>(key.shape(0)) == W.n_docs,
          "key must hold one number per document");
  require(static_cast<std::int64_t>(first.shape(0)) == W.indptr[W.n_docs],
          "first must hold one number per stored count");
  require(fraction >= 0 && fraction <= 1, "fraction must lie between 0 and 1");
  nb::gil_scoped_release release;
  split_weights(W, key.data(), fraction, seed, first.data(), std::max(n_threads, 1));
}

void counts_at_start(Corpus& corpus, std::uint64_t seed, Matrix<std::int32_t> c,
                     Matrix<std::int32_t> n) {
  const CsrView& W = corpus.W();
  require(static_cast<std::int64_t>(c.shape(0)) == W.n_docs &&
              static_cast<std::int64_t>(n.shape(0)) == W.n_features && c.shape(1) == n.shape(1),
          "c must be (n_docs, K) and n (n_features, K)");
  nb::gil_scoped_release release;
  start_counts(W, static_cast<std::int64_t>(c.shape(1)), seed, c.data(), n.data());
}

}  // namespace

void define_split(nb::module_& m) {
  m.def("content_keys", &keys_of_contents, nb::arg("corpus"), nb::arg("key").noconvert(),
        nb::arg("n_threads"));
  m.def("split_tokens", &split, nb::arg("corpus"), nb::arg("key").noconvert(), nb::arg("fraction"),
        nb::arg("seed"), nb::arg("first").noconvert(), nb::arg("n_threads"));
  m.def("split_weights", &split_fractional, nb::arg("corpus"), nb::arg("key").noconvert(),
        nb::arg("fraction"), nb::arg("seed"), nb::arg("first").noconvert(), nb::arg("n_threads"));
  m.def("start_counts", &counts_at_start, nb::arg("corpus"), nb::arg("seed"),
        nb::arg("c").noconvert(), nb::arg("n").noconvert());
}

}  // namespace dcomp::bindings
