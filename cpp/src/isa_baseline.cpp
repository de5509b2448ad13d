#define DCOMP_ISA baseline
#include "isa_table.hpp"
