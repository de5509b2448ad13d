#include "split.hpp"

#include "corpus.hpp"
#include "dcomp/split.hpp"
#include "stop.hpp"

namespace dcomp::bindings {

namespace {

void keys_of_contents(Corpus& corpus, Vector<std::uint64_t> key, int n_threads) {
  const Call call("content_keys");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.weights();
  call.shape("key", key, {W.n_docs}, "documents");
  const Released release;
  content_keys(W, key.data(), threads);
}

template <class T>
void require_split(const Call& call, const CsrView& W, const Vector<const std::uint64_t>& key,
                   double fraction, const Vector<T>& first) {
  call.shape("key", key, {W.n_docs}, "documents");
  call.shape("first", first, {W.indptr[W.n_docs]}, "stored counts");
  if (!(fraction >= 0 && fraction <= 1))
    call.fail("fraction must lie in [0, 1]; got " + std::to_string(fraction));
  call.apart({span("first", first), span("key", key)});
}

void split(Corpus& corpus, Vector<const std::uint64_t> key, double fraction, std::uint64_t seed,
           Vector<std::int32_t> first, int n_threads) {
  const Call call("split_tokens");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.W();
  require_split(call, W, key, fraction, first);
  const Released release;
  split_tokens(W, key.data(), fraction, seed, first.data(), threads);
}

void split_fractional(Corpus& corpus, Vector<const std::uint64_t> key, double fraction,
                      std::uint64_t seed, Vector<double> first, int n_threads) {
  const Call call("split_weights");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.weights();
  call.require(W.weight != nullptr, "the counts must be fractional; whole ones are split_tokens'");
  require_split(call, W, key, fraction, first);
  const Released release;
  split_weights(W, key.data(), fraction, seed, first.data(), threads);
}

void counts_at_start(Corpus& corpus, std::uint64_t seed, Matrix<std::int32_t> c,
                     Matrix<std::int32_t> n) {
  const Call call("start_counts");
  const CsrView& W = corpus.W();
  const auto K = static_cast<std::int64_t>(c.shape(1));
  call.components(K);
  call.shape("c", c, {W.n_docs, K}, "documents, K");
  call.shape("n", n, {W.n_features, K}, "features, K");
  call.apart({span("c", c), span("n", n)});
  const Released release;
  start_counts(W, K, seed, c.data(), n.data());
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
