/* Driver of the cdma engine; see cdma.h. */
#include "cdma.h"

#define FIELD(value, name) (((value) & name##_MASK) >> name##_LOW)
/* Codecs in CAP1, and the most bits of a block of ZVC+. */
#define CODEC_PLUS 2u
#define PLUS_BLOCK_BITS 1029u
#define RUN CDMA_RING_CTRL_RUN_MASK
#define ABORT CDMA_RING_CTRL_ABORT_MASK
#define HALT CDMA_RING_CTRL_HALT_MASK
#define FLAGS (CDMA_F_INTERRUPT | CDMA_F_FENCE | CDMA_F_INDEX | CDMA_F_CRC | CDMA_F_APPEND)
/* A wait looks at the state of the ring once in so many polls. Before, it does so in the poll FIRST
 * and in twice as many each time: io.idle may sleep for long. */
#define FIRST 8u
#define POLLS 64u

static int read_register(struct cdma *engine, uint32_t address, uint32_t *value)
{
    return engine->io.read(engine->io.context, address, value) ? CDMA_E_ACCESS : 0;
}

static int write_register(struct cdma *engine, uint32_t address, uint32_t value)
{
    return engine->io.write(engine->io.context, address, value) ? CDMA_E_ACCESS : 0;
}

/* Two registers, the lower half first. */
static int write_pair(struct cdma *engine, uint32_t address, uint64_t value)
{
    int error = write_register(engine, address, (uint32_t)value);
    return error ? error : write_register(engine, address + 4u, (uint32_t)(value >> 32));
}

static void barrier(struct cdma *engine)
{
    if (engine->io.barrier)
        engine->io.barrier(engine->io.context);
}

static int gives_up(struct cdma *engine)
{
    return engine->io.idle && engine->io.idle(engine->io.context);
}

/* Descriptors and completions are little-endian on every processor. */
static void put(volatile uint8_t *at, uint64_t value, unsigned bytes)
{
    unsigned i;
    for (i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8u * i));
}

static uint64_t get(const volatile uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    unsigned i;
    for (i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8u * i);
    return value;
}

static uint32_t log2_of(uint32_t power)
{
    uint32_t log2 = 0;
    while (power > 1u) {
        power >>= 1;
        log2++;
    }
    return log2;
}

static uint32_t phase_of(const struct cdma_ring *ring, uint16_t count)
{
    return ~((uint32_t)count >> ring->setup.log2) & 1u;
}

static uint32_t entry_of(const struct cdma_ring *ring, uint16_t count)
{
    return count & ((1u << ring->setup.log2) - 1u);
}

static uint32_t waiting(const struct cdma_ring *ring)
{
    return (uint16_t)(ring->tail - ring->head);
}

/* CDMA_E_FATAL if the link has failed. */
static int link_of(struct cdma *engine)
{
    uint32_t status;
    int error = read_register(engine, CDMA_ENGINE_STATUS, &status);
    if (error)
        return error;
    return status & CDMA_ENGINE_STATUS_FATAL_MASK ? CDMA_E_FATAL : 0;
}

/* An error if the ring gives no completion any more. Of a ring that does not run, none follows when
 * nothing of it is outstanding. */
static int state_of(struct cdma *engine, uint32_t number)
{
    uint32_t value, state;
    int error = read_register(engine, CDMA_RING_STATE(number), &value);
    if (error)
        return error;
    state = FIELD(value, CDMA_RING_STATE_STATE);
    if (state == CDMA_STATE_RUNNING || state == CDMA_STATE_ABORTING)
        return 0;
    error = link_of(engine);
    if (error)
        return error;
    return value & CDMA_RING_STATE_BUSY_MASK ? 0 : CDMA_E_RING;
}

/* Write CQ HEAD, if the engine has counted all completions that were read: it treats a CQ HEAD past
 * its CQ TAIL as an error, and a completion is visible in memory before it is counted. Returns 1 when
 * CQ HEAD was written, 0 when it is too early. */
static int report_head(struct cdma *engine, uint32_t number)
{
    struct cdma_ring *ring = &engine->ring[number];
    uint32_t counted;
    int error = read_register(engine, CDMA_RING_SQ_HEAD(number), &counted);
    if (error)
        return error;
    if ((counted - ring->head) & 0x8000u)
        return 0;
    barrier(engine); /* the entries were read before the engine may write them again */
    error = write_register(engine, CDMA_RING_CQ_HEAD(number), ring->head);
    if (!error)
        ring->reported = ring->head;
    return error ? error : 1;
}

/* Report once for half of the ring's entries, so that most completions need no register access. */
static int is_report_due(const struct cdma_ring *ring)
{
    return 2u * (uint16_t)(ring->head - ring->reported) >= 1u << ring->setup.log2;
}

/* Number of units that hold the bytes. A shift: 32-bit processors divide 64 bits in a library. */
static uint64_t units_of(uint64_t bytes, uint32_t power)
{
    return (bytes + power - 1u) >> log2_of(power);
}

/* Most bytes of one stripe's stream with ZVC+, padded to whole words. */
static uint64_t plus_bound(const struct cdma_config *config, uint32_t bytes)
{
    uint32_t most = (((bytes + 127u) >> 7) * PLUS_BLOCK_BITS + 7u) >> 3;
    return units_of(most, config->word_bytes) << log2_of(config->word_bytes);
}

uint64_t cdma_bound(const struct cdma_config *config, uint64_t bytes)
{
    const uint32_t block = config->block_words * config->word_bytes;
    if (config->codec == CODEC_PLUS)
        return (bytes >> log2_of(config->stripe_bytes)) * plus_bound(config, config->stripe_bytes) +
               plus_bound(config, (uint32_t)bytes & (config->stripe_bytes - 1u));
    return bytes + (units_of(bytes, block) << log2_of(config->block_words / 8u));
}

uint64_t cdma_stripes(const struct cdma_config *config, uint64_t row_bytes)
{
    return units_of(row_bytes, config->stripe_bytes);
}

static int read_config(struct cdma *engine)
{
    struct cdma_config *config = &engine->config;
    uint32_t cap0, cap1;
    int error = read_register(engine, CDMA_ENGINE_CAP0, &cap0);
    if (!error)
        error = read_register(engine, CDMA_ENGINE_CAP1, &cap1);
    if (error)
        return error;
    config->lanes = 1u << FIELD(cap0, CDMA_ENGINE_CAP0_LANES);
    config->word_bytes = 1u << FIELD(cap0, CDMA_ENGINE_CAP0_WORD);
    config->channels = 1u << FIELD(cap0, CDMA_ENGINE_CAP0_CHANNELS);
    config->stripe_bytes = 1u << FIELD(cap0, CDMA_ENGINE_CAP0_STRIPE);
    config->link_bytes = 1u << FIELD(cap0, CDMA_ENGINE_CAP0_LINK);
    config->block_words = 1u << FIELD(cap1, CDMA_ENGINE_CAP1_BLOCK);
    config->auto_distance = 1u << FIELD(cap1, CDMA_ENGINE_CAP1_AUTO);
    config->codec = FIELD(cap1, CDMA_ENGINE_CAP1_CODEC);
    config->type = FIELD(cap0, CDMA_ENGINE_CAP0_TYPE);
    config->address_bits = 32u + FIELD(cap1, CDMA_ENGINE_CAP1_ADDRESS);
    return 0;
}

int cdma_open(struct cdma *engine, const struct cdma_io *io)
{
    uint32_t id, version;
    int error;
    if (!engine || !io || !io->read || !io->write)
        return CDMA_E_ARGUMENT;
    engine->io = *io;
    engine->cookie = 0;
    engine->ring[0].is_open = engine->ring[1].is_open = 0;
    error = read_register(engine, CDMA_ENGINE_ID, &id);
    if (!error)
        error = read_register(engine, CDMA_ENGINE_VERSION, &version);
    if (error)
        return error;
    if (id != CDMA_ID_VALUE ||
        FIELD(version, CDMA_ENGINE_VERSION_MAJOR) != CDMA_VERSION_MAJOR)
        return CDMA_E_DEVICE;
    error = read_config(engine);
    return error ? error : cdma_reset(engine);
}

/* Wait until a field of a register has a value, in its place in the register. */
static int wait_until(struct cdma *engine, uint32_t address, uint32_t mask, uint32_t value)
{
    uint32_t found;
    int error;
    for (;;) {
        error = read_register(engine, address, &found);
        if (error || (found & mask) == value)
            return error;
        error = link_of(engine); /* what is outstanding at a dead link does not end */
        if (error)
            return error;
        if (gives_up(engine))
            return CDMA_E_GAVE_UP;
    }
}

int cdma_reset(struct cdma *engine)
{
    int error = write_register(engine, CDMA_ENGINE_CTRL, CDMA_ENGINE_CTRL_RESET_MASK);
    engine->ring[0].is_open = engine->ring[1].is_open = 0;
    if (!error)
        error = wait_until(engine, CDMA_ENGINE_CTRL, CDMA_ENGINE_CTRL_RESET_MASK, 0);
    if (!error) /* late responses of the link let a reset end, and it has failed all the same */
        error = link_of(engine);
    engine->ring[0].tail = engine->ring[0].head = engine->ring[0].reported = 0;
    engine->ring[1].tail = engine->ring[1].head = engine->ring[1].reported = 0;
    return error;
}

/* Whether an address has no bits that the engine would drop. */
static int is_inside(const struct cdma_config *config, uint64_t address)
{
    return config->address_bits >= 64u || !(address >> config->address_bits);
}

/* The same of the first address past the end. */
static int is_end(const struct cdma_config *config, uint64_t limit)
{
    return !limit || is_inside(config, limit - 1u);
}

static int is_good(const struct cdma_config *config, const struct cdma_ring_setup *setup)
{
    return setup && setup->sq && setup->cq && setup->log2 <= 15u &&
           !(setup->sq_address % CDMA_DESCRIPTOR_BYTES) && !(setup->cq_address % 64u) &&
           is_inside(config, setup->sq_address) && is_inside(config, setup->cq_address) &&
           is_inside(config, setup->device_base) && is_end(config, setup->device_limit) &&
           is_inside(config, setup->host_base) && is_end(config, setup->host_limit);
}

/* Whether a ring was opened, and the engine was not reset since. */
static int is_open(const struct cdma *engine, uint32_t number)
{
    return number <= 1u && engine->ring[number].is_open;
}

/* Set RUN, and wait until the engine has compared the ring with its window. */
static int run_ring(struct cdma *engine, uint32_t number, uint32_t halt)
{
    uint32_t state;
    int error = write_register(engine, CDMA_RING_CTRL(number), RUN | halt);
    while (!error) {
        error = read_register(engine, CDMA_RING_STATE(number), &state);
        if (error || FIELD(state, CDMA_RING_STATE_STATE) != CDMA_STATE_STOPPED)
            break;
        if (gives_up(engine))
            error = CDMA_E_GAVE_UP;
    }
    return error ? error : state_of(engine, number);
}

/* The windows and attributes of a ring. Locked ones stay as they are. */
static int write_lockable(struct cdma *engine, uint32_t number, const struct cdma_ring_setup *setup)
{
    uint32_t control;
    int error = read_register(engine, CDMA_RING_CTRL(number), &control);
    if (error || control & CDMA_RING_CTRL_LOCK_MASK)
        return error;
    error = write_pair(engine, CDMA_RING_DEV_BASE_LO(number), setup->device_base);
    if (!error)
        error = write_pair(engine, CDMA_RING_DEV_LIMIT_LO(number), setup->device_limit);
    if (!error)
        error = write_pair(engine, CDMA_RING_HOST_BASE_LO(number), setup->host_base);
    if (!error)
        error = write_pair(engine, CDMA_RING_HOST_LIMIT_LO(number), setup->host_limit);
    if (!error && setup->attributes)
        error = write_register(engine, CDMA_RING_ATTR(number), setup->attributes);
    return error;
}

/* Abort a ring, which also leaves HALTED and ERROR. */
static int abort_ring(struct cdma *engine, uint32_t number, uint32_t halt)
{
    int error = write_register(engine, CDMA_RING_CTRL(number), ABORT | halt);
    return error ? error
                 : wait_until(engine, CDMA_RING_STATE(number), CDMA_RING_STATE_STATE_MASK,
                              CDMA_STATE_STOPPED << CDMA_RING_STATE_STATE_LOW);
}

int cdma_ring_open(struct cdma *engine, uint32_t number, const struct cdma_ring_setup *setup)
{
    struct cdma_ring *ring;
    uint32_t i, control, state, tail, done, reported;
    int error;
    if (number > 1u || !is_good(&engine->config, setup))
        return CDMA_E_ARGUMENT;
    error = read_register(engine, CDMA_ENGINE_CTRL, &control);
    if (!error)
        error = read_register(engine, CDMA_RING_STATE(number), &state);
    if (!error) /* the counts begin at 0 after a reset, and one of them may be 0 again later */
        error = read_register(engine, CDMA_RING_SQ_TAIL(number), &tail);
    if (!error)
        error = read_register(engine, CDMA_RING_SQ_HEAD(number), &done);
    if (!error)
        error = read_register(engine, CDMA_RING_CQ_HEAD(number), &reported);
    if (error)
        return error;
    if (control & CDMA_ENGINE_CTRL_RESET_MASK || state & CDMA_RING_STATE_BUSY_MASK || tail || done ||
        reported || FIELD(state, CDMA_RING_STATE_STATE) == CDMA_STATE_RUNNING)
        return CDMA_E_ACCESS;
    if (FIELD(state, CDMA_RING_STATE_STATE) != CDMA_STATE_STOPPED)
        error = abort_ring(engine, number, 0);
    if (error)
        return error;
    ring = &engine->ring[number];
    ring->setup = *setup;
    ring->tail = ring->head = ring->reported = 0;
    /* Old entries could have the phase of new entries. */
    for (i = 0; i < CDMA_COMPLETION_BYTES << setup->log2; i++)
        setup->cq[i] = 0;
    error = write_lockable(engine, number, setup);
    if (!error)
        error = write_pair(engine, CDMA_RING_SQ_BASE_LO(number), setup->sq_address);
    if (!error)
        error = write_pair(engine, CDMA_RING_CQ_BASE_LO(number), setup->cq_address);
    if (!error)
        error = write_register(engine, CDMA_RING_SQ_SIZE(number), setup->log2);
    if (!error)
        error = write_register(engine, CDMA_RING_CQ_SIZE(number), setup->log2);
    if (error)
        return error;
    ring->is_open = 1;
    barrier(engine);
    return run_ring(engine, number, 0);
}

int cdma_submit(struct cdma *engine, uint32_t number, const struct cdma_job *job,
                uint64_t *cookie)
{
    struct cdma_ring *ring;
    volatile uint8_t *at;
    uint32_t control;
    int error;
    if (!is_open(engine, number) || !job || job->op > 15u || job->raw > 3u ||
        job->flags & ~(uint32_t)FLAGS)
        return CDMA_E_ARGUMENT;
    ring = &engine->ring[number];
    if (waiting(ring) >> ring->setup.log2)
        return CDMA_E_FULL;
    while ((uint16_t)(ring->tail - ring->reported) >> ring->setup.log2) {
        error = report_head(engine, number);
        if (error < 0)
            return error;
        if (error)
            break;
        error = link_of(engine); /* a dead link does not answer the completion's write */
        if (error)
            return error;
        if (gives_up(engine))
            return CDMA_E_FULL;
    }
    engine->cookie++;
    if (cookie)
        *cookie = engine->cookie;
    control = job->op | job->flags | job->raw << 8;
    control |= log2_of(engine->config.word_bytes) << 10 | phase_of(ring, ring->tail) << 31;
    at = ring->setup.sq + CDMA_DESCRIPTOR_BYTES * entry_of(ring, ring->tail);
    put(at + 4, job->rows, 4);
    put(at + 8, job->device, 8);
    put(at + 16, job->host, 8);
    put(at + 24, job->index, 8);
    put(at + 32, job->row_bytes, 8);
    put(at + 40, job->limit, 8);
    put(at + 48, (uint64_t)job->pitch, 8);
    put(at + 56, engine->cookie, 8);
    put(at, control, 4);
    barrier(engine);
    error = write_register(engine, CDMA_RING_SQ_TAIL(number), (uint16_t)(ring->tail + 1u));
    if (!error)
        ring->tail++;
    return error;
}

int cdma_poll(struct cdma *engine, uint32_t number, struct cdma_completion *completion)
{
    struct cdma_ring *ring;
    const volatile uint8_t *at;
    uint8_t last;
    int error;
    if (!is_open(engine, number) || !completion)
        return CDMA_E_ARGUMENT;
    ring = &engine->ring[number];
    at = ring->setup.cq + CDMA_COMPLETION_BYTES * entry_of(ring, ring->head);
    last = at[31];
    if (!waiting(ring) || (uint32_t)last >> 7 != phase_of(ring, ring->head)) {
        /* The report that was too early when the last completion was read. */
        error = is_report_due(ring) ? report_head(engine, number) : 0;
        return error < 0 ? error : 0;
    }
    barrier(engine);
    completion->cookie = get(at, 8);
    completion->stream_bytes = get(at + 8, 8);
    completion->where = get(at + 16, 8);
    completion->stripe = (uint32_t)get(at + 24, 4);
    completion->head = (uint16_t)get(at + 28, 2);
    completion->status = at[30];
    completion->channel = last & 0x7Fu;
    ring->head++;
    /* The completion counts whatever becomes of the report: the next call tries again. */
    if (is_report_due(ring))
        (void)report_head(engine, number);
    return 1;
}

/* Wait for the next completion. A ring that has ended gives none any more. */
static int wait_for(struct cdma *engine, uint32_t number, struct cdma_completion *completion)
{
    uint32_t polls = 0;
    int found, error;
    for (;;) {
        found = cdma_poll(engine, number, completion);
        if (found)
            return found;
        if (gives_up(engine))
            return CDMA_E_GAVE_UP;
        polls++;
        if (polls % POLLS && (polls < FIRST || polls & (polls - 1u)))
            continue;
        error = state_of(engine, number);
        if (error) {
            /* It may have come since. */
            barrier(engine);
            found = cdma_poll(engine, number, completion);
            return found ? found : error;
        }
    }
}

int cdma_run(struct cdma *engine, uint32_t number, const struct cdma_job *job,
             struct cdma_completion *completion)
{
    uint64_t cookie;
    int found, error;
    if (!is_open(engine, number) || !completion)
        return CDMA_E_ARGUMENT;
    if (waiting(&engine->ring[number]))
        return CDMA_E_FULL;
    error = cdma_submit(engine, number, job, &cookie);
    if (error)
        return error;
    found = wait_for(engine, number, completion);
    if (found < 0)
        return found;
    /* The completion of an unreadable or invalid descriptor has cookie 0. */
    if (completion->cookie != cookie && (completion->cookie || !completion->status))
        return CDMA_E_COOKIE;
    return completion->status;
}

static void clear_job(struct cdma_job *job)
{
    job->op = job->flags = job->raw = job->rows = 0;
    job->device = job->host = job->index = job->row_bytes = job->limit = 0;
    job->pitch = 0;
}

int cdma_offload(struct cdma *engine, uint64_t device, uint64_t bytes, uint64_t stream,
                 uint64_t capacity, uint64_t index, uint32_t raw, uint32_t flags,
                 struct cdma_completion *completion)
{
    struct cdma_job job;
    clear_job(&job);
    job.op = CDMA_OP_OFFLOAD;
    job.flags = flags | CDMA_F_INDEX;
    job.raw = raw;
    job.device = device;
    job.host = stream;
    job.index = index;
    job.row_bytes = bytes;
    job.limit = capacity;
    return cdma_run(engine, CDMA_RING_OFFLOAD, &job, completion);
}

int cdma_prefetch(struct cdma *engine, uint64_t device, uint64_t bytes, uint64_t stream,
                  uint64_t stream_bytes, uint64_t index, uint32_t flags,
                  struct cdma_completion *completion)
{
    struct cdma_job job;
    clear_job(&job);
    job.op = CDMA_OP_PREFETCH;
    job.flags = flags | CDMA_F_INDEX;
    job.device = device;
    job.host = stream;
    job.index = index;
    job.row_bytes = bytes;
    job.limit = stream_bytes;
    return cdma_run(engine, CDMA_RING_PREFETCH, &job, completion);
}

int cdma_recover(struct cdma *engine, uint32_t number, uint32_t *withdrawn)
{
    struct cdma_ring *ring;
    struct cdma_completion ended;
    uint32_t head, control = 0;
    int error, found;
    if (!is_open(engine, number))
        return CDMA_E_ARGUMENT;
    ring = &engine->ring[number];
    error = link_of(engine);
    if (!error)
        error = read_register(engine, CDMA_RING_CTRL(number), &control);
    if (!error)
        error = abort_ring(engine, number, control & HALT);
    if (error)
        return error;
    barrier(engine); /* all completions are in memory */
    do {
        found = cdma_poll(engine, number, &ended);
    } while (found > 0);
    if (found < 0)
        return found;
    error = read_register(engine, CDMA_RING_SQ_HEAD(number), &head);
    if (error)
        return error;
    /* Completions that the engine could not write: their entries must not look new later. */
    for (; ring->head != (uint16_t)head; ring->head++)
        put(ring->setup.cq + CDMA_COMPLETION_BYTES * entry_of(ring, ring->head) + 31,
            phase_of(ring, ring->head) << 7, 1);
    if (withdrawn)
        *withdrawn = waiting(ring);
    ring->tail = ring->reported = ring->head;
    barrier(engine);
    error = write_register(engine, CDMA_RING_SQ_TAIL(number), ring->tail);
    if (!error)
        error = write_register(engine, CDMA_RING_CQ_HEAD(number), ring->head);
    return error ? error : run_ring(engine, number, control & HALT);
}

int cdma_clear_quarantine(struct cdma *engine, uint32_t channel)
{
    uint32_t value;
    int error;
    if (channel >= engine->config.channels)
        return CDMA_E_ARGUMENT;
    error = write_register(engine, CDMA_CHANNEL_QUARANTINE(channel), 1u);
    if (!error)
        error = read_register(engine, CDMA_CHANNEL_QUARANTINE(channel), &value);
    if (error)
        return error;
    return !(value & CDMA_CHANNEL_QUARANTINE_QUARANTINED_MASK);
}
