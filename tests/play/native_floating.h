/* A floating-point state in which a library that takes it as it is dies, or computes otherwise. */
#include <stdint.h>

#if defined(__x86_64__)
/* Every exception traps, numbers are rounded upward, subnormal ones are 0; and those of the x87 are
   short. The flag of inexact numbers is set. */
static const uint64_t hostile = 0xc060 | (uint64_t)0x0840 << 32;

static uint64_t floating(void) {
    uint32_t sse;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87) : : "memory");
    return sse | (uint64_t)x87 << 32;
}

static void set_floating(uint64_t state) {
    uint32_t sse = (uint32_t)state;
    uint16_t x87 = (uint16_t)(state >> 32);
    __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(sse), "m"(x87) : "memory");
}
#else
/* The same, where the processor can trap at all. */
static const uint64_t hostile = 0x1409f00 | (uint64_t)0x10 << 32;

static uint64_t floating(void) {
    uint64_t control, flags;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags) : : "memory");
    return control | flags << 32;
}

static void set_floating(uint64_t state) {
    uint64_t control = (uint32_t)state, flags = state >> 32;
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(control), "r"(flags) : "memory");
}
#endif
