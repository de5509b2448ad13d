#include "words.hpp"

#include <nanobind/stl/string.h>

#include <atomic>
#include <random>

#include "checks.hpp"
#include "dcomp/words.hpp"
#include "stop.hpp"

namespace dcomp::bindings {

namespace {

template <class T>
using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
NewVector<T> new_vector(std::int64_t n) {
  auto data = std::make_unique<T[]>(static_cast<std::size_t>(n));
  nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return {data.release(), {static_cast<std::size_t>(n)}, owner};
}

// What Python itself takes for a letter: its tables of Unicode, as `re` asks them.
CharClass python_class(char32_t c) {
  if (Py_UNICODE_ISDECIMAL(c)) return CharClass::digit;
  return Py_UNICODE_ISALNUM(c) ? CharClass::letter : CharClass::other;
}

Numbers numbers_of(const std::string& name) {
  if (name == "none") return Numbers::none;
  if (name == "all") return Numbers::all;
  if (name == "years") return Numbers::years;
  Call("WordCounter").fail("numbers must be none, all or years; got " + name);
}

Text text_of(const Call& call, PyObject* text) {
  if (!PyUnicode_Check(text)) call.fail("texts must hold nothing but strings");
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(text) != 0) throw nb::python_error();
#endif
  return {PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), static_cast<int>(PyUnicode_KIND(text))};
}

// Calls let go of the GIL, so that two threads might meet in one counter: the second is told.
class Counter {
 public:
  Counter(const std::string& numbers, bool lower)
      : numbers_(numbers_of(numbers)), lower_(lower), words_(fresh()) {}

  void add(nb::object texts, Vector<const std::uint8_t> last, int n_threads) {
    const Use use(*this, "add");
    const int threads = use.threads(n_threads);
    // A tuple of our own keeps the strings alive, whatever others do to the list.
    const auto held = nb::steal<nb::object>(PySequence_Tuple(texts.ptr()));
    if (!held.is_valid()) throw nb::python_error();
    const Py_ssize_t n = PyTuple_GET_SIZE(held.ptr());
    use.shape("last", last, {n}, "texts");
    std::vector<Text> views;
    views.reserve(static_cast<std::size_t>(n));
    for (Py_ssize_t t = 0; t < n; ++t)
      views.push_back(text_of(use, PyTuple_GET_ITEM(held.ptr(), t)));
    {
      const Released release;
      words_.add(views, last.data(), threads);
    }
    tell();
  }

  // As of the last call that came to its end: another may be under way.
  std::int64_t n_docs() const { return n_docs_; }
  std::int64_t n_tokens() const { return n_tokens_; }
  std::int64_t n_words() const { return n_words_; }

  // All that was counted; the counter begins anew.
  nb::tuple take() {
    const Use use(*this, "take");
    use.require(words_.ends_with_document(), "the last text must end its document");
    const auto words = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(n_words())));
    if (!words.is_valid()) throw nb::python_error();
    for (std::int64_t w = 0; w < n_words(); ++w) {
      const std::string_view word = words_.words().word(w);
      PyObject* text =
          PyUnicode_DecodeUTF8(word.data(), static_cast<Py_ssize_t>(word.size()), "strict");
      if (text == nullptr) throw nb::python_error();
      PyList_SET_ITEM(words.ptr(), static_cast<Py_ssize_t>(w), text);
    }
    const NewVector<std::int64_t> starts = new_vector<std::int64_t>(n_docs() + 1);
    std::copy(words_.starts().begin(), words_.starts().end(), starts.data());
    auto tokens = std::make_unique<std::vector<std::int32_t>>(std::move(words_.tokens()));
    words_ = fresh();
    tell();
    const std::size_t n = tokens->size();
    std::int32_t* data = tokens->data();
    nb::capsule owner(tokens.get(),
                      [](void* p) noexcept { delete static_cast<std::vector<std::int32_t>*>(p); });
    tokens.release();
    return nb::make_tuple(starts, NewVector<std::int32_t>(data, {n}, owner), words);
  }

 private:
  class Use : public Call {
   public:
    Use(Counter& of, const char* method) : Call(method), of_(of) {
      if (of.in_use_.exchange(true))
        throw std::runtime_error(std::string(method) +
                                 ": another thread is using this counter; it serves one at a time");
      if (!of.words_.is_void()) return;
      of.in_use_ = false;
      throw std::runtime_error(std::string(method) +
                               ": a call was stopped, and the counter is void: make another");
    }
    ~Use() { of_.in_use_ = false; }
    Use(const Use&) = delete;

   private:
    Counter& of_;
  };

  void tell() {
    n_docs_ = words_.n_docs();
    n_tokens_ = words_.n_tokens();
    n_words_ = words_.words().size();
  }
  WordCounter fresh() const {
    std::random_device device;
    const std::uint64_t seed = static_cast<std::uint64_t>(device()) << 32 | device();
    return {numbers_, lower_, &python_class, seed};
  }

  Numbers numbers_;
  bool lower_;
  WordCounter words_;
  std::int64_t n_docs_ = 0, n_tokens_ = 0, n_words_ = 0;
  std::atomic<bool> in_use_{false};
};

void require_ascending(const Call& call, const char* name, const Vector<const std::int64_t>& starts,
                       std::int64_t n) {
  const auto last = static_cast<std::int64_t>(starts.size()) - 1;
  bool ascend = last >= 0 && starts.data()[0] == 0 && starts.data()[last] == n;
  for (std::int64_t i = 0; ascend && i < last; ++i)
    ascend = starts.data()[i] <= starts.data()[i + 1];
  if (!ascend)
    call.fail(std::string(name) + " must ascend from 0 to the number of what it points at");
}

// Room for the features that are there, however many are said to be.
std::int64_t features_in(const Vector<const std::int32_t>& numbers) {
  std::int32_t most = -1;
  for (std::size_t t = 0; t < numbers.size(); ++t) most = std::max(most, numbers.data()[t]);
  return std::int64_t{most} + 1;
}

nb::tuple count_tokens(Vector<const std::int64_t> starts, Vector<const std::int32_t> tokens,
                       std::int64_t n_features, int n_threads) {
  const Call call("count_tokens");
  const int threads = call.threads(n_threads);
  call.require(n_features >= 0 && n_features < std::int64_t{1} << 31,
               "n_features must lie in [0, 2^31)", n_features);
  const auto n_docs = static_cast<std::int64_t>(starts.size()) - 1;
  require_ascending(call, "starts", starts, static_cast<std::int64_t>(tokens.size()));
  call.within("tokens", tokens, -1, static_cast<std::int32_t>(n_features - 1),
              "features from 0 on, or -1");
  n_features = features_in(tokens);
  const NewVector<std::int64_t> indptr = new_vector<std::int64_t>(n_docs + 1);
  {
    const Released release;
    count_row_lengths(starts.data(), n_docs, tokens.data(), n_features, indptr.data(), threads);
  }
  const std::int64_t n_entries = indptr.data()[n_docs];
  const NewVector<std::int32_t> indices = new_vector<std::int32_t>(n_entries);
  const NewVector<std::int32_t> data = new_vector<std::int32_t>(n_entries);
  {
    const Released release;
    count_rows(starts.data(), n_docs, tokens.data(), n_features, indptr.data(), indices.data(),
               data.data(), threads);
  }
  return nb::make_tuple(indptr, indices, data);
}

bool tokens_are(Vector<const std::int64_t> starts, Vector<const std::int32_t> tokens,
                Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
                Vector<const std::int32_t> data, int n_threads) {
  const Call call("tokens_are");
  const int threads = call.threads(n_threads);
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
  require_ascending(call, "starts", starts, static_cast<std::int64_t>(tokens.size()));
  require_ascending(call, "indptr", indptr, static_cast<std::int64_t>(indices.size()));
  call.shape("indptr", indptr, {static_cast<std::int64_t>(starts.size())}, "documents and one");
  call.shape("data", data, {static_cast<std::int64_t>(indices.size())}, "stored counts");
  call.within("tokens", tokens, -1, kMost, "features from 0 on, or -1");
  call.within("indices", indices, 0, kMost, "features from 0 on");
  // Columns that no token is of would only take room.
  const std::int64_t n_features = features_in(tokens);
  if (features_in(indices) > n_features) return false;
  const Released release;
  return rows_are(starts.data(), static_cast<std::int64_t>(starts.size()) - 1, tokens.data(),
                  n_features, indptr.data(), indices.data(), data.data(), threads);
}

}  // namespace

void define_words(nb::module_& m) {
  nb::class_<Counter>(m, "WordCounter")
      .def(nb::init<const std::string&, bool>(), nb::arg("numbers"), nb::arg("lower"))
      .def("add", &Counter::add, nb::arg("texts"), nb::arg("last").noconvert(),
           nb::arg("n_threads"))
      .def("take", &Counter::take)
      .def_prop_ro("n_docs", &Counter::n_docs)
      .def_prop_ro("n_tokens", &Counter::n_tokens)
      .def_prop_ro("n_words", &Counter::n_words);
  m.def("count_tokens", &count_tokens, nb::arg("starts").noconvert(), nb::arg("tokens").noconvert(),
        nb::arg("n_features"), nb::arg("n_threads"));
  m.def("tokens_are", &tokens_are, nb::arg("starts").noconvert(), nb::arg("tokens").noconvert(),
        nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("data").noconvert(),
        nb::arg("n_threads"));
}

}  // namespace dcomp::bindings
