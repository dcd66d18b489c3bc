/* A function that the libraries of this process call across their borders, and where the dynamic linker leads these calls. */
#ifndef TORCHADA_LINKED_FUNCTION_H
#define TORCHADA_LINKED_FUNCTION_H

#include <stdint.h>
#include <stdlib.h> /* says whether this is glibc */

#if defined(__linux__) && defined(__GLIBC__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define CALLS_CAN_BE_LED 1
#else
#define CALLS_CAN_BE_LED 0
#endif

#if CALLS_CAN_BE_LED
typedef struct {
    const char *const *names; /* mangled; several are aliases of one address; NULL at the end */
    uintptr_t address;        /* where it is, and in which library: filled in by find_function */
    const char *library;
    int call_sites;           /* the slots of loaded libraries that are for it; counted by lead_calls */
} linked_function;

/* Each returns NULL, or says why it could not be done; the text is valid until the next call. Not to be called by two threads at
   the same time. */

/* Find the one library that defines the function. */
const char *find_function(linked_function *function);

/* Lead calls that go to the address `from` to the address `to`: those of the libraries that are loaded, and of any loaded later. */
const char *lead_calls(linked_function *function, uintptr_t from, uintptr_t to);
#endif

#endif
