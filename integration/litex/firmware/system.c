#include "tests.h"

#include <irq.h>

static volatile uint32_t interrupts;

uint32_t cycles_now(void)
{
    timer0_uptime_latch_write(1);
    return (uint32_t)timer0_uptime_cycles_read();
}

uint32_t interrupts_taken(void)
{
    return interrupts;
}

static int read_register(void *base, uint32_t address, uint32_t *value)
{
    *value = *(volatile uint32_t *)((uint8_t *)base + address);
    return 0;
}

static int write_register(void *base, uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)((uint8_t *)base + address) = value;
    return 0;
}

/* Called by the trap handler of LiteX. */
void isr(void);
void isr(void)
{
    uint32_t status;
    read_register((void *)ENGINE_BASE, CDMA_ENGINE_IRQ_STATUS, &status);
    write_register((void *)ENGINE_BASE, CDMA_ENGINE_IRQ_STATUS, status);
    interrupts++;
}

static void barrier(void *base)
{
    (void)base;
    __asm__ volatile("fence iorw, iorw" ::: "memory"); /* memory and registers */
}

/* The driver waits. The interrupt wakes the processor in a real system; here it polls. */
static int idle(void *base)
{
    static uint32_t seen, since, last;
    const uint32_t now = cycles_now();
    (void)base;
    /* An event, or another wait: the calls of one wait follow each other closely. */
    if (seen != interrupts || now - last > WAIT_CYCLES / 8u) {
        seen = interrupts;
        since = now;
    }
    last = now;
    return now - since > WAIT_CYCLES;
}

#ifdef CSR_SDRAM_BASE
#include <generated/sdram_phy.h>

static void open_memory(void)
{
    sdram_dfii_control_write(DFII_CONTROL_CKE | DFII_CONTROL_ODT | DFII_CONTROL_RESET_N);
    init_sequence();
    sdram_dfii_control_write(DFII_CONTROL_SEL);
}
#else
static void open_memory(void)
{
}
#endif

int open_engine(struct cdma *engine)
{
    struct cdma_io io = {(void *)ENGINE_BASE, read_register, write_register, barrier, idle};
    int error;
    open_memory();
    irq_setmask(1u << ENGINE_INTERRUPT);
    irq_setie(1);
    engine_ev_enable_write(1);
    error = cdma_open(engine, &io);
    if (!error)
        error = write_register((void *)ENGINE_BASE, CDMA_ENGINE_IRQ_ENABLE,
                               CDMA_ENGINE_IRQ_ENABLE_CQ0_MASK | CDMA_ENGINE_IRQ_ENABLE_CQ1_MASK);
    return error;
}

int open_rings(struct cdma *engine)
{
    uint32_t ring;
    int error = 0;
    for (ring = 0; ring < 2u && !error; ring++) {
        const uint32_t at = HOST_BASE + ring * 0x800u;
        struct cdma_ring_setup setup = {0};
        setup.sq = (volatile uint8_t *)(uintptr_t)at;
        setup.cq = setup.sq + 0x400;
        setup.sq_address = at;
        setup.cq_address = at + 0x400u;
        setup.log2 = RING_LOG2;
        setup.device_base = MAIN_RAM_BASE;
        setup.device_limit = MAIN_RAM_BASE + DEVICE_BYTES;
        setup.host_base = HOST_BASE;
        /* The window is larger than the memory: an access behind the memory reaches the bus. */
        setup.host_limit = HOST_BASE + 2u * HOST_SIZE;
        error = cdma_ring_open(engine, ring, &setup);
    }
    return error;
}
