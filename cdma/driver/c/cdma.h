/* Driver of the cdma engine: C99, freestanding, no allocation, no global state.
 *
 * One struct cdma belongs to one engine; calls for one engine must not run at the same time.
 * Functions return 0, a negative CDMA_E_ number, or the status of a completion (positive).
 */
#ifndef CDMA_H
#define CDMA_H

#include <stddef.h>
#include <stdint.h>

#include "cdma_regs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CDMA_E_ACCESS = -1,   /* the engine refused a register access */
    CDMA_E_DEVICE = -2,   /* the device is no engine, or of another major version */
    CDMA_E_ARGUMENT = -3, /* an argument is out of range or misaligned */
    CDMA_E_FULL = -4,     /* the ring has no room */
    CDMA_E_GAVE_UP = -5,  /* io.idle asked to stop waiting; the descriptor is still the engine's */
    CDMA_E_COOKIE = -6,   /* a completion belongs to another descriptor */
    CDMA_E_FATAL = -7     /* the link has failed: only aresetn recovers */
};

enum { CDMA_RING_OFFLOAD = 0, CDMA_RING_PREFETCH = 1 };

/* Flags of a job. */
enum {
    CDMA_F_INTERRUPT = 1 << 4,
    CDMA_F_FENCE = 1 << 5,
    CDMA_F_INDEX = 1 << 6,
    CDMA_F_CRC = 1 << 7,
    CDMA_F_APPEND = 1 << 20
};

/* How the driver reaches the engine. */
struct cdma_io {
    void *context;
    /* Register access at a byte address; 0, or anything else when it was refused. */
    int (*read)(void *context, uint32_t address, uint32_t *value);
    int (*write)(void *context, uint32_t address, uint32_t value);
    /* Orders memory accesses before with those after; may be NULL. */
    void (*barrier)(void *context);
    /* Called while the driver waits: sleep until the interrupt, or return at once.
     * Not 0: stop waiting. NULL: wait for ever. */
    int (*idle)(void *context);
};

/* Size of the engine, out of its capability registers. */
struct cdma_config {
    uint32_t channels, lanes, word_bytes, stripe_bytes, link_bytes, block_words;
    uint32_t address_bits, auto_distance;
};

/* Memory of a ring, which the engine reaches at the bus addresses. 2^log2 entries each. */
struct cdma_ring_setup {
    volatile uint8_t *sq, *cq;       /* 64 and 32 bytes an entry */
    uint64_t sq_address, cq_address; /* multiples of 64 */
    uint32_t log2;                   /* 0 to 15 */
    uint64_t device_base, device_limit, host_base, host_limit; /* windows; limits are excluded */
};

struct cdma_ring {
    struct cdma_ring_setup setup;
    uint16_t tail, head; /* descriptors submitted, completions read */
    uint16_t told;       /* completions read, as far as the engine knows */
};

struct cdma {
    struct cdma_io io;
    struct cdma_config config;
    struct cdma_ring ring[2];
    uint64_t cookie;
};

/* What a descriptor says; zeros are good defaults. */
struct cdma_job {
    uint32_t op, flags, raw; /* CDMA_OP_, CDMA_F_, CDMA_RAW_ */
    uint32_t rows;
    uint64_t device, host, index;
    uint64_t row_bytes, limit;
    int64_t pitch;
};

struct cdma_completion {
    uint64_t cookie, stream_bytes, where;
    uint32_t stripe;
    uint16_t head;
    uint8_t status, channel;
};

/* Most bytes of the stream of so many bytes, and stripes of a row. */
uint64_t cdma_bound(const struct cdma_config *config, uint64_t bytes);
uint64_t cdma_stripes(const struct cdma_config *config, uint64_t row_bytes);

/* Check the device, reset it, read its size. */
int cdma_open(struct cdma *engine, const struct cdma_io *io);

/* Program a ring and run it; after cdma_open, and again after cdma_reset. */
int cdma_ring_open(struct cdma *engine, uint32_t ring, const struct cdma_ring_setup *setup);

/* Submit a job; *cookie names it. */
int cdma_submit(struct cdma *engine, uint32_t ring, const struct cdma_job *job, uint64_t *cookie);

/* Take the next completion: 1 when there was one, 0 when not. */
int cdma_poll(struct cdma *engine, uint32_t ring, struct cdma_completion *completion);

/* Submit a job, wait for its completion. The ring must have nothing else waiting. */
int cdma_run(struct cdma *engine, uint32_t ring, const struct cdma_job *job,
             struct cdma_completion *completion);

/* Compress a tensor of device memory into host memory.
 * stream: 64-byte aligned, capacity bytes; index: 8 bytes for each stripe. */
int cdma_offload(struct cdma *engine, uint64_t device, uint64_t bytes, uint64_t stream,
                 uint64_t capacity, uint64_t index, uint32_t raw, uint32_t flags,
                 struct cdma_completion *completion);

/* The reverse; stream_bytes as the offload's completion has them. */
int cdma_prefetch(struct cdma *engine, uint64_t device, uint64_t bytes, uint64_t stream,
                  uint64_t stream_bytes, uint64_t index, uint32_t flags,
                  struct cdma_completion *completion);

/* Abort a ring from any state and run it again. Started jobs end as ABORTED; completions that were
 * not polled before are dropped. *withdrawn counts the jobs that were not started. */
int cdma_recover(struct cdma *engine, uint32_t ring, uint32_t *withdrawn);

/* Use a channel again after a timeout: 1 when it is free, 0 while it owes answers. */
int cdma_clear_quarantine(struct cdma *engine, uint32_t channel);

/* Reset the engine; both rings must then be opened again. */
int cdma_reset(struct cdma *engine);

#ifdef __cplusplus
}
#endif

#endif
