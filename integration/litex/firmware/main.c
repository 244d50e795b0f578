/* Offloads tensors, compares streams and completions with the golden engine, prefetches them back,
 * damages a stream, provokes errors and recovers. The last line on the UART is PASS or FAIL. */
#include "console.h"
#include "tests.h"
#include "tensors.h"

#include <system.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define FLAGS (CDMA_F_CRC | CDMA_F_INTERRUPT)
#define FILL 0xEEEEEEEEu

enum { RUNNING = 0x01, PASSED = 0x80, FAILED = 0x40 }; /* LEDs */

static struct cdma engine;
static struct cdma_completion done;
static uint32_t failures;

static volatile uint32_t *memory(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

static volatile uint8_t *bytes_at(uint32_t address)
{
    return (volatile uint8_t *)(uintptr_t)address;
}

static uint32_t differ(uint32_t address, const uint32_t *words, uint32_t bytes)
{
    uint32_t i, count = 0;
    for (i = 0; i < bytes / 4u; i++)
        count += memory(address)[i] != words[i];
    return count;
}

static uint32_t differ_bytes(uint32_t address, const uint8_t *expected, uint32_t bytes)
{
    uint32_t i, count = 0;
    for (i = 0; i < bytes; i++)
        count += bytes_at(address)[i] != expected[i];
    return count;
}

static uint32_t not_filled(uint32_t address, uint32_t bytes)
{
    uint32_t i, count = 0;
    for (i = 0; i < bytes / 4u; i++)
        count += memory(address)[i] != FILL;
    return count;
}

static void fill(uint32_t address, uint32_t bytes)
{
    uint32_t i;
    for (i = 0; i < bytes / 4u; i++)
        memory(address)[i] = FILL;
}

/* Words by the processor, for comparison: what a driver without the engine does. */
static void copy(uint32_t to, uint32_t from, uint32_t bytes)
{
    uint32_t i;
    for (i = 0; i < bytes / 4u; i++)
        memory(to)[i] = memory(from)[i];
}

static void put_result(int is_good)
{
    put_text(is_good ? "  ok\n" : "  WRONG\n");
    failures += !is_good;
}

static int offload(const struct tensor *tensor, uint32_t capacity)
{
    return cdma_offload(&engine, SOURCE, tensor->bytes, STREAM, capacity, INDEX, tensor->raw,
                        FLAGS, &done);
}

static int prefetch(const struct tensor *tensor, uint32_t flags)
{
    return cdma_prefetch(&engine, TARGET, tensor->bytes, STREAM, tensor->stream_bytes, INDEX,
                         flags, &done);
}

/* Host memory is as the golden engine says. */
static int is_sent(const struct tensor *tensor)
{
    return done.stream_bytes == tensor->stream_bytes && done.stripe == tensor->stripes &&
           (uint32_t)done.where == tensor->raw_stripes &&
           !differ_bytes(STREAM, tensor->stream, tensor->stream_bytes) &&
           !differ_bytes(INDEX, tensor->index, 8u * tensor->stripes) &&
           !not_filled(STREAM + tensor->stream_bytes, 64u);
}

static int is_back(const struct tensor *tensor)
{
    flush_cpu_dcache();
    return !differ(TARGET, tensor->words, tensor->bytes) &&
           !not_filled(TARGET + tensor->bytes, 64u);
}

static void run(const struct tensor *tensor)
{
    uint32_t i, start, sent, offloaded, prefetched, copied;
    int is_good;
    for (i = 0; i < tensor->bytes / 4u; i++)
        memory(SOURCE)[i] = tensor->words[i];
    fill(TARGET, tensor->bytes + 64u);
    fill(STREAM, tensor->stream_bytes + 64u);

    start = cycles_now();
    is_good = !offload(tensor, STREAM_BYTES);
    sent = cycles_now() - start;
    offloaded = (uint32_t)(done.where >> 32);
    is_good &= is_sent(tensor);

    is_good &= !prefetch(tensor, FLAGS);
    prefetched = (uint32_t)(done.where >> 32);
    is_good &= is_back(tensor);

    start = cycles_now();
    copy(COPY, SOURCE, tensor->bytes);
    copied = cycles_now() - start;

    put_left(tensor->name, 8);
    put_number(tensor->bytes, 7);
    put_number((uint32_t)done.stream_bytes, 8);
    put_ratio(tensor->bytes, tensor->stream_bytes, 7);
    put_number(tensor->raw_stripes, 5);
    put_number(offloaded, 9);
    put_number(prefetched, 10);
    put_number(sent, 14);
    put_number(copied, 15);
    put_result(is_good);
}

/* The prefetch of a damaged stream reports the stripe and keeps its neighbours. */
static int is_reported(const struct tensor *tensor, const struct damage *damage)
{
    const uint32_t stripe = engine.config.stripe_bytes, first = damage->stripe * stripe;
    const uint32_t rest = first + stripe, words = rest / 4u;
    if (done.status != damage->status || done.stripe != damage->stripe)
        return 0;
    flush_cpu_dcache();
    if (differ(TARGET, tensor->words, first))
        return 0;
    if (!damage->is_rest_written)
        return !not_filled(TARGET + first, tensor->bytes - first);
    return !differ(TARGET + first, damage->words, stripe) &&
           !differ(TARGET + rest, tensor->words + words, tensor->bytes - rest);
}

static void put_error(const char *name, int is_good)
{
    put_left(name, 26);
    put_number(done.status, 6);
    put_number(done.stripe, 8);
    put_result(is_good);
}

static void run_damage(const struct tensor *tensor, const struct damage *damage)
{
    volatile uint8_t *at = bytes_at(damage->is_index ? INDEX : STREAM) + damage->offset;
    const uint8_t whole = *at;
    int is_good;
    fill(TARGET, tensor->bytes);
    *at = (uint8_t)damage->value;
    is_good = prefetch(tensor, damage->has_crc ? FLAGS : CDMA_F_INTERRUPT) > 0;
    is_good &= is_reported(tensor, damage);
    put_error(damage->name, is_good);
    *at = whole;
}

static void run_errors(const struct tensor *tensor)
{
    const uint32_t capacity = tensor->stream_bytes - 4u;
    uint32_t i;
    int is_good;
    for (i = 0; i < COUNT(damages); i++)
        run_damage(tensor, &damages[i]);

    fill(STREAM, tensor->stream_bytes);
    is_good = offload(tensor, capacity) == CDMA_STATUS_OVERFLOW;
    is_good &= done.stream_bytes == tensor->stream_bytes;
    is_good &= !differ_bytes(STREAM, tensor->stream, capacity) && !not_filled(STREAM + capacity, 4);
    put_error("capacity 4 bytes short", is_good);

    is_good = cdma_offload(&engine, SOURCE, tensor->bytes, HOST_BASE + HOST_SIZE, STREAM_BYTES,
                           INDEX, tensor->raw, FLAGS, &done) == CDMA_STATUS_HOST_SLVERR;
    put_error("host address not mapped", is_good && done.stripe == 0);

    is_good = cdma_offload(&engine, SOURCE + 4u, tensor->bytes, STREAM, STREAM_BYTES, INDEX,
                           tensor->raw, FLAGS, &done) == CDMA_STATUS_BAD_DESCRIPTOR;
    put_error("device address misaligned", is_good);
}

/* Both rings run again, and the same buffers are good. */
static void run_recovery(const struct tensor *tensor)
{
    uint32_t ring, withdrawn = 0;
    int is_good = 1;
    for (ring = 0; ring < 2u; ring++)
        is_good &= !cdma_recover(&engine, ring, &withdrawn) && !withdrawn;
    fill(STREAM, tensor->stream_bytes + 64u);
    fill(TARGET, tensor->bytes + 64u);
    is_good &= !offload(tensor, STREAM_BYTES) && is_sent(tensor);
    is_good &= !prefetch(tensor, FLAGS) && is_back(tensor);
    put_error("after recovery: out, back", is_good);
}

static void put_size(void)
{
    put_text("cdma on LiteX: ");
    put_number(engine.config.channels, 0);
    put_text(" channel of ");
    put_number(engine.config.lanes * engine.config.word_bytes, 0);
    put_text(" bytes, link of ");
    put_number(engine.config.link_bytes, 0);
    put_text(" bytes, stripes of ");
    put_number(engine.config.stripe_bytes, 0);
    put_text(" bytes\n\n");
}

static void test(void)
{
    uint32_t i;
    int error = open_engine(&engine);
    if (!error)
        error = open_rings(&engine);
    if (error) {
        put_text("the engine does not open\n");
        failures++;
        return;
    }
    put_size();
    put_text("                                          cycles of engine     with driver  CPU's copy\n");
    put_text("tensor    bytes  stream  ratio  raw  offload  prefetch       offload\n");
    for (i = 0; i < COUNT(tensors); i++)
        run(&tensors[i]);
    put_text("\nerror                     status  stripe\n");
    for (i = 0; i < tensors[0].bytes / 4u; i++)
        memory(SOURCE)[i] = tensors[0].words[i];
    failures += offload(&tensors[0], STREAM_BYTES) != 0;
    run_errors(&tensors[0]);
    run_recovery(&tensors[0]);
    put_text("\ninterrupts ");
    put_number(interrupts_taken(), 0);
    put_result(interrupts_taken() == 2u * COUNT(tensors) + COUNT(damages) + 6u);
}

int main(void)
{
    leds_out_write(RUNNING);
    test();
    put_text(failures ? "FAIL\n" : "PASS\n");
    put_end();
    leds_out_write(failures ? FAILED : PASSED);
    for (;;)
        ;
}
