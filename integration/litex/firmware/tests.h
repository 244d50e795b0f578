/* Memory map of the tests, and what they work on. */
#ifndef TESTS_H
#define TESTS_H

#include "cdma.h"

#include <generated/csr.h>
#include <generated/mem.h>
#include <generated/soc.h>

#define RING_LOG2 2u
#define WAIT_CYCLES 1000000u /* without an interrupt the driver gives up */
#define DEVICE_BYTES 0x10000u
#define SOURCE ((uint32_t)MAIN_RAM_BASE)
#define TARGET (SOURCE + 0x8000u)
#define INDEX ((uint32_t)HOST_BASE + 0x1000u)
#define STREAM ((uint32_t)HOST_BASE + 0x2000u)
#define STREAM_BYTES 0x6000u
#define COPY ((uint32_t)HOST_BASE + 0x8000u)

struct tensor {
    const char *name;
    const uint32_t *words;
    const uint8_t *stream, *index; /* expected in host memory */
    uint32_t bytes, raw, stream_bytes, stripes, raw_stripes;
};

struct damage {
    const char *name;
    uint32_t is_index, offset, value, has_crc; /* the byte, and whether CRCs are checked */
    uint32_t status, stripe, is_rest_written;  /* expected */
    const uint32_t *words;                     /* expected in the damaged stripe */
};

/* system.c */
uint32_t cycles_now(void);
uint32_t interrupts_taken(void);
int open_engine(struct cdma *engine);
int open_rings(struct cdma *engine);

#endif
