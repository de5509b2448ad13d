#include "stop.hpp"

#include <stdexcept>

namespace dcomp::bindings {

namespace {

thread_local Stop* stop_of_thread = nullptr;

// As KeyboardInterrupt, or as what the handler of the signal has raised.
void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Stopped&) {
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

void Stop::enter() {
  if (stop_of_thread != nullptr)
    throw std::runtime_error("a thread can work under one Stop at a time");
  stop_of_thread = this;
}

void Stop::exit() { stop_of_thread = nullptr; }

void require_going_on() {
  if (stop_of_thread != nullptr && stop_of_thread->requested()) throw Stopped();
}

bool stop_wanted() {
  if (stop_of_thread != nullptr && stop_of_thread->requested()) return true;
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void define_stop(nb::module_& m) {
  nb::register_exception_translator(translate);
  nb::class_<Stop>(m, "Stop")
      .def(nb::init<>())
      .def("request", &Stop::request)
      .def_prop_ro("requested", &Stop::requested)
      .def("__enter__",
           [](nb::object self) {
             nb::cast<Stop&>(self).enter();
             self.inc_ref();  // the thread points to it
             return self;
           })
      .def(
          "__exit__",
          [](nb::object self, nb::handle, nb::handle, nb::handle) {
            nb::cast<Stop&>(self).exit();
            self.dec_ref();
          },
          nb::arg("kind").none(), nb::arg("error").none(), nb::arg("trace").none());
}

}  // namespace dcomp::bindings
