/* Driver of the cdma engine: C99, freestanding, no allocation, no global state. It calls no function
 * of a library; a compiler may call memcpy, and for 64 bits on a 32-bit processor its own shifts and
 * products, but no division.
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
    CDMA_E_DEVICE = -2,   /* the device is not an engine, or has another major version */
    CDMA_E_ARGUMENT = -3, /* an argument is out of range or misaligned */
    CDMA_E_FULL = -4,     /* the ring has no room; nothing was submitted */
    CDMA_E_GAVE_UP = -5,  /* io.idle stopped the wait; the engine still owns the descriptor */
    CDMA_E_COOKIE = -6,   /* a completion belongs to another descriptor */
    CDMA_E_FATAL = -7,    /* the link has failed: only aresetn recovers */
    CDMA_E_RING = -8      /* the ring does not run and gives no completion: cdma_recover */
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

/* Access to the engine. */
struct cdma_io {
    void *context;
    /* Register access at a byte address. Returns 0, or another value if the access failed. */
    int (*read)(void *context, uint32_t address, uint32_t *value);
    int (*write)(void *context, uint32_t address, uint32_t value);
    /* Orders the memory accesses before and after the call; may be NULL. */
    void (*barrier)(void *context);
    /* Called while the driver waits: sleep until the interrupt, but not for ever (a reset or the
     * start of a ring has none), or return at once. A value other than 0 stops the wait. With NULL,
     * the driver polls until the job completes or the ring has ended. */
    int (*idle)(void *context);
};

/* Size of the engine, from its capability registers. */
struct cdma_config {
    uint32_t channels, lanes, word_bytes, stripe_bytes, link_bytes, block_words;
    uint32_t address_bits, auto_distance;
    uint32_t codec, type; /* 0 zero-value, 2 ZVC+; of ZVC+: 0 fp32, 1 fp16, 2 bf16, 3 int8 */
};

/* Memory of a ring and its bus addresses. Each ring has 2^log2 entries. */
struct cdma_ring_setup {
    volatile uint8_t *sq, *cq;       /* 64 and 32 bytes per entry */
    uint64_t sq_address, cq_address; /* multiples of 64 */
    uint32_t log2;                   /* 0 to 15 */
    /* Windows; limits are excluded. Windows and attributes that are locked in the engine stay as they
     * are. */
    uint64_t device_base, device_limit, host_base, host_limit;
    uint32_t attributes; /* ATTR: AxUSER, AxPROT and AxCACHE; 0: not written */
};

struct cdma_ring {
    struct cdma_ring_setup setup;
    uint16_t tail, head; /* descriptors submitted, completions read */
    uint16_t reported;   /* completions read, last value of CQ HEAD written to the engine */
    uint16_t is_open;    /* by cdma_ring_open, until cdma_open or cdma_reset */
};

struct cdma {
    struct cdma_io io;
    struct cdma_config config;
    struct cdma_ring ring[2];
    uint64_t cookie;
};

/* Fields of a descriptor; zeros are good defaults. */
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

/* Maximum stream size for a number of bytes, and number of stripes of a row. */
uint64_t cdma_bound(const struct cdma_config *config, uint64_t bytes);
uint64_t cdma_stripes(const struct cdma_config *config, uint64_t row_bytes);

/* Check the device, reset it, read its size. */
int cdma_open(struct cdma *engine, const struct cdma_io *io);

/* Program a ring and run it. Call it after cdma_open, and again after cdma_reset; before that, no
 * other function takes the ring. CDMA_E_RING: the rings do not lie in the host window; call it again
 * with a right setup. CDMA_E_ACCESS: the ring runs already, or has had jobs since the reset, and stays
 * as it is: cdma_recover or cdma_reset; or a reset has not ended. */
int cdma_ring_open(struct cdma *engine, uint32_t ring, const struct cdma_ring_setup *setup);

/* Submit a job. *cookie gets its identifier, which the completion returns. */
int cdma_submit(struct cdma *engine, uint32_t ring, const struct cdma_job *job, uint64_t *cookie);

/* Read the next completion, without waiting. Returns 1 if there was one, else 0. */
int cdma_poll(struct cdma *engine, uint32_t ring, struct cdma_completion *completion);

/* Submit a job and wait for its completion. The ring must have no other pending jobs. */
int cdma_run(struct cdma *engine, uint32_t ring, const struct cdma_job *job,
             struct cdma_completion *completion);

/* Compress a tensor in device memory into host memory.
 * stream: 64-byte aligned, capacity bytes; index: 8 bytes for each stripe. */
int cdma_offload(struct cdma *engine, uint64_t device, uint64_t bytes, uint64_t stream,
                 uint64_t capacity, uint64_t index, uint32_t raw, uint32_t flags,
                 struct cdma_completion *completion);

/* The reverse of cdma_offload. stream_bytes is the value of the offload's completion. */
int cdma_prefetch(struct cdma *engine, uint64_t device, uint64_t bytes, uint64_t stream,
                  uint64_t stream_bytes, uint64_t index, uint32_t flags,
                  struct cdma_completion *completion);

/* Abort a ring from any state and run it again. Started jobs end as ABORTED. Unread completions
 * are discarded. *withdrawn gets the number of jobs that were not started. Buffers of the others
 * belong to the engine until cdma_clear_quarantine has returned 1 for each channel. CTRL.HALT stays
 * as it is. */
int cdma_recover(struct cdma *engine, uint32_t ring, uint32_t *withdrawn);

/* Take a channel out of quarantine after a timeout. Returns 1 if it is free, 0 while it has
 * outstanding responses. While it is 0, the engine may access the buffers of each job that ended
 * with an error, whatever its status. */
int cdma_clear_quarantine(struct cdma *engine, uint32_t channel);

/* Reset the engine. Then open both rings again, and write what else is not to have its reset value:
 * IRQ_ENABLE, IRQ_COALESCE and TIMEOUT, RATE, QOS and ENABLE of channels, the arena; the same holds
 * after cdma_open. A channel in quarantine stays there: see cdma_clear_quarantine. CDMA_E_FATAL: the
 * link has failed: the reset does not end, or ends and changes nothing about that. The rings, and the
 * buffers of all jobs without a completion, belong to the engine until aresetn. */
int cdma_reset(struct cdma *engine);

#ifdef __cplusplus
}
#endif

#endif
