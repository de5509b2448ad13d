#define DCOMP_ISA avx2
#include "isa_table.hpp"
